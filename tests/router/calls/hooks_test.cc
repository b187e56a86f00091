// What the hooks of RouterOptions see of calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "model/request_metadata.h"
#include "tests/router/router_fixture.h"
#include "tests/support/recorded_hooks.h"

namespace shardmanager::router {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

std::string HeaderOf(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

class HooksTest : public EveryWayTest {
 protected:
  void SetUp() override {
    RouterOptions options{.discovery = {discovery_->endpoint()},
                          .security = {.insecure = true},
                          .subscriber = "test"};
    options.metrics = metrics_;
    options.tracer = tracer_;
    router_.emplace(std::move(options));
    PublishAndAwait(V(1), {0}, {1});
  }

  double Attempts(const std::string& outcome) {
    return metrics_->Value(metric::kClientAttempts,
                           {{"shardmanager.app", "kv"}, {"shardmanager.outcome", outcome}});
  }
  double Calls(const std::string& code) {
    return metrics_->Value(metric::kClientCallDuration, {{"rpc.system.name", "grpc"},
                                                         {"rpc.method", "echo.Echo/Say"},
                                                         {"rpc.response.status_code", code},
                                                         {"shardmanager.app", "kv"}});
  }
  CallOptions Named(std::chrono::milliseconds timeout = 20s) {
    return {.timeout = timeout, .method = "Say"};
  }

  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  const std::shared_ptr<RecordedTracer> tracer_ = std::make_shared<RecordedTracer>();
};

TEST_P(HooksTest, CallsAndAttemptsAreCounted) {
  std::atomic<int> left = 2;
  one_.Do([&](grpc::ServerContext& context) {
    return --left >= 0 ? EchoServer::Refuse("loading")(context) : EchoServer::Process()(context);
  });
  EXPECT_TRUE(Say("apple", Named()).status.ok());
  EXPECT_EQ(Calls("OK"), 1);
  EXPECT_EQ(Attempts("refused"), 2);
  EXPECT_EQ(Attempts("answered"), 1);
  one_.Do(EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk is gone"}));
  EXPECT_FALSE(Say("apple", Named()).status.ok());
  EXPECT_EQ(Calls("INTERNAL"), 1);
  EXPECT_EQ(Attempts("erred"), 1);
}

TEST_P(HooksTest, ShardsServersAndKeysAreNoAttributesOfMetrics) {
  for (int i = 0; i < 20; ++i) Say("apple" + std::to_string(i), Named());
  for (int i = 0; i < 20; ++i) Say("zebra" + std::to_string(i), Named());
  EXPECT_EQ(metrics_->size(), 2U) << "one for calls, one for attempts";
}

TEST_P(HooksTest, FailuresOfOursAreSeen) {
  EXPECT_EQ(SayTo(router_->GetClientForShard<Echo>("kv", ShardId("none")), Named(), way_)
                .status.error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Calls("NOT_FOUND"), 1);
  one_.Do(EchoServer::Refuse("loading"));
  Say("apple", Named(50ms));
  EXPECT_EQ(Calls("DEADLINE_EXCEEDED"), 1);
}

TEST_P(HooksTest, EachAttemptIsASpanBelowTheCallsAndTheServerHearsOfIt) {
  std::vector<std::string> heard;
  one_.Do([&](grpc::ServerContext& context) {
    heard.push_back(HeaderOf(context, "x-span"));
    return heard.size() == 1 ? EchoServer::Refuse("loading")(context)
                             : EchoServer::Process()(context);
  });
  ASSERT_TRUE(Say("apple", Named()).status.ok());
  const std::vector<RecordedSpan> spans = tracer_->ended();
  ASSERT_THAT(spans, SizeIs(3));
  const RecordedSpan& call = spans[2];
  EXPECT_EQ(call.name, "echo.Echo/Say");
  EXPECT_EQ(call.kind, SpanKind::kClient);
  EXPECT_EQ(call.parent, 0);
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.method", "echo.Echo/Say")));
  EXPECT_THAT(call.attributes, Contains(Pair("rpc.response.status_code", "OK")));
  EXPECT_THAT(call.error, IsEmpty());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(spans[i].parent, call.id);
    EXPECT_EQ(heard[i], std::to_string(spans[i].id));
    EXPECT_THAT(spans[i].attributes, Contains(Pair("shardmanager.shard", "a")));
    EXPECT_THAT(spans[i].attributes, Contains(Pair("shardmanager.server", "kv-1")));
    EXPECT_THAT(spans[i].attributes, Contains(Pair("server.address", one_.endpoint())));
    EXPECT_THAT(spans[i].attributes, Contains(Pair("shardmanager.attempt", std::to_string(i + 1))));
  }
  EXPECT_THAT(spans[0].attributes, Contains(Pair("shardmanager.outcome", "refused")));
  EXPECT_THAT(spans[0].error, HasSubstr("loading"));
  EXPECT_THAT(spans[1].attributes, Contains(Pair("shardmanager.outcome", "answered")));
}

TEST_P(HooksTest, ASpanOfTheCallersIsTheParent) {
  const auto parent = tracer_->Start({.name = "checkout"});
  CallOptions options = Named();
  options.parent_span = parent.get();
  ASSERT_TRUE(Say("apple", options).status.ok());
  EXPECT_EQ(tracer_->ended().back().parent, 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, HooksTest, EveryWay(), NameOfWay);

class NamedKeysTest : public RouterFixture {
 protected:
  // How many of 2,000 requests named their key.
  int NamesOf(const std::string& key) {
    PublishAndAwait(V(1), {0}, {1});
    std::atomic<int> named = 0;
    one_.Do([&](grpc::ServerContext& context) {
      const std::string said = HeaderOf(context, request_metadata::kKey);
      EXPECT_TRUE(said.empty() || said == key);
      named += said == key;
      return EchoServer::Process()(context);
    });
    for (int i = 0; i < 2'000; ++i) EXPECT_TRUE(Say(key).status.ok());
    return named;
  }
};

// 31 of them are expected; 8 and 75 are each beyond what chance does in 10,000 runs.
TEST_F(NamedKeysTest, OneRequestInSixtyFourNamesItsKeyWhateverItsBytesAre) {
  const int named = NamesOf(std::string("a\0\xff", 3));
  EXPECT_GT(named, 8);
  EXPECT_LT(named, 75);
}

TEST_F(NamedKeysTest, LongKeysAreNotNamed) { EXPECT_EQ(NamesOf(std::string(257, 'a')), 0); }

TEST_F(NamedKeysTest, NoneIsNamedWhereKeysAreSecrets) {
  router_.emplace(RouterOptions{.discovery = {discovery_->endpoint()},
                                .security = {.insecure = true},
                                .subscriber = "test",
                                .name_keys = false});
  EXPECT_EQ(NamesOf("apple"), 0);
}

}  // namespace
}  // namespace shardmanager::router
