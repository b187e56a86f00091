// A leader that is cut off from the coordination store alone: operators and clients still
// reach it. It must not tell them what was true once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>

#include "tests/simulation/checkers.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

using testing::HasSubstr;

constexpr Duration kTimeout = Seconds(4);

class LeadershipTest : public testing::TestWithParam<int> {
 protected:
  LeadershipTest() {
    spdlog::set_level(spdlog::level::off);
    checkers_.Watch(cluster_);
    operator_.ApplyUntilAcknowledged();
    RunFor(Seconds(20));
    EXPECT_EQ(checkers_.NotConverged(), "");
  }
  void RunFor(Duration time) { simulation::RunFor(time, cluster_); }
  std::string Leader() {
    for (const std::string& host : cluster_.controls()) {
      if (cluster_.control(host)->controller().leads()) return host;
    }
    return "";
  }
  absl::Status GetApps(const std::string& host) {
    absl::Status status = absl::DeadlineExceededError("no answer");
    cluster_.control(host)->controller().operations().GetApps(
        {}, [&status](const auto& response) { status = response.status(); });
    RunFor(Milliseconds(1));
    return status;
  }
  v1::GetStatusResponse GetStatus(const std::string& host) {
    v1::GetStatusResponse status;
    cluster_.control(host)->controller().operations().GetStatus(
        [&status](const auto& response) { status = *response; });
    RunFor(Milliseconds(1));
    return status;
  }
  void CutFromStore(const std::string& host) {
    cluster_.network.Cut(host, kStoreHost);
    cluster_.store.LookAtLinks();
  }
  void MendToStore(const std::string& host) {
    cluster_.network.Mend(host, kStoreHost);
    cluster_.store.LookAtLinks();
  }

  Checkers checkers_;
  Cluster cluster_{SmallCluster(GetParam(), 2, kTimeout), /*seed=*/7, checkers_,
                   [](uint64_t, bool) {}};
  Operator operator_{cluster_, checkers_, PrimariesOnly()};
};

using AloneTest = LeadershipTest;
INSTANTIATE_TEST_SUITE_P(One, AloneTest, testing::Values(1));
using SucceededTest = LeadershipTest;
INSTANTIATE_TEST_SUITE_P(Three, SucceededTest, testing::Values(3));

// Finding 9 of the attack.
TEST_P(SucceededTest, ALeaderThatIsCutOffLeadsNoLongerThanItsLease) {
  const std::string old_leader = Leader();
  CutFromStore(old_leader);
  RunFor(kTimeout - Milliseconds(400));
  EXPECT_FALSE(cluster_.control(old_leader)->controller().leads());
  EXPECT_EQ(Leader(), "") << "before the lease of the old leader had lapsed";

  RunFor(Seconds(30));
  const std::string new_leader = Leader();
  EXPECT_NE(new_leader, "");
  EXPECT_NE(new_leader, old_leader);
  const absl::Status refused = GetApps(old_leader);
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("unknown since 33 s: ZooKeeper has not answered"));
  const v1::GetStatusResponse status = GetStatus(old_leader);
  EXPECT_FALSE(status.leading());
  EXPECT_TRUE(status.led_before());
  EXPECT_GT(status.cut_off_ms(), 30'000);
  EXPECT_EQ(status.leader_endpoint(), "");

  MendToStore(old_leader);
  RunFor(Seconds(5));
  EXPECT_EQ(GetStatus(old_leader).leader_endpoint(), new_leader);
  EXPECT_EQ(GetStatus(old_leader).cut_off_ms(), 0);
}

// Its reads, and its syncs, are answered as if nothing was.
TEST_P(SucceededTest, ALeaderAtADeposedLeaderOfTheStoreLeadsNoLongerThanItsLease) {
  const std::string old_leader = Leader();
  cluster_.store.Depose(old_leader, true);
  RunFor(kTimeout - Milliseconds(400));
  EXPECT_EQ(Leader(), "") << "before the lease of the old leader had lapsed";
  EXPECT_EQ(GetApps(old_leader).code(), absl::StatusCode::kUnavailable);

  RunFor(Seconds(30));
  EXPECT_NE(Leader(), "");
  EXPECT_NE(Leader(), old_leader);
  cluster_.store.Depose(old_leader, false);
  RunFor(Seconds(5));
  EXPECT_EQ(GetStatus(old_leader).leader_endpoint(), Leader());
}

// The relay and the clients reach all of the control plane, and stay with the old leader if it
// says nothing.
TEST_P(SucceededTest, ClientsAndRelaysTurnToWhoeverKnowsTheNewestMap) {
  const std::string old_leader = Leader();
  CutFromStore(old_leader);
  RunFor(2 * kTimeout);
  ASSERT_NE(Leader(), "");
  cluster_.Leave("kv-1");
  cluster_.store.LookAtLinks();
  RunFor(kTimeout + Seconds(10));
  EXPECT_EQ(checkers_.NotConverged(), "");
}

TEST_P(AloneTest, GoesOnLeadingWhenTheStoreAnswersAgain) {
  const std::string leader = Leader();
  const uint64_t epoch = GetStatus(leader).leader_epoch();
  cluster_.store.StopStore();
  RunFor(Seconds(31));
  EXPECT_THAT(GetApps(leader).message(), HasSubstr("unknown since 31 s: ZooKeeper"));
  // The only one: its map is the best there is.
  EXPECT_NE(cluster_.control(leader)->feed().version(), std::nullopt);

  cluster_.store.StartStore();
  RunFor(Seconds(2));
  EXPECT_TRUE(GetApps(leader).ok());
  EXPECT_EQ(GetStatus(leader).leader_epoch(), epoch);
  EXPECT_TRUE(GetStatus(leader).leading());
}

// New clients begin with the map of a leader that is cut off, if nobody else has one.
TEST_P(AloneTest, AMapThatMayBeOldIsBetterThanNone) {
  cluster_.store.StopStore();
  RunFor(2 * kTimeout);
  SimFeed& feed = cluster_.control("control-0")->feed();
  auto process = std::make_shared<Process>(cluster_.schedule, "late-client", 0, Duration(0));
  std::optional<MapVersion> got;
  bool stale = false;
  const SimSubscriber late(cluster_.network, process,
                           {.publishers = {[&feed] { return &feed; }},
                            .on_snapshot =
                                [&got](const v1::MapSnapshot& map) {
                                  got = MapVersion::From(map.version());
                                  return true;
                                },
                            .on_delta =
                                [&got](const v1::MapDelta& delta) {
                                  got = MapVersion::From(delta.version());
                                  return true;
                                },
                            .held = [&got] { return got; },
                            .on_stale = [&stale](bool is) { stale = is; }});
  RunFor(Seconds(3));
  EXPECT_EQ(got, feed.version());
  EXPECT_TRUE(stale);
  process->Kill();
}

}  // namespace
}  // namespace shardmanager::simulation
