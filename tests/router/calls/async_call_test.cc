// What asynchronous calls promise beyond what blocking ones do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::HasSubstr;

// A call of a test: the response lives as long as the call.
struct Said {
  EchoResponse response;
  std::promise<grpc::Status> promise;
  std::future<grpc::Status> status = promise.get_future();
  PendingCall pending;
};

std::shared_ptr<Said> SayAsync(Router& router, const std::string& key,
                               const CallOptions& options = {}) {
  auto said = std::make_shared<Said>();
  EchoRequest request;
  request.set_text("hello");
  said->pending = router.GetClient<Echo>("kv", key).CallAsync(
      &Echo::Stub::async::Say, std::move(request), &said->response, options,
      [said](grpc::Status status) { said->promise.set_value(std::move(status)); });
  return said;
}

size_t Threads() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

class AsyncCallTest : public RouterFixture {};

TEST_F(AsyncCallTest, CallsThatWaitForAMapTakeNoThreadsAndAllGoOnWithIt) {
  SayAsync(*router_, "apple", {.timeout = 1ms})->status.wait();  // starts what the first one starts
  const size_t before = Threads();
  std::vector<std::shared_ptr<Said>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(SayAsync(*router_, i % 2 == 0 ? "apple" : "zebra", {.timeout = 60s}));
  }
  EXPECT_LT(Threads(), before + 50);
  Publish(V(1), {0}, {1});
  for (size_t i = 0; i < calls.size(); ++i) {
    ASSERT_TRUE(calls[i]->status.get().ok());
    EXPECT_EQ(calls[i]->response.server(), i % 2 == 0 ? "kv-1" : "kv-2");
  }
}

TEST_F(AsyncCallTest, TheCallbackNeverRunsInsideOfTheCall) {
  PublishAndAwait(V(1), {0}, {1});
  one_.Do(EchoServer::Answer({grpc::StatusCode::ABORTED, ""}));
  Router without({});
  const auto thread_of = [](Router& router, const std::string& shard, const CallOptions& options) {
    EchoResponse response;
    std::promise<std::thread::id> thread;
    router.GetClientForShard<Echo>("kv", ShardId(shard))
        .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, options,
                   [&](const grpc::Status&) { thread.set_value(std::this_thread::get_id()); });
    return thread.get_future().get();
  };
  EXPECT_NE(thread_of(*router_, "a", {}), std::this_thread::get_id());
  EXPECT_NE(thread_of(*router_, "no such shard", {}), std::this_thread::get_id());
  EXPECT_NE(thread_of(*router_, "a", {.timeout = 0ms}), std::this_thread::get_id());
  EXPECT_NE(thread_of(without, "a", {}), std::this_thread::get_id());
}

TEST_F(AsyncCallTest, TheCallbackMayMakeTheNextCall) {
  PublishAndAwait(V(1), {0}, {1});
  EchoResponse response;
  std::promise<grpc::Status> done;
  int left = 100;
  std::function<void(grpc::Status)> next = [&](grpc::Status status) {
    if (!status.ok() || --left == 0) return done.set_value(std::move(status));
    router_->GetClient<Echo>("kv", left % 2 == 0 ? "apple" : "zebra")
        .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, {}, next);
  };
  router_->GetClient<Echo>("kv", "apple")
      .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, {}, next);
  EXPECT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(router_->stats().calls, 100u);
}

TEST_F(AsyncCallTest, RequestKeyAndOptionsAreCopied) {
  auto said = std::make_shared<Said>();
  {
    EchoRequest request;
    request.set_text("gone by then");
    const std::string key = "a key that is longer than what a string holds by itself";
    CallOptions options{.timeout = 60s};
    options.prepare = [text = std::string("as long as this one here is")](
                          grpc::ClientContext& context) { context.AddMetadata("x-text", text); };
    router_->GetClient<Echo>("kv", key).CallAsync(
        &Echo::Stub::async::Say, request, &said->response, options,
        [said](grpc::Status status) { said->promise.set_value(std::move(status)); });
  }
  Publish(V(1), {0}, {1});
  ASSERT_TRUE(said->status.get().ok());
  EXPECT_EQ(said->response.text(), "gone by then");
  EXPECT_EQ(said->response.server(), "kv-1");
}

// ---- cancelled ----

void ExpectCancelled(Said& said, const std::string& where) {
  const grpc::Status status = said.status.get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(where));
}

TEST_F(AsyncCallTest, ACallThatWaitsForAMapIsCancelled) {
  const auto said = SayAsync(*router_, "apple", {.timeout = 60s});
  said->pending.Cancel();
  ExpectCancelled(*said, "kv: the call was cancelled; no shard map has come");
  said->pending.Cancel();  // does nothing
}

TEST_F(AsyncCallTest, ACallWithoutAnAnswerIsCancelled) {
  PublishAndAwait(V(1), {0}, {1});
  for (bool idempotent : {false, true}) {
    one_.Do(one_.Hang());
    const int before = one_.requests();
    const auto said = SayAsync(*router_, "apple", {.timeout = 60s, .idempotent = idempotent});
    ASSERT_TRUE(one_.AwaitRequests(before + 1));
    said->pending.Cancel();
    ExpectCancelled(*said, "the last: kv-1 (");
  }
}

