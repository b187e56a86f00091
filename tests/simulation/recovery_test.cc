// A new leader that reads everything back, and whose connection breaks meanwhile; and changes
// that an operator asks for while the store is out of reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coordination/paths.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/small_cluster.h"

namespace shardmanager::simulation {
namespace {

using testing::HasSubstr;

constexpr char kControl[] = "control-0";

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() {
    spdlog::set_level(spdlog::level::off);
    checkers_.Watch(cluster_);
    operator_.ApplyUntilAcknowledged();
    RunFor(Seconds(20));
    EXPECT_EQ(checkers_.NotConverged(), "");
  }
  void RunFor(Duration time) { simulation::RunFor(time, cluster_); }
  bool Leads() { return cluster_.control(kControl)->controller().leads(); }
  // False: it already knows the state of the app.
  bool Reads() {
    v1::GetAppsRequest request;
    request.set_app(kApp);
    bool known = false;
    cluster_.control(kControl)->controller().operations().GetApps(
        request, [&](const auto& response) {
          known = response.ok() && response->apps_size() == 1 && response->apps(0).shards() > 0;
        });
    RunFor(Milliseconds(1));
    return !known;
  }

  // `acknowledged` is set when it is.
  void Delete(bool* acknowledged) {
    v1::DeleteAppRequest request;
    request.set_app(kApp);
    cluster_.control(kControl)->controller().operations().DeleteApp(
        request, [acknowledged](const auto& response) { *acknowledged = response.ok(); });
  }
  // As the operator hears it within 100 ms, or `patience`.
  absl::Status DeleteNow(orchestrator::Wanted wanted = {}, Duration patience = Milliseconds(100)) {
    auto heard = std::make_shared<absl::Status>(absl::DeadlineExceededError("no answer"));
    v1::DeleteAppRequest request;
    request.set_app(kApp);
    cluster_.control(kControl)->controller().operations().DeleteApp(
        request, [heard](const auto& response) { *heard = response.status(); }, std::move(wanted));
    RunFor(patience);
    return *heard;
  }
  bool Exists() { return cluster_.store.tree().Get(Paths(kCell).spec(AppName(kApp))).ok(); }

