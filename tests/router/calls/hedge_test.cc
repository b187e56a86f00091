// Reads that are hedged: CallOptions::hedge_after.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::HasSubstr;

// Shard a is on both servers, without a primary, and kv-1 is the near one. (One call in 128 goes to
// the far one to see how it does; so either may be asked first.)
class HedgeTest : public EveryWayTest {
 protected:
  void SetUp() override { PublishAndAwait(V(1), {0, 1}, {1}, v1::SECONDARY); }

  Result SayToTheNearOne(const CallOptions& options) {
    for (;;) {
      const int before = one_.requests();
      Result result = Say("apple", options);
      if (one_.requests() > before) return result;
    }
  }

  // What the server of the first attempt does, once the other one is asked, and what that one does.
  void DoInTurn(EchoServer::Behaviour first, EchoServer::Behaviour second) {
    const auto asked = [this] { return one_.requests() + two_.requests(); };
    const int before = asked();
    for (EchoServer* server : {&one_, &two_}) {
      server->Do([=, this](grpc::ServerContext& context) {
        if (context.client_metadata().find("x-attempt")->second != "1") return second(context);
        asked_first_ = server->name();
        EXPECT_TRUE(Eventually([&] { return asked() >= before + 2; }));
        return first(context);
      });
    }
  }
  Result SayInTurn(CallOptions options) {
    int attempts = 0;
    options.prepare = [&](grpc::ClientContext& context) {
      context.AddMetadata("x-attempt", std::to_string(++attempts));
    };
    return Say("apple", options);
  }

  std::string asked_first_;
  std::atomic<int> requests_of_trouble_ = 0;
  const CallOptions hedged_{.timeout = 60s, .idempotent = true, .hedge_after = 10ms};
};

TEST_P(HedgeTest, WhenTheNearServerHangsTheOtherOneAnswers) {
  one_.Do(one_.Hang());
  const Result result = SayToTheNearOne(hedged_);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), "kv-2");
  EXPECT_EQ(result.response.text(), "hello");
  EXPECT_GE(result.took, 10ms);
  EXPECT_LT(result.took, 10s) << "a quarter of the time-out is 15 s";
  const RouterStats stats = router_->stats();
  EXPECT_EQ(stats.hedges, 1u);
  EXPECT_EQ(stats.hedges_won, 1u);
  EXPECT_EQ(stats.attempts, stats.calls + 1);
  EXPECT_EQ(stats.failed_calls, 0u);
  EXPECT_EQ(stats.transport_errors, 0u);
}

TEST_P(HedgeTest, ACallThatIsAnsweredInTimeIsNotHedged) {
  CallOptions options = hedged_;
  options.hedge_after = 10s;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Say("apple", options).status.ok());
  EXPECT_EQ(router_->stats().hedges, 0u);
  EXPECT_EQ(router_->stats().attempts, 20u);
}

TEST_P(HedgeTest, TheFirstOneWinsWhenItAnswersBeforeItsHedge) {
  DoInTurn(EchoServer::Process(), two_.Hang());
  const Result result = SayInTurn(hedged_);
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), asked_first_);
  EXPECT_EQ(router_->stats().hedges, 1u);
  EXPECT_EQ(router_->stats().hedges_won, 0u);
}

