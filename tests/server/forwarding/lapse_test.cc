// Calls while ZooKeeper is silent for longer than the lease lasts.
#include <chrono>
#include <future>
#include <string>

#include "gmock/gmock.h"
#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

// Between the lapse of the lease and the end of the session lies more than a second.
constexpr ServerWorld::Timing kTiming{.tick_ms = 500, .session_timeout_ms = 4'000};

class LapseTest : public ::testing::TestWithParam<Form> {
 protected:
  explicit LapseTest(std::chrono::milliseconds hold_timeout = std::chrono::seconds(20))
      : hold_timeout_(hold_timeout) {
    const auto added = server_.commander().Add("s", kOldEpoch);
    EXPECT_TRUE(added.ok() && added->state() == v1::DONE);
  }
  bool AwaitLapse() {
    return Eventually([&] { return !server_.server().Admit(ShardId("s")).ok(); });
  }
  ServerOptions Options() {
    world_.ApplyApp();
    ServerOptions options = world_.Options("kv-1");
    options.hold_timeout = hold_timeout_;
    return options;
  }

  const std::chrono::milliseconds hold_timeout_;
  ServerWorld world_{kTiming};
  CountLog log_;
  CounterServer server_{Options(), log_, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Forms, LapseTest, ::testing::Values(Form::kBlocking, Form::kCallback),
                         NameOf);

TEST_P(LapseTest, CallWaitsForTheRenewalOfTheLapsedLease) {
  world_.zookeeper().Pause();
  ASSERT_TRUE(AwaitLapse());
  Call call(server_);
  auto counted = CountMeanwhile(server_, call);
  EXPECT_EQ(counted.wait_for(kMoment), std::future_status::timeout);
  EXPECT_TRUE(log_.entries().empty()) << "processed without a lease";
  world_.zookeeper().Resume();
  EXPECT_TRUE(counted.get().ok());
  EXPECT_EQ(call.refusal(), "");
  EXPECT_EQ(call.response.epoch(), kOldEpoch);
  EXPECT_THAT(server_.server().MetricsText(),
              HasSubstr("shardmanager_server_lease_held_requests_total 1\n"));
}

// Each message of a long stream, say.
TEST_P(LapseTest, WorkThatDidNotComeThroughTheRouterWaitsOnlyIfItIsAskedTo) {
  world_.zookeeper().Pause();
  ASSERT_TRUE(AwaitLapse());
  EXPECT_EQ(std::string(server_.server().Admit(ShardId("s")).refusal()), "lease-lapsed");
  auto admitted = std::async(std::launch::async, [&] {
    if (GetParam() == Form::kBlocking) {
      return server_.server().Admit(ShardId("s"), hold_timeout_).ok();
    }
    std::promise<bool> answer;
    server_.server().Admit(ShardId("s"), hold_timeout_,
                           [&](const Admission& admission) { answer.set_value(admission.ok()); });
    return answer.get_future().get();
  });
  EXPECT_EQ(admitted.wait_for(kMoment), std::future_status::timeout);
  world_.zookeeper().Resume();
  EXPECT_TRUE(admitted.get());
}

TEST_P(LapseTest, F5_CallThatWaitsIsRefusedOnceTheSessionHasEnded) {
  world_.link().Set(TcpProxy::Mode::kBlackhole);
  ASSERT_TRUE(AwaitLapse());
  Call call(server_);
  auto counted = CountMeanwhile(server_, call);
  ASSERT_TRUE(Eventually([&] { return !world_.Read(world_.LivePath("kv-1", 1)).ok(); }));
  EXPECT_NE(counted.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  world_.link().Set(TcpProxy::Mode::kCut);
  world_.link().Set(TcpProxy::Mode::kForward);
  EXPECT_FALSE(counted.get().ok());
  EXPECT_EQ(call.refusal(), "lease-lapsed");
  EXPECT_TRUE(log_.entries().empty());
}

class LapseWithoutHoldingTest : public LapseTest {
 protected:
  LapseWithoutHoldingTest() : LapseTest(std::chrono::milliseconds(0)) {}
};

INSTANTIATE_TEST_SUITE_P(Forms, LapseWithoutHoldingTest,
                         ::testing::Values(Form::kBlocking, Form::kCallback), NameOf);

TEST_P(LapseWithoutHoldingTest, CallIsRefusedAtOnce) {
  world_.zookeeper().Pause();
  ASSERT_TRUE(AwaitLapse());
  Call call(server_);
  EXPECT_FALSE(Count(server_, call).ok());
  EXPECT_EQ(call.refusal(), "lease-lapsed");
  world_.zookeeper().Resume();
}

}  // namespace
}  // namespace shardmanager
