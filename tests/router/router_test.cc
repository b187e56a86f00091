// What every kind of call promises.
#include "shardmanager/router.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/coordination/tcp_proxy.h"
#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using RouterTest = EveryWayTest;

TEST_P(RouterTest, RequestsReachTheServerOfTheirKeyAndSayForWhomTheyAre) {
  Publish(V(1), {0}, {1});
  for (const auto& [key, shard, server] :
       {std::tuple{"apple", "a", "kv-1"}, {"zebra", "b", "kv-2"}, {"", "a", "kv-1"}}) {
    const Result result = Say(key);
    ASSERT_TRUE(result.status.ok()) << result.status.error_message();
    EXPECT_EQ(result.response.text(), "hello");
    EXPECT_EQ(result.response.server(), server);
    EXPECT_EQ(result.response.meant_server(), server);
    EXPECT_EQ(result.response.shard(), shard);
    EXPECT_EQ(result.response.app(), "kv");
  }
  const RouterStats stats = router_->stats();
  EXPECT_EQ(stats.calls, 3u);
  EXPECT_EQ(stats.attempts, 3u);
  EXPECT_EQ(stats.map_updates, 1u);
  EXPECT_EQ(stats.failed_calls, 0u);
}

TEST_P(RouterTest, ShardsAreFoundByIdToo) {
  Publish(V(1), {0}, {1});
  EXPECT_EQ(
      SayTo(router_->GetClientForShard<Echo>("kv", ShardId("b")), {}, GetParam()).response.server(),
      "kv-2");
}

TEST_P(RouterTest, UnknownShardsAndDeletedAppsAreNotFound) {
  Publish(V(1), {0}, {1});
  const Result unknown =
      SayTo(router_->GetClientForShard<Echo>("kv", ShardId("c")), {}, GetParam());
  EXPECT_EQ(unknown.status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.status.error_message(), HasSubstr("kv: there is no shard c in map 1.1"));
  hub_.Publish(kApp, MakeSnapshot(V(2), {}, {}));
  ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates >= 2; }));
  EXPECT_EQ(Say("apple").status.error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_P(RouterTest, ACallWaitsForTheFirstMap) {
  auto call = SayLater("apple");
  ASSERT_TRUE(Eventually([&] { return hub_.subscribers() > 0; }));
  Publish(V(1), {0}, {1});
  EXPECT_TRUE(call.get().status.ok());
}

TEST_P(RouterTest, WithoutAMapTheDeadlineHoldsAndTheErrorSaysWhy) {
  const Result result = Say("apple", {.timeout = 50ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("kv: no answer within 50 ms"), HasSubstr("no shard map has come")));
}

TEST_P(RouterTest, ARefusalIsCorrectedByANewerMapAtOnce) {
  Publish(V(1), {0}, {0});
  one_.Do(EchoServer::Refuse("not-owner"));
  auto call = SayLater("zebra", {.timeout = 10s});
  // So often refused that it waits 50 ms between attempts.
  ASSERT_TRUE(one_.AwaitRequests(8));
  Publish(V(2), {0}, {1});
  const Result result = call.get();
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), "kv-2");
  EXPECT_GE(router_->stats().refused, 8u);
  EXPECT_EQ(router_->stats().failed_calls, 0u);
}

TEST_P(RouterTest, ARefusalIsRetriedWithoutANewerMapToo) {
  Publish(V(1), {0}, {0});
  one_.Do(EchoServer::Refuse("loading"));
  auto call = SayLater("apple");
  ASSERT_TRUE(one_.AwaitRequests(3));
  one_.Do(EchoServer::Process());
  EXPECT_TRUE(call.get().status.ok());
}

TEST_P(RouterTest, RefusedUntilTheDeadlineNamesTheLastRefusal) {
  Publish(V(1), {0}, {1});
  one_.Do(EchoServer::Refuse("lease-lapsed"));
  const Result result = Say("apple", {.timeout = 100ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("kv: shard a: no answer within 100 ms"),
                    HasSubstr("the last: kv-1 (" + one_.endpoint() + ") refused: lease-lapsed")));
  EXPECT_LT(result.took, 5s);
}

