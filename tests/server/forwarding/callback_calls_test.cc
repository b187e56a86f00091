// What the library does with the work that a callback service gives to Admit.
#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "server/held/held_queue.h"
#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

using counter::Counter;
using ::testing::HasSubstr;
using Context = grpc::CallbackServerContext;
using Request = counter::CountRequest;
using Response = counter::CountResponse;
using Writer = grpc::ServerWriteReactor<Response>;

// Holds its shard for each message alone.
class LongTalker final : public grpc::ServerBidiReactor<Request, Response> {
 public:
  LongTalker(Server& server, const Admission& admission)
      : server_(server), shard_(admission.shard()) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    server_.Admit(shard_, std::chrono::seconds(20), [this](const Admission& admission) {
      if (!admission.ok()) return Finish(admission.status());
      response_.set_epoch(admission.epoch().value());
      StartWrite(&response_);
    });
  }
  void OnWriteDone(bool) override { StartRead(&request_); }
  void OnDone() override { delete this; }

  Server& server_;
  const ShardId shard_;
  Request request_;
  Response response_;
};

// Each test says what the work is.
class WorkService final : public Counter::CallbackService {
 public:
  explicit WorkService(Server& server) : server_(server) {}

  std::function<void(const AdmittedCall& call)> count;
  std::function<grpc::Status(const Admission& admission)> count_here;
  std::function<Writer*(Admission admission)> count_up;

 private:
  grpc::ServerUnaryReactor* Count(Context* context, const Request* request,
                                  Response* response) override {
    return server_.Admit<Counter>(*context, &Counter::Stub::async::Count, request, response, count);
  }
  grpc::ServerUnaryReactor* CountHere(Context* context, const Request* request,
                                      Response* response) override {
    return server_.Admit<Counter>(*context, &Counter::Stub::async::CountHere, request, response,
                                  count_here);
  }
  Writer* CountUp(Context* context, const Request* request) override {
    return server_.Admit<Counter>(*context, &Counter::Stub::async::CountUp, request, count_up);
  }

  grpc::ServerBidiReactor<Request, Response>* Talk(Context* context) override {
    return server_.Admit<Counter>(
        *context, &Counter::Stub::async::Talk,
        [this](const Admission& admission) { return new LongTalker(server_, admission); });
  }

  Server& server_;
};

class CallbackCallsTest : public ::testing::Test {
 protected:
  CallbackCallsTest() {
    world_.ApplyApp();
    world_.Assign("kv-1", {Granted("s", kOldEpoch)});
    EXPECT_TRUE(server_.Start(handler_, {&service_}).ok());
    EXPECT_TRUE(Eventually([this] { return Admits(); }));
    stub_ = Counter::NewStub(
        grpc::CreateChannel(server_.endpoint(), grpc::InsecureChannelCredentials()));
    commander_ = std::make_unique<Commander>(server_.endpoint(), "kv-1", 1);
  }

  ~CallbackCallsTest() override { server_.Shutdown(); }

  bool Admits() { return server_.Admit(ShardId("s")).ok(); }
  // As a router asks.
  static void Address(grpc::ClientContext& context) {
    context.AddMetadata(request_metadata::kShard, "s");
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }
  grpc::Status Count() {
    grpc::ClientContext context;
    Address(context);
    return stub_->Count(&context, Request(), &response_);
  }
  grpc::Status CountHere() {
    grpc::ClientContext context;
    Address(context);
    return stub_->CountHere(&context, Request(), &response_);
  }
  grpc::Status CountUp() {
    grpc::ClientContext context;
    Address(context);
    auto reader = stub_->CountUp(&context, Request());
    while (reader->Read(&response_)) {
    }
    return reader->Finish();
  }
  std::future<absl::StatusOr<v1::ShardResult>> DropMeanwhile() {
    return std::async(std::launch::async, [this] { return commander_->Drop("s", kOldEpoch); });
  }

  ServerWorld world_;
  RecordingHandler handler_;
  Server server_{world_.Options("kv-1")};
  WorkService service_{server_};
  std::unique_ptr<Counter::Stub> stub_;
  std::unique_ptr<Commander> commander_;
  Response response_;
};

TEST_F(CallbackCallsTest, ShardStaysUntilTheCallIsFinished) {
  std::promise<AdmittedCall> begun;
  service_.count = [&](const AdmittedCall& call) { begun.set_value(call); };
  auto counted = std::async(std::launch::async, [this] { return Count(); });
  const AdmittedCall call = begun.get_future().get();
  EXPECT_EQ(call.shard(), ShardId("s"));
  EXPECT_EQ(call.epoch(), ShardEpoch(kOldEpoch));
  EXPECT_EQ(call.role(), Role::kPrimary);
  EXPECT_FALSE(call.IsCancelled());
  auto dropped = DropMeanwhile();
  ASSERT_TRUE(Eventually([this] { return !Admits(); }));
  EXPECT_EQ(dropped.wait_for(kMoment), std::future_status::timeout);
  // Though the copy lives on.
  call.Finish({grpc::StatusCode::ABORTED, "enough"});
  EXPECT_EQ(counted.get().error_message(), "enough");
  EXPECT_EQ(dropped.get()->state(), v1::DONE);
}

TEST_F(CallbackCallsTest, CallThatIsFinishedTwiceIsAnsweredOnce) {
  service_.count = [](const AdmittedCall& call) {
    call.Finish({grpc::StatusCode::ABORTED, "first"});
    call.Finish({grpc::StatusCode::ABORTED, "second"});
  };
  EXPECT_EQ(Count().error_message(), "first");
}

TEST_F(CallbackCallsTest, CallThatIsForgottenEndsAndLetsItsShardGo) {
  service_.count = [](const AdmittedCall&) {};
  const grpc::Status status = Count();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("dropped the call without an answer"));
  EXPECT_EQ(commander_->Drop("s", kOldEpoch)->state(), v1::DONE);
}

