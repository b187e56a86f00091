#include "router/replica_choice.h"

#include <gtest/gtest.h>

#include <map>

#include "router/map_holder.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {
namespace {

using Times = std::map<std::string, int>;

// A multiple of all that is drawn from: shares are exact.
constexpr int kRequests = 36 * 256;

class ReplicaChoiceTest : public ::testing::Test {
 protected:
  const std::vector<TestServer> servers_ = {{"kv-0", "h0:1", {"eu", "eu-1", "r1"}},
                                            {"kv-1", "h1:1", {"us", "us-1", "r1"}},
                                            {"kv-2", "h2:1", {"us", "us-1", "r2"}},
                                            {"kv-3", "h3:1", {"us", "us-2", "r1"}}};
  // Far from all, in a datacenter and a rack of names that others have, too.
  const FaultDomain asia_{"asia", "us-1", "r1"};
  const FaultDomain eu_{"eu", "", ""};
  const FaultDomain us_{"us", "", ""};

  void Serve(const std::vector<uint32_t>& servers, v1::Role role = v1::SECONDARY) {
    ASSERT_TRUE(
        holder_.Apply(MakeSnapshot({1, ++sequence_}, servers_, {{"s", "", servers}}, role)).ok());
  }
  // How often each server is chosen. Nothing is probed: see Probes.
  Times Choose(ReplicaPreference preference = {}, int requests = kRequests) {
    Times times;
    left_out_ = 0;
    for (int i = 0; i < requests; ++i) {
      // All numbers that matter: which are drawn, and the one of 64.
      preference.random = static_cast<uint64_t>(i);
      preference.now = TimePoint(Milliseconds(1));
      const ReplicaChoice choice = ChooseReplica(*holder_.map(), ShardIndex(0), preference);
      left_out_ += choice.left_out ? 1 : 0;
      if (choice.replica != nullptr) ++times[Server(choice.replica->server().index()).name];
    }
    return times;
  }
  const MappedServer& Server(uint32_t index) { return holder_.map()->server(ServerIndex(index)); }
  ServerHealth& Health(uint32_t index) { return *Server(index).health; }
  void Answers(uint32_t server, Duration latency) {
    for (int i = 0; i < 100; ++i) {
      Health(server).OnSend();
      Health(server).OnEnd(Impression::kGood, latency);
    }
  }
  void GetsIntoTrouble(uint32_t server) {
    for (int i = 0; i < 6; ++i) Health(server).OnUnsent();
  }
  // The probes of this moment are taken.
  void NoProbes() {
    for (uint32_t i = 0; i < servers_.size(); ++i) Health(i).TakeProbe(TimePoint(Milliseconds(1)));
  }