TEST_P(HedgeTest, ARefusedOrFailedHedgeDoesNotFailTheCall) {
  for (const auto& trouble : {EchoServer::Refuse("loading"),
                              EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk"})}) {
    DoInTurn(EchoServer::Process(), trouble);
    const Result result = SayInTurn(hedged_);
    ASSERT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_EQ(result.response.server(), asked_first_);
  }
  EXPECT_EQ(router_->stats().hedges, 2u);
  EXPECT_EQ(router_->stats().hedges_won, 0u);
}

TEST_P(HedgeTest, WhenTheFirstOneFailsTheHedgeIsAwaited) {
  for (const auto& trouble : {EchoServer::Refuse("loading"),
                              EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk"})}) {
    const int troubled = requests_of_trouble_;
    DoInTurn(
        [&](grpc::ServerContext& context) {
          ++requests_of_trouble_;
          return trouble(context);
        },
        [&](grpc::ServerContext& context) {
          EXPECT_TRUE(Eventually([&] { return requests_of_trouble_ > troubled; }));
          return EchoServer::Process()(context);
        });
    const Result result = SayInTurn(hedged_);
    ASSERT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_NE(result.response.server(), asked_first_);
  }
  EXPECT_EQ(router_->stats().hedges_won, 2u);
  EXPECT_EQ(router_->stats().attempts, 4u);
}

TEST_P(HedgeTest, AnErrorOfBothIsTheAnswerAndIsInspected) {
  DoInTurn(EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk of one"}),
           EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk of two"}));
  int inspected = 0;
  CallOptions options = hedged_;
  options.inspect = [&](const grpc::ClientContext&) { ++inspected; };
  const Result result = SayInTurn(options);
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(result.status.error_message(), HasSubstr("the disk of"));
  EXPECT_EQ(inspected, 1);
  EXPECT_EQ(router_->stats().hedges, 1u);
}

TEST_P(HedgeTest, WhatThePrimaryIsAskedNobodyElseIs) {
  v1::MapSnapshot whole = MakeSnapshot(
      V(2), {{"kv-1", one_.endpoint(), ""}, {"kv-2", two_.endpoint(), ""}}, {{"a", "", {0, 1}}});
  whole.mutable_shards(0)->mutable_replicas(1)->set_role(v1::SECONDARY);
  const uint64_t updates = router_->stats().map_updates;
  hub_.Publish(kApp, whole);
  ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates > updates; }));
  one_.Do(one_.Hang());
  const Result primary = Say("apple", {.timeout = 200ms, .idempotent = true, .hedge_after = 10ms});
  EXPECT_EQ(primary.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(router_->stats().hedges, 0u);
  EXPECT_EQ(two_.requests(), 0);
  const Result any = Say("apple", {.timeout = 60s, .any_replica = true, .hedge_after = 10ms});
  ASSERT_TRUE(any.status.ok()) << any.status.error_message();
  EXPECT_EQ(any.response.server(), "kv-2");
}

TEST_P(HedgeTest, WithOneReplicaThereIsNobodyElse) {
  two_.Do(two_.Hang());
  const Result result = Say("zebra", {.timeout = 200ms, .idempotent = true, .hedge_after = 10ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(router_->stats().hedges, 0u);
}

TEST_P(HedgeTest, HedgesEndWithTheRetryBudget) {
  router_.emplace(RouterOptions{
      .discovery = {discovery_->endpoint()}, .security = {.insecure = true}, .retry_share = 0});
  ASSERT_TRUE(router_->WaitReady("kv", 20s).ok());
  one_.Do(one_.Hang());
  two_.Do(two_.Hang());
  std::vector<std::future<Result>> calls;
  CallOptions options = hedged_;
  options.timeout = 3s;
  for (int i = 0; i < 200; ++i) calls.push_back(SayLater("apple", options));
  for (auto& call : calls) EXPECT_FALSE(call.get().status.ok());
  EXPECT_GE(router_->stats().hedges, 50u);
  EXPECT_LE(router_->stats().hedges, 100u + 10u * 4u);
}

TEST_P(HedgeTest, AServerThatIsOutrunTimeAndAgainIsUsedLess) {
  one_.Do(one_.Hang());
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(Say("apple", hedged_).status.ok());
  EXPECT_LT(router_->stats().hedges, 30u) << "the far one is known to be quicker soon";
}

TEST_P(HedgeTest, OnlyReadsAreHedged) {
  const Result result = Say("apple", {.hedge_after = 10ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(),
              HasSubstr("kv: CallOptions::hedge_after without idempotent or any_replica"));
}

INSTANTIATE_TEST_SUITE_P(Ways, HedgeTest, WaysOnCallbacks(), NameOfWay);

class HedgeCancelTest : public RouterFixture {};

TEST_F(HedgeCancelTest, BothAttemptsAreCancelledWithTheCall) {
  PublishAndAwait(V(1), {0, 1}, {1}, v1::SECONDARY);
  one_.Do(one_.Hang());
  two_.Do(two_.Hang());
  EchoResponse response;
  std::promise<grpc::Status> done;
  const PendingCall call =
      router_->GetClient<Echo>("kv", "apple")
          .CallAsync(&Echo::Stub::async::Say, EchoRequest(), &response,
                     {.timeout = 60s, .idempotent = true, .hedge_after = 10ms},
                     [&](grpc::Status status) { done.set_value(std::move(status)); });
  ASSERT_TRUE(one_.AwaitRequests(1));
  ASSERT_TRUE(two_.AwaitRequests(1));
  call.Cancel();
  const grpc::Status status = done.get_future().get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_THAT(status.error_message(), HasSubstr("(2 attempts)"));
}

TEST_F(HedgeCancelTest, ABlockingCallWithTheMethodOfTheOtherStubIsToldSo) {
  const Result result = Say("apple", {.idempotent = true, .hedge_after = 10ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(result.status.error_message(), HasSubstr("&Kv::Stub::async::Get"));
}

}  // namespace
}  // namespace shardmanager::router
