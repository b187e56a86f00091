// What the hooks of ServerOptions see of requests.
#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/support/recorded_hooks.h"
#include "tests/testing/tally.h"

namespace shardmanager {
namespace {

using ::testing::Contains;
using ::testing::Pair;
using ::testing::SizeIs;

class ServerHooksTest : public ::testing::Test {
 protected:
  ServerHooksTest() {
    ServerOptions options = cell_.Options("kv-1");
    options.metrics = metrics_;
    options.tracer = tracer_;
    one_.emplace(options, storage_);
  }

  grpc::Status Add(const std::string& span = "") {
    grpc::ClientContext context;
    cell_.Address("kv-1", "s", &context);
    if (!span.empty()) context.AddMetadata("x-span", span);
    counter::AddRequest request;
    request.set_key("apples");
    counter::AddResponse response;
    return counter::Counter::Stub(cell_.Channel("kv-1")).Add(&context, request, &response);
  }
  double Requests(const std::string& outcome) {
    return metrics_->Value(metric::kServerRequests,
                           {{"shardmanager.app", "app"}, {"shardmanager.outcome", outcome}});
  }

  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  const std::shared_ptr<RecordedTracer> tracer_ = std::make_shared<RecordedTracer>();
  TestCell cell_;
  TallyStorage storage_;
  std::optional<Tally> one_;
};

TEST_F(ServerHooksTest, RequestsAreCountedByWhatBecomesOfThem) {
  EXPECT_FALSE(Add().ok());
  EXPECT_EQ(Requests("not-owner"), 1);
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  EXPECT_TRUE(Add().ok());
  EXPECT_EQ(Requests("admitted"), 1);
  Tally two(cell_.Options("kv-2"), storage_);
  ASSERT_TRUE(cell_.Move("s", "kv-2").ok());
  EXPECT_TRUE(Add().ok()) << "it is sent on";
  EXPECT_EQ(Requests("forwarded"), 1);
}

TEST_F(ServerHooksTest, AnAdmittedRequestIsASpanBelowItsClients) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Add("4711").ok());
  one_.reset();  // all requests are over
  const auto spans = tracer_->ended();
  ASSERT_THAT(spans, SizeIs(1));
  EXPECT_EQ(spans[0].remote_parent, "4711");
  EXPECT_EQ(spans[0].kind, SpanKind::kServer);
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.app", "app")));
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.shard", "s")));
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.server", "kv-1")));
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.epoch", "1")));
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.role", "primary")));
}

TEST_F(ServerHooksTest, TheApplicationSaysHowARequestEnds) {
  ASSERT_TRUE(cell_.Assign("s", "kv-1").ok());
  ASSERT_TRUE(Add().ok());
  one_->server().Shutdown();  // all requests are over
  EXPECT_EQ(metrics_->Value(metric::kServerRequestDuration,
                            {{"shardmanager.app", "app"}, {"rpc.response.status_code", "OK"}}),
            1);
  EXPECT_THAT(tracer_->ended().front().attributes,
              Contains(Pair("rpc.response.status_code", "OK")));
}

}  // namespace
}  // namespace shardmanager