  MapHolder holder_;
  uint64_t sequence_ = 0;
  int left_out_ = 0;
};

TEST_F(ReplicaChoiceTest, NobodyServesNobodyIsChosen) {
  Serve({});
  EXPECT_EQ(Choose(), Times{});
}

TEST_F(ReplicaChoiceTest, ThePrimaryGetsAllWhereverItStandsAndHoweverItDoes) {
  Serve({0}, v1::PRIMARY);
  GetsIntoTrouble(0);
  EXPECT_EQ(Choose({.location = &us_, .avoid = "kv-0"}), (Times{{"kv-0", kRequests}}));
}

TEST_F(ReplicaChoiceTest, SecondariesShareEvenly) {
  Serve({0, 1});
  EXPECT_EQ(Choose(), (Times{{"kv-0", kRequests / 2}, {"kv-1", kRequests / 2}}));
}

TEST_F(ReplicaChoiceTest, TheNearestGetsAll) {
  Serve({0, 1, 2, 3});
  NoProbes();
  const FaultDomain rack{"us", "us-1", "r2"};
  const FaultDomain other_rack{"us", "us-1", "r9"};
  EXPECT_EQ(Choose({.location = &eu_}), (Times{{"kv-0", kRequests}}));
  EXPECT_EQ(Choose({.location = &rack}), (Times{{"kv-2", kRequests}}));
  EXPECT_EQ(Choose({.location = &other_rack}),
            (Times{{"kv-1", kRequests / 2}, {"kv-2", kRequests / 2}}));
  EXPECT_EQ(Choose({.location = &us_}).size(), 3u);
  EXPECT_EQ(Choose({.location = &asia_}).size(), 4u) << "names count within their region";
}

TEST_F(ReplicaChoiceTest, TheServerThatFailedIsAvoidedEvenForAFartherOne) {
  Serve({0, 1});
  EXPECT_EQ(Choose({.location = &eu_, .avoid = "kv-0"}), (Times{{"kv-1", kRequests}}));
}

TEST_F(ReplicaChoiceTest, TheServerThatFailedIsBetterThanNone) {
  Serve({0});
  EXPECT_EQ(Choose({.avoid = "kv-0"}), (Times{{"kv-0", kRequests}}));
}

TEST_F(ReplicaChoiceTest, AServerInTroubleIsLeftOutForAFartherOne) {
  Serve({0, 1});
  GetsIntoTrouble(0);
  NoProbes();
  EXPECT_EQ(Choose({.location = &eu_}), (Times{{"kv-1", kRequests}}));
  EXPECT_EQ(left_out_, kRequests);
  EXPECT_EQ(Choose({.location = &eu_, .leave_out_outliers = false}), (Times{{"kv-0", kRequests}}));
  EXPECT_EQ(left_out_, 0);
}

TEST_F(ReplicaChoiceTest, AServerInTroubleGetsOneProbeASecond) {
  Serve({0, 1});
  GetsIntoTrouble(0);
  EXPECT_EQ(Choose(), (Times{{"kv-0", 1}, {"kv-1", kRequests - 1}}));
  EXPECT_EQ(Choose(), (Times{{"kv-1", kRequests}})) << "in the same second";
}

TEST_F(ReplicaChoiceTest, WhenAllAreInTroubleAllServe) {
  Serve({0, 1});
  GetsIntoTrouble(0);
  GetsIntoTrouble(1);
  EXPECT_EQ(Choose(), (Times{{"kv-0", kRequests / 2}, {"kv-1", kRequests / 2}}));
  EXPECT_EQ(left_out_, 0);
}

TEST_F(ReplicaChoiceTest, OfEquallyNearOnesTheSlowGetNothing) {
  Serve({1, 2});
  Answers(1, Milliseconds(10));
  Answers(2, Milliseconds(15));
  NoProbes();
  EXPECT_EQ(Choose(), (Times{{"kv-1", kRequests / 2}, {"kv-2", kRequests / 2}}))
      << "that is not slow";
  Answers(2, Milliseconds(18));
  EXPECT_EQ(Choose(), (Times{{"kv-1", kRequests}}));
}

TEST_F(ReplicaChoiceTest, AMillisecondMoreIsNotSlow) {
  Serve({1, 2});
  Answers(1, Duration(100));
  Answers(2, Duration(1'100));
  EXPECT_EQ(Choose(), (Times{{"kv-1", kRequests / 2}, {"kv-2", kRequests / 2}}));
}

TEST_F(ReplicaChoiceTest, ANearServerComesFirstUntilItTakesThreeTimesAsLong) {
  Serve({0, 1});
  Answers(0, Milliseconds(290));
  Answers(1, Milliseconds(100));
  NoProbes();
  EXPECT_EQ(Choose({.location = &eu_}), (Times{{"kv-0", kRequests}}));
  Answers(0, Milliseconds(320));
  EXPECT_EQ(Choose({.location = &eu_}), (Times{{"kv-1", kRequests}}));
}

TEST_F(ReplicaChoiceTest, ASlowNearServerIsPassedOverForTheNextNearest) {
  Serve({0, 1, 3});
  const FaultDomain client{"us", "us-1", ""};
  Answers(1, Milliseconds(50));  // the same datacenter
  Answers(3, Milliseconds(2));   // the same region
  Answers(0, Milliseconds(60));
  NoProbes();
  EXPECT_EQ(Choose({.location = &client}), (Times{{"kv-3", kRequests}}));
}

TEST_F(ReplicaChoiceTest, WhoIsPassedOverIsLookedAtNowAndThen) {
  Serve({0, 1});
  Answers(0, Milliseconds(1));
  Answers(1, Milliseconds(100));
  // One in 64 would look, and half of these at the server that is in use anyway; one a second
  // does.
  EXPECT_EQ(Choose({.location = &eu_}), (Times{{"kv-0", kRequests - 1}, {"kv-1", 1}}));
}

TEST_F(ReplicaChoiceTest, AServerOfWhichNothingIsKnownMayBeFast) {
  Serve({1, 2});
  Answers(1, Milliseconds(10));
  EXPECT_EQ(Choose(), (Times{{"kv-1", kRequests / 2}, {"kv-2", kRequests / 2}}));
}

TEST_F(ReplicaChoiceTest, OfTwoTheOneWithFewerRequestsUnderWayIsChosen) {
  Serve({1, 2});
  for (int i = 0; i < 3; ++i) Health(1).OnSend();
  EXPECT_EQ(Choose(), (Times{{"kv-2", kRequests}}));
  Serve({0, 1, 2, 3});
  const Times times = Choose();
  EXPECT_EQ(times.count("kv-1"), 0u) << "whoever is drawn beside it is less busy";
  EXPECT_EQ(times.size(), 3u);
}

TEST_F(ReplicaChoiceTest, AServersHealthOutlivesTheMapThatNamesIt) {
  Serve({0, 1});
  GetsIntoTrouble(0);
  Serve({0, 1});
  EXPECT_TRUE(Health(0).in_trouble());
  EXPECT_FALSE(Health(1).in_trouble());
  auto moved = MakeSnapshot({1, ++sequence_}, servers_, {{"s", "", {0, 1}}}, v1::SECONDARY);
  moved.mutable_servers(0)->set_endpoint("h9:1");
  ASSERT_TRUE(holder_.Apply(moved).ok());
  EXPECT_FALSE(Health(0).in_trouble()) << "it is another process";
}

TEST_F(ReplicaChoiceTest, AMapThatNamesOneServerTwiceIsNoRiddle) {
  Serve({0, 0});
  EXPECT_EQ(Choose({.avoid = "kv-0"}), (Times{{"kv-0", kRequests}}));
}

}  // namespace
}  // namespace shardmanager::router