TEST_F(AsyncCallTest, ACallThatIsRefusedAgainAndAgainIsCancelled) {
  PublishAndAwait(V(1), {0}, {1});
  one_.Do(EchoServer::Refuse("loading"));
  const auto said = SayAsync(*router_, "apple", {.timeout = 60s});
  ASSERT_TRUE(one_.AwaitRequests(8));
  said->pending.Cancel();
  ExpectCancelled(*said, "the last: kv-1 (");
}

TEST_F(AsyncCallTest, ACallIsCancelledWhileItConnects) {
  PublishAndAwait(V(1), {2}, {1});
  const auto said = SayAsync(*router_, "apple", {.timeout = 60s});
  ASSERT_TRUE(Eventually([&] { return router_->stats().attempts > 0; }));
  said->pending.Cancel();
  EXPECT_EQ(said->status.get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(AsyncCallTest, CancelAfterTheEndDoesNothingAlsoWithoutARouter) {
  PublishAndAwait(V(1), {0}, {1});
  const auto said = SayAsync(*router_, "apple");
  EXPECT_TRUE(said->status.get().ok());
  said->pending.Cancel();
  router_.reset();
  said->pending.Cancel();
  PendingCall().Cancel();
}

TEST_F(AsyncCallTest, EveryCallHasOneEndHoweverItIsCancelled) {
  PublishAndAwait(V(1), {0}, {1});
  one_.Do([count = std::make_shared<std::atomic<int>>()](grpc::ServerContext& context) {
    return (++*count % 3 == 0 ? EchoServer::Refuse("loading") : EchoServer::Process())(context);
  });
  std::map<grpc::StatusCode, int> ends;
  for (int i = 0; i < 150; ++i) {
    const int cancel_at = one_.requests() + i % 3;
    const auto said = SayAsync(*router_, "apple", {.timeout = 60s, .idempotent = i % 2 == 0});
    while (one_.requests() < cancel_at && said->status.wait_for(0s) != std::future_status::ready) {
      std::this_thread::yield();
    }
    said->pending.Cancel();
    ++ends[said->status.get().error_code()];  // a second end would throw
  }
  EXPECT_EQ(ends.size(), 2u);
  EXPECT_GT(ends[grpc::StatusCode::OK], 0);
  EXPECT_GT(ends[grpc::StatusCode::CANCELLED], 0);
}

// ---- the router goes ----

TEST_F(AsyncCallTest, ARouterThatGoesEndsItsCallsFirst) {
  PublishAndAwait(V(1), {0}, {2});
  one_.Do(one_.Hang());
  std::vector<std::shared_ptr<Said>> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(SayAsync(*router_, i % 2 == 0 ? "apple" : "zebra", {.timeout = 60s}));
  }
  ASSERT_TRUE(one_.AwaitRequests(10));
  EchoResponse response;
  std::atomic<bool> waits_ended = false;
  router_->GetClient<Echo>("mail", "of another app, without a map")
      .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, {.timeout = 60s},
                 [&](const grpc::Status& status) {
                   waits_ended = status.error_code() == grpc::StatusCode::CANCELLED;
                 });
  router_.reset();
  EXPECT_TRUE(waits_ended);
  for (const auto& said : calls) {
    ASSERT_EQ(said->status.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(said->status.get().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(AsyncCallTest, ACallOutOfTheCallbackOfACancelledOneIsCancelled) {
  PublishAndAwait(V(1), {0}, {1});
  one_.Do(one_.Hang());
  EchoResponse response;
  std::atomic<int> cancelled = 0;
  const auto call_again = [&](const grpc::Status& status) {
    cancelled += status.error_code() == grpc::StatusCode::CANCELLED;
    router_->GetClient<Echo>("kv", "zebra")
        .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, {},
                   [&](const grpc::Status& second) {
                     cancelled += second.error_code() == grpc::StatusCode::CANCELLED;
                   });
  };
  router_->GetClient<Echo>("kv", "apple")
      .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response, {.timeout = 60s}, call_again);
  ASSERT_TRUE(one_.AwaitRequests(1));
  router_.reset();
  EXPECT_EQ(cancelled, 2);
  EXPECT_EQ(two_.requests(), 0);
}

// The last call of a connection that no map names any more ends on a thread of gRPC.
TEST_F(AsyncCallTest, ConnectionsThatAreDroppedUnderACallAreClosedElsewhere) {
  for (uint64_t v = 1; v <= 40; v += 2) {
    PublishAndAwait(V(v), {0}, {0});
    one_.Do(one_.Hang());
    const int before = one_.requests();
    const auto said = SayAsync(*router_, "apple", {.timeout = 60s});
    ASSERT_TRUE(one_.AwaitRequests(before + 1));
    PublishAndAwait(V(v + 1), {1}, {1});
    said->pending.Cancel();
    EXPECT_EQ(said->status.get().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(AsyncCallTest, AFutureThatIsDroppedHarmsNobody) {
  PublishAndAwait(V(1), {0}, {1});
  one_.Do(one_.Hang());
  {
    auto dropped = router_->GetClient<Echo>("kv", "apple").CallFuture(&Echo::Stub::async::Say, {});
  }
  ASSERT_TRUE(one_.AwaitRequests(1));
  one_.LetGo();
}

}  // namespace
}  // namespace shardmanager::router