TEST_P(RouterTest, StatusesOfTheApplicationPassThroughUntouched) {
  Publish(V(1), {0}, {1});
  const std::string details("any\0bytes", 9);
  for (grpc::StatusCode code : {grpc::StatusCode::NOT_FOUND, grpc::StatusCode::UNAVAILABLE,
                                grpc::StatusCode::UNKNOWN, grpc::StatusCode::CANCELLED,
                                grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::ABORTED}) {
    for (bool idempotent : {false, true}) {
      one_.Do(EchoServer::Answer({code, "what the application says", details}));
      const int before = one_.requests();
      const Result result = Say("apple", {.idempotent = idempotent});
      EXPECT_EQ(result.status.error_code(), code);
      EXPECT_EQ(result.status.error_message(), "what the application says");
      EXPECT_EQ(result.status.error_details(), details);
      EXPECT_EQ(one_.requests(), before + 1) << "an answer is not retried";
    }
  }
  EXPECT_EQ(router_->stats().failed_calls, 0u);
}

// gRPC gives a broken connection and an answer the same look.
TEST_P(RouterTest, AnUnavailableWithoutTheMarkOfAdmissionCountsAsABrokenConnection) {
  Publish(V(1), {0}, {1});
  one_.Do([](grpc::ServerContext&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "who says so?");
  });
  const Result result = Say("apple");
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(result.status.error_message(),
              AllOf(HasSubstr("may have been processed"), HasSubstr("who says so?")));
  EXPECT_EQ(one_.requests(), 1);
  auto call = SayLater("apple", {.timeout = 20s, .idempotent = true});
  ASSERT_TRUE(one_.AwaitRequests(4));
  one_.Do(EchoServer::Process());
  EXPECT_TRUE(call.get().status.ok());
}

// A request whose connection broke may have been processed.
TEST_P(RouterTest, ARequestWhoseConnectionBrokeIsRetriedOnlyIfIdempotent) {
  for (bool idempotent : {false, true}) {
    EchoServer server("kv-3");
    server.Do(server.Hang());
    TcpProxy proxy(server.port());
    const std::string proxy_endpoint = "127.0.0.1:" + std::to_string(proxy.port());
    const uint64_t v = idempotent ? 3 : 1;
    const auto publish = [&](uint64_t sequence, uint32_t owner) {
      hub_.Publish(kApp, MakeSnapshot(V(sequence),
                                      {{"kv-3", proxy_endpoint, ""}, {"kv-1", one_.endpoint(), ""}},
                                      {{"a", "", {owner}}}));
    };
    publish(v, 0);
    ASSERT_TRUE(router_->WaitReady("kv", 20s).ok());
    ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates >= v; }));
    auto call = SayLater("apple", {.timeout = 60s, .idempotent = idempotent});
    ASSERT_TRUE(server.AwaitRequests(1));
    proxy.Set(TcpProxy::Mode::kCut);
    if (idempotent) {
      publish(v + 1, 1);
      const Result result = call.get();
      ASSERT_TRUE(result.status.ok()) << result.status.error_message();
      EXPECT_EQ(result.response.server(), "kv-1");
    } else {
      const Result result = call.get();
      EXPECT_EQ(result.status.error_code(), grpc::StatusCode::UNAVAILABLE);
      EXPECT_THAT(result.status.error_message(),
                  AllOf(HasSubstr("kv: shard a: the request may have been processed"),
                        HasSubstr("kv-3 (" + proxy_endpoint + ") the connection broke")));
      EXPECT_EQ(server.requests(), 1);
      publish(v + 1, 1);
      // Two maps that come close together are one update.
      ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates > v; }));
    }
  }
}

TEST_P(RouterTest, AnUnreachableServerIsRetriedAsNothingWasSent) {
  Publish(V(1), {2}, {1});
  auto call = SayLater("apple", {.timeout = 10s});
  ASSERT_TRUE(Eventually([&] { return router_->stats().transport_errors >= 3; }));
  Publish(V(2), {0}, {1});
  const Result result = call.get();
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), "kv-1");
}