  Checkers checkers_;
  Cluster cluster_{SmallCluster(1, 1, Seconds(4)), /*seed=*/7, checkers_, [](uint64_t, bool) {}};
  Operator operator_{cluster_, checkers_, PrimariesOnly()};
};

// Each moment of the recovery in turn: what a failed one still had out must find nobody.
TEST_F(RecoveryTest, ABreakAtAnyMomentOfItLeavesNothingBehind) {
  int moments = 0;
  for (bool reads = true; reads; ++moments) {
    cluster_.Terminate(kControl);
    cluster_.Start(kControl);
    while (!Leads()) RunFor(Milliseconds(1));
    RunFor(Milliseconds(moments));
    reads = Reads();
    cluster_.network.Cut(kControl, kStoreHost);
    cluster_.store.LookAtLinks();
    RunFor(Milliseconds(50));
    cluster_.network.Mend(kControl, kStoreHost);
    cluster_.store.LookAtLinks();
    RunFor(Seconds(15));
    ASSERT_EQ(checkers_.NotConverged(), "")
        << "after a break " << moments << " ms from the election";
  }
  EXPECT_GT(moments, 5) << "nothing was interrupted";
  EXPECT_EQ(checkers_.violation(), "");
}

// Found by a test with real processes: a leader that had not read its records said that there is no
// such server, and a drain of a rack left out the apps that it did not know yet.
TEST_F(RecoveryTest, ALeaderThatStillReadsItsRecordsSaysSoInsteadOfNoSuchServer) {
  cluster_.Terminate(kControl);
  cluster_.Start(kControl);
  while (!Leads()) RunFor(Milliseconds(1));
  v1::DrainRequest request;
  request.mutable_drain()->mutable_scope()->set_server(cluster_.servers()[0]);
  int unknown = 0;
  absl::Status heard = absl::UnavailableError("");
  while (absl::IsUnavailable(heard)) {
    ++unknown;
    bool answered = false;
    cluster_.control(kControl)->controller().operations().Drain(request,
                                                                [&](const auto& response) {
                                                                  answered = true;
                                                                  heard = response.status();
                                                                },
                                                                {});
    do RunFor(Milliseconds(1));
    while (!answered);
  }
  EXPECT_TRUE(heard.ok() || absl::IsDeadlineExceeded(heard)) << heard;
  EXPECT_GT(unknown, 1) << "it knew at once";
  RunFor(Seconds(1));
}

TEST_F(RecoveryTest, ADrainSaysWhichAppsItConcerns) {
  v1::DrainRequest request;
  request.mutable_drain()->mutable_scope()->set_server(cluster_.servers()[0]);
  v1::DrainResponse heard;
  cluster_.control(kControl)->controller().operations().Drain(request,
                                                              [&heard](const auto& response) {
                                                                if (response.ok())
                                                                  heard = *response;
                                                              });
  RunFor(Seconds(1));
  ASSERT_EQ(heard.apps_size(), 1);
  EXPECT_EQ(heard.apps(0).app(), kApp);
  EXPECT_EQ(heard.apps(0).servers(), 1u);
  EXPECT_GT(heard.apps(0).replicas(), 0u);
}

// Finding 16 of the attack: what was reported as failed happened when the store was back.
TEST_F(RecoveryTest, AChangeThatIsAskedForWhileTheStoreIsAwayNeverHappens) {
  cluster_.store.StopStore();
  RunFor(Milliseconds(200));
  ASSERT_TRUE(Leads()) << "its lease runs";
  const absl::Status refused = DeleteNow({}, Milliseconds(2'300));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("nothing was changed"));
  EXPECT_THAT(refused.message(), HasSubstr("ZooKeeper"));
  RunFor(Seconds(20));
  cluster_.store.StartStore();
  RunFor(Seconds(20));
  EXPECT_TRUE(Exists());
  EXPECT_EQ(checkers_.NotConverged(), "");
}

// Found by the bench of upgrades: a drain failed whenever ZooKeeper paused for a moment.
TEST_F(RecoveryTest, AChangeWaitsForAConnectionThatComesBackSoon) {
  cluster_.store.StopStore();
  RunFor(Milliseconds(200));
  ASSERT_TRUE(Leads());
  bool acknowledged = false;
  Delete(&acknowledged);
  RunFor(Milliseconds(1'000));
  EXPECT_FALSE(acknowledged);
  cluster_.store.StartStore();
  RunFor(Milliseconds(900));
  EXPECT_TRUE(acknowledged);
  RunFor(Seconds(20));
  EXPECT_FALSE(Exists());
}

// The same bench: with a longer pause the lease had lapsed, too, and the drain was refused at once.
TEST_F(RecoveryTest, AChangeWaitsForALeaseThatIsRenewedSoon) {
  cluster_.store.StopStore();
  while (Leads()) RunFor(Milliseconds(10));
  bool acknowledged = false;
  Delete(&acknowledged);
  RunFor(Milliseconds(500));
  EXPECT_FALSE(acknowledged);
  cluster_.store.StartStore();
  RunFor(Milliseconds(1'400));
  EXPECT_TRUE(acknowledged);
}

TEST_F(RecoveryTest, AChangeThatNobodyWaitsForIsNotBegun) {
  EXPECT_EQ(DeleteNow([] { return false; }).code(), absl::StatusCode::kCancelled);
  RunFor(Seconds(20));
  EXPECT_TRUE(Exists());
  EXPECT_TRUE(DeleteNow([] { return true; }).ok());
  RunFor(Seconds(20));
  EXPECT_FALSE(Exists());
}

TEST_F(RecoveryTest, ADeletedAppLeavesNoAssignmentBehind) {
  const auto records = [this] {
    const std::vector<std::string>& servers = cluster_.servers();
    return std::count_if(servers.begin(), servers.end(), [this](const std::string& server) {
      const std::string path =
          Paths(kCell).assignment(AppName(kApp), ServerName(server), cluster_.buckets());
      return cluster_.store.tree().Get(path).ok();
    });
  };
  ASSERT_EQ(records(), 3);
  EXPECT_TRUE(DeleteNow().ok());
  RunFor(Seconds(20));
  EXPECT_FALSE(Exists());
  EXPECT_EQ(records(), 0);
}

// Finding 7 of the attack: a break while the records were listed ended the deletion half way.
TEST_F(RecoveryTest, ABreakAtAnyMomentOfADeletionDoesNotEndIt) {
  int moments = 0;
  for (bool exists = true; exists; ++moments) {
    bool acknowledged = false;
    Delete(&acknowledged);
    RunFor(moments * Milliseconds(1) / 5);
    exists = Exists();
    cluster_.store.StopStore();
    RunFor(Milliseconds(50));
    cluster_.store.StartStore();
    RunFor(Seconds(30));
    ASSERT_EQ(Exists(), !acknowledged)
        << "after a break " << moments << " fifths of a ms from the request";
    operator_.ApplyUntilAcknowledged();
    RunFor(Seconds(20));
    ASSERT_EQ(checkers_.NotConverged(), "");
  }
  EXPECT_GT(moments, 5) << "nothing was interrupted";
}

}  // namespace
}  // namespace shardmanager::simulation