TEST_F(CallbackCallsTest, ExceptionsOfTheWorkAreErrorsOfTheCall) {
  service_.count = [](const AdmittedCall&) { throw std::runtime_error("no luck"); };
  service_.count_here = [](const Admission&) -> grpc::Status { throw 7; };
  service_.count_up = [](const Admission&) -> Writer* { throw std::runtime_error("no luck"); };
  for (const grpc::Status& status : {Count(), CountUp()}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
    EXPECT_THAT(status.error_message(), HasSubstr("threw an exception: no luck"));
  }
  EXPECT_EQ(CountHere().error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(commander_->Drop("s", kOldEpoch)->state(), v1::DONE);  // nothing holds it
}

TEST_F(CallbackCallsTest, StreamWithoutAReactorIsAnError) {
  service_.count_up = [](const Admission&) -> Writer* { return nullptr; };
  EXPECT_EQ(CountUp().error_code(), grpc::StatusCode::INTERNAL);
}

TEST_F(CallbackCallsTest, StreamThatAsksForEachMessageHoldsUpNoMove) {
  grpc::ClientContext context;
  Address(context);
  auto stream = stub_->Talk(&context);
  EXPECT_TRUE(stream->Write(Request()));
  EXPECT_TRUE(stream->Read(&response_));
  EXPECT_EQ(response_.epoch(), kOldEpoch);
  EXPECT_EQ(commander_->Drop("s", kOldEpoch)->state(), v1::DONE);
  EXPECT_TRUE(stream->Write(Request()));
  EXPECT_FALSE(stream->Read(&response_));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("not-owner"));
}

TEST_F(CallbackCallsTest, ShutdownWaitsForTheWork) {
  std::promise<AdmittedCall> begun;
  service_.count = [&](const AdmittedCall& call) { begun.set_value(call); };
  auto counted = std::async(std::launch::async, [this] { return Count(); });
  AdmittedCall call = begun.get_future().get();
  auto down = std::async(std::launch::async, [this] { server_.Shutdown(); });
  EXPECT_EQ(down.wait_for(kMoment), std::future_status::timeout);
  call.Finish(grpc::Status::OK);
  EXPECT_TRUE(counted.get().ok());
  down.get();
  EXPECT_THAT(handler_.calls(), ::testing::Contains("drop s"));
}

// ---- while the shard is held: it is dropped for a new owner, and its DropShard waits

class HeldCallsTest : public ForwardingTest {
 protected:
  HeldCallsTest() : ForwardingTest(std::chrono::seconds(20)) {}

  void SetUp() override {
    ServeAtOld();
    PrepareNew();
    old_.dropping.Close();
    let_go_ = std::async(std::launch::async, [this] { return LetOldGo(); });
    old_.dropping.AwaitArrival();
  }
  void TearDown() override {
    old_.dropping.Open();
    EXPECT_TRUE(let_go_.get());
  }

  std::future<bool> let_go_;
};
INSTANTIATE_TEST_SUITE_P(Callback, HeldCallsTest, ::testing::Values(Form::kCallback), NameOf);

size_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

// As many as may wait, and some more, which are refused: then the others are known to wait.
TEST_P(HeldCallsTest, WaitWithoutThreads) {
  constexpr size_t kTooMany = 5;
  constexpr size_t kCalls = server::HeldQueue::kMostHeld + kTooMany;
  std::vector<std::unique_ptr<Call>> calls;
  std::atomic<size_t> refused{0};
  std::latch answered(kCalls);
  for (size_t i = 0; i < kCalls; ++i) {
    Call& call = *calls.emplace_back(std::make_unique<Call>(old_, i));
    old_.stub().async()->Count(&call.context, &call.request, &call.response,
                               [&](const grpc::Status& status) {
                                 if (!status.ok()) ++refused;
                                 answered.count_down();
                               });
  }
  ASSERT_TRUE(Eventually([&] { return refused == kTooMany; }));
  EXPECT_LT(ThreadsOfThisProcess(), 200u);
  old_.dropping.Open();
  answered.wait();
  EXPECT_EQ(refused, kTooMany);
  for (size_t i = 0; i < kCalls; ++i) {
    if (!calls[i]->refusal().empty()) continue;
    EXPECT_EQ(calls[i]->response.epoch(), kNewEpoch);
    EXPECT_EQ(calls[i]->response.number(), i);
  }
}

TEST_P(HeldCallsTest, CancelledCallEndsAtOnce) {
  Call call(old_);
  auto counted = CountMeanwhile(old_, call);
  EXPECT_EQ(counted.wait_for(kMoment), std::future_status::timeout);
  call.context.TryCancel();
  EXPECT_EQ(counted.get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_P(HeldCallsTest, DeadlineOfTheCallEndsTheWait) {
  Call call(old_);
  call.context.set_deadline(std::chrono::system_clock::now() + kMoment);
  // Whoever sees it first, the client or the server, says so.
  EXPECT_THAT(Count(old_, call).error_code(),
              ::testing::AnyOf(grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::UNAVAILABLE));
}

TEST_P(HeldCallsTest, WorkThatIsNotACallIsRefusedOnceTheShardHasGone) {
  std::promise<std::string> refusal;
  old_.server().Admit(ShardId("s"), std::chrono::seconds(60),
                      [&](const Admission& admission) { refusal.set_value(admission.refusal()); });
  auto refused = refusal.get_future();
  EXPECT_EQ(refused.wait_for(kMoment), std::future_status::timeout);
  old_.dropping.Open();
  EXPECT_EQ(refused.get(), request_metadata::kMoving);
}

}  // namespace
}  // namespace shardmanager