TEST_P(RouterTest, TheDeadlineHoldsWithAllServersDead) {
  Publish(V(1), {2}, {2});
  for (bool idempotent : {false, true}) {
    const Result result = Say("apple", {.timeout = 200ms, .idempotent = idempotent});
    EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_THAT(result.status.error_message(), HasSubstr("dead (127.0.0.1:"));
    EXPECT_THAT(result.status.error_message(), HasSubstr("cannot be connected to"));
    EXPECT_GE(result.took, 200ms);
    EXPECT_LT(result.took, 5s);
  }
}

TEST_P(RouterTest, AShardThatNobodyServesIsWaitedFor) {
  Publish(V(1), {}, {1});
  ASSERT_TRUE(Say("zebra").status.ok());
  auto call = SayLater("apple", {.timeout = 10s});
  ASSERT_TRUE(Eventually([&] { return router_->stats().calls >= 2; }));
  Publish(V(2), {0}, {1});
  EXPECT_TRUE(call.get().status.ok());
  Publish(V(3), {}, {1});
  ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates >= 3; }));
  const Result result = Say("apple", {.timeout = 50ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(), HasSubstr("no server serves it in map 1.3"));
}

TEST_P(RouterTest, AHungServerIsLeftWhenTheMapNamesAnother) {
  Publish(V(1), {0}, {1});
  one_.Do(one_.Hang());
  auto call = SayLater("apple", {.timeout = 60s, .idempotent = true});
  ASSERT_TRUE(one_.AwaitRequests(1));
  Publish(V(2), {1}, {1});
  const Result result = call.get();
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), "kv-2");
  EXPECT_LT(result.took, 10s) << "a quarter of the time-out is 15 s";
}

TEST_P(RouterTest, AHungSecondaryCostsAnIdempotentCallAQuarterOfItsTime) {
  Publish(V(1), {0, 1}, {1}, v1::SECONDARY);
  one_.Do(one_.Hang());
  const Result result = SayToTheNearOne("apple", {.timeout = 2s, .idempotent = true});
  ASSERT_TRUE(result.status.ok()) << result.status.error_message();
  EXPECT_EQ(result.response.server(), "kv-2");
  EXPECT_GE(result.took, 500ms);
  EXPECT_LT(result.took, 2s);
}

TEST_P(RouterTest, AHungServerGetsARequestThatIsNotIdempotentOnlyOnce) {
  Publish(V(1), {0, 1}, {1}, v1::SECONDARY);
  one_.Do(one_.Hang());
  const Result result = SayToTheNearOne("apple", {.timeout = 300ms});
  EXPECT_EQ(result.status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(result.status.error_message(),
              HasSubstr("kv-1 (" + one_.endpoint() + ") did not answer"));
  EXPECT_EQ(one_.requests(), 1);
  EXPECT_EQ(router_->stats().attempts, router_->stats().calls);
}

TEST_P(RouterTest, WorksOnFromTheLastMapWhenDiscoveryIsGone) {
  Publish(V(1), {0}, {1});
  ASSERT_TRUE(Say("apple").status.ok());
  discovery_.reset();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Say("apple").status.ok());
    ASSERT_TRUE(Say("zebra").status.ok());
  }
}

TEST_P(RouterTest, WaitReadyNamesWhatIsMissing) {
  EXPECT_THAT(std::string(router_->WaitReady("kv", 30ms).message()),
              HasSubstr("kv: no shard map has come"));
  Publish(V(1), {0}, {});
  absl::Status status = router_->WaitReady("kv", 30ms);
  while (std::string(status.message()).find("no shard map") != std::string::npos) {
    status = router_->WaitReady("kv", 30ms);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("1 of 2 shards are not served, the first is b"));
  Publish(V(2), {0}, {1});
  EXPECT_TRUE(router_->WaitReady("kv", 20s).ok());
}

TEST_P(RouterTest, ANearServerThatAnswersErrorsIsLeftForAFartherOne) {
  Publish(V(1), {0, 1}, {1}, v1::SECONDARY);
  one_.Do(EchoServer::Answer({grpc::StatusCode::INTERNAL, "the disk is gone"}));
  // It takes longer, so that it is not asked as the quicker one where the machine is busy.
  two_.Do([](grpc::ServerContext& context) {
    std::this_thread::sleep_for(3ms);
    return EchoServer::Process()(context);
  });
  int failed = 0;
  for (int i = 0; i < 100; ++i) failed += Say("apple").status.ok() ? 0 : 1;
  EXPECT_LE(failed, 6 + 2) << "six show it, and two probes in the second or so that this takes";
  EXPECT_GT(router_->stats().left_out, 50u);
  one_.Do(EchoServer::Process());
  const int before = one_.requests();
  // It gets one probe a second, and three good ones end its trouble.
  EXPECT_TRUE(Eventually(
      [&] { return Say("apple").response.server() == "kv-1" && one_.requests() > before + 5; }));
}

TEST_P(RouterTest, ErrorsThatAreAboutTheRequestAreNoTrouble) {
  Publish(V(1), {0, 1}, {1}, v1::SECONDARY);
  one_.Do(EchoServer::Answer({grpc::StatusCode::INVALID_ARGUMENT, "no such colour"}));
  for (int i = 0; i < 50; ++i) Say("apple");
  EXPECT_GE(one_.requests(), 48) << "the other is looked at once a second, no more";
  EXPECT_EQ(router_->stats().left_out, 0u);
}

TEST_P(RouterTest, WhenEverythingFailsRetriesAreHeldBackAndTheCallsStillSucceedInTheEnd) {
  Publish(V(1), {0}, {1});
  one_.Do(EchoServer::Refuse("loading"));
  std::vector<std::future<Result>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(SayLater("apple", {.timeout = 60s}));
  // 100 attempts were saved, and 10 come each second.
  ASSERT_TRUE(Eventually([&] { return one_.requests() >= 110; }));
  one_.Do(EchoServer::Process());
  for (auto& call : calls) EXPECT_TRUE(call.get().status.ok());
  EXPECT_GT(router_->stats().held_back, 0u);
  EXPECT_EQ(router_->stats().failed_calls, 0u);
}

TEST_P(RouterTest, CallsOfManyThreadsFollowTheMap) {
  Publish(V(1), {0}, {1});
  ASSERT_TRUE(router_->WaitReady("kv", 20s).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) failed += Say(i % 2 == 0 ? "apple" : "zebra").status.ok() ? 0 : 1;
    });
  }
  for (uint64_t v = 2; v < 200; ++v) {
    const auto updates = router_->stats().map_updates;
    Publish(V(v), {static_cast<uint32_t>(v % 2)}, {static_cast<uint32_t>((v + 1) % 2)});
    EXPECT_TRUE(Eventually([&] { return router_->stats().map_updates > updates; }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(one_.requests(), 0);
  EXPECT_GT(two_.requests(), 0);
}

INSTANTIATE_TEST_SUITE_P(Ways, RouterTest, EveryWay(), NameOfWay);

// What the control plane knows of where a shard's requests come from.
TEST_P(RouterTest, OneRequestInEightNamesTheRegionOfTheClient) {
  PublishAndAwait(V(1), {0}, {0});
  std::atomic<int> marked = 0;
  one_.Do([&](grpc::ServerContext& context) {
    const auto region = context.client_metadata().find("sm-region");
    if (region != context.client_metadata().end()) {
      EXPECT_EQ(region->second, "eu");
      ++marked;
    }
    return EchoServer::Process()(context);
  });
  constexpr int kCalls = 1'600;
  for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(Say("apple").status.ok());
  // Seven standard deviations (of 13) around 200: chance never goes so far.
  EXPECT_GT(marked, 105);
  EXPECT_LT(marked, 295);
}

}  // namespace
}  // namespace shardmanager::router
