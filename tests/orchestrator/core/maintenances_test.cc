// Planned events that nobody can refuse: what leaves their servers before, and what is waited for.
#include "orchestrator/describe/maintenances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/roles/roles_fixture.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int64_t kNowMs = 1'772'366'400'000;

// Preparations take a minute, failovers wait for 5 s. Replicas are spread over datacenters.
v1::AppSpec Spec(v1::AppSpec spec) {
  spec.mutable_drain()->set_prepare_ms(60'000);
  spec.mutable_failover()->set_delay_ms(5'000);
  spec.mutable_placement()->set_spread(v1::DATACENTER);
  return spec;
}

FaultDomain In(const std::string& datacenter) { return {"r1", datacenter, ""}; }

// Two servers in each of three datacenters.
class MaintenanceTest : public ::testing::Test {
 protected:
  explicit MaintenanceTest(v1::AppSpec with = Spec(Both(6, 3)))
      : spec(std::move(with)), world(spec) {
    world.Start();
    for (int i = 0; i < 6; ++i) world.JoinAt(absl::StrCat("kv-", i), In(Datacenter(i)));
    world.Advance(Seconds(60));
    world.notes.clear();
    world.commands.clear();
  }
  static std::string Datacenter(int server) { return absl::StrCat("d", server / 2); }

  // Of d0, which has kv-0 and kv-1.
  PlannedMaintenance Of(v1::MaintenanceImpact impact, Duration begins_in, Duration length) const {
    v1::Maintenance notice;
    notice.set_id("change-1");
    notice.set_reason("switches");
    notice.mutable_scope()->mutable_domain()->set_region("r1");
    notice.mutable_scope()->mutable_domain()->set_datacenter("d0");
    notice.set_impact(impact);
    notice.set_start_ms(kNowMs + begins_in / Milliseconds(1));
    notice.set_end_ms(notice.start_ms() + length / Milliseconds(1));
    return OnClock(notice, world.now, kNowMs);
  }
  void Notify(std::vector<PlannedMaintenance> maintenances) {
    world.ordered.maintenances = std::move(maintenances);
    world.Apply(spec);
  }
  // A fourth datacenter: what is given up in d0 has another place.
  void JoinSpareServers() {
    world.JoinAt("kv-6", In("d3"));
    world.JoinAt("kv-7", In("d3"));
    world.Advance(Seconds(60));
    world.commands.clear();
  }
  void GoDown() {
    world.Die("kv-0");
    world.Die("kv-1");
  }
  void ComeBack() {
    world.JoinAt("kv-0", In("d0"));
    world.JoinAt("kv-1", In("d0"));
  }
  size_t PrimariesInD0() const {
    size_t primaries = 0;
    for (int i = 0; i < 6; ++i) {
      for (const std::string& name : world.Roles(absl::StrCat("s-", i))) {
        primaries += name == "kv-0*" || name == "kv-1*";
      }
    }
    return primaries;
  }
  // Of the newest note of the kind; empty: there is none.
  std::string Detail(NoteKind kind) const {
    std::string detail;
    for (const Note& note : world.notes) {
      if (note.kind == kind) detail = note.detail;
    }
    return detail;
  }
  v1::MaintenanceStatus Status() {
    const auto all = DescribeMaintenances(world.partition().state(), world.now, "");
    return all.empty() ? v1::MaintenanceStatus() : all.front();
  }
  std::string State() { return Status().state(); }
  // Why each shard is hit that the list names.
  std::vector<std::string> Hits() {
    const v1::MaintenanceStatus status = Status();
    std::vector<std::string> hits;
    for (const v1::MaintenanceHit& hit : status.hits()) hits.push_back(hit.why());
    return hits;
  }

  const v1::AppSpec spec;
  World world;
};

TEST_F(MaintenanceTest, PrimariesGoBeforeItBeginsAndSecondariesStay) {
  ASSERT_GT(PrimariesInD0(), 0U);
  Notify({Of(v1::NETWORK_LOSS, Seconds(100), Seconds(300))});
  world.Advance(Seconds(39));
  EXPECT_THAT(world.commands, IsEmpty()) << "not before it is time to prepare";
  EXPECT_EQ(State(), "ahead");
  world.Advance(Seconds(60));
  EXPECT_EQ(PrimariesInD0(), 0U);
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-1"), 6U);
  EXPECT_EQ(State(), "ready");
  EXPECT_THAT(Hits(), IsEmpty());
  EXPECT_EQ(world.DrainState("kv-0").second,
            "no primaries left; its secondaries stay (maintenance change-1 (switches) begins in "
            "1 s)");
}

TEST_F(MaintenanceTest, AShardThatIsPinnedThereIsNamedAmongTheHits) {
  for (int i = 0; i < 6; ++i) {
    world.ordered.pins.emplace_back().set_shard(absl::StrCat("s-", i));
  }
  const size_t primaries = PrimariesInD0();
  ASSERT_GT(primaries, 0U);
  Notify({Of(v1::NETWORK_LOSS, Seconds(60), Seconds(120))});
  world.Advance(Seconds(59));
  EXPECT_EQ(PrimariesInD0(), primaries);
  EXPECT_EQ(Hits().size(), primaries);
  EXPECT_THAT(Status().hits(0).shard(), StartsWith("s-"));
  EXPECT_THAT(Hits(), Each(HasSubstr("before `shardctl unpin shard`")));
}

TEST_F(MaintenanceTest, WhatIsAwayAsPlannedIsNotGivenUp) {
  JoinSpareServers();
  Notify({Of(v1::NETWORK_LOSS, Seconds(100), Seconds(300))});
  world.Advance(Seconds(100));
  world.commands.clear();
  GoDown();
  world.Advance(Seconds(290));
  EXPECT_THAT(world.commands, Each(Not(StartsWith("add ")))) << "nobody takes over what they have";
  EXPECT_THAT(Detail(NoteKind::kMaintenanceHits), IsEmpty());
  EXPECT_THAT(DescribeServers(world.partition().state(), world.now, "kv-0").at(0).reason(),
              EndsWith("maintenance change-1 (switches) is under way for another 10 s"));
  ComeBack();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 6U);
  EXPECT_EQ(State(), "over");
  EXPECT_EQ(Detail(NoteKind::kMaintenanceOver), "maintenance change-1 (switches) is over");
}

TEST_F(MaintenanceTest, WhatDoesNotComeBackIsReplaced) {
  Notify({Of(v1::RUNTIME_STATE_LOSS, Seconds(100), Seconds(300))});
  world.Advance(Seconds(100));
  world.Die("kv-0");
  world.commands.clear();
  world.Advance(Seconds(304));
  EXPECT_THAT(world.commands, Each(Not(StartsWith("add ")))) << "it has failover.delay_ms";
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 6U);
  EXPECT_EQ(world.Counts().at("kv-1"), 6U);
}

TEST_F(MaintenanceTest, WhatFailsBeforeItIsPreparedForIsReplacedAtOnce) {
  Notify({Of(v1::NETWORK_LOSS, Seconds(100), Seconds(300))});
  world.Die("kv-0");
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Served(), 6U);
  EXPECT_EQ(world.Counts().at("kv-1"), 6U);
}

TEST_F(MaintenanceTest, ANewLeaderWaitsForServersThatWereDownBeforeItCame) {
  JoinSpareServers();
  Notify({Of(v1::NETWORK_LOSS, Seconds(100), Seconds(300))});
  world.Advance(Seconds(100));
  GoDown();
  world.Advance(Seconds(2));
  world.Restart();
  world.commands.clear();
  world.Advance(Seconds(280));
  EXPECT_THAT(world.commands, Each(Not(StartsWith("add ")))) << "it knows where they stood";
  ComeBack();
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 6U);
}

TEST_F(MaintenanceTest, AServerThatJoinsThereMeanwhileIsGivenNothing) {
  Notify({Of(v1::NETWORK_LOSS, Seconds(30), Seconds(300))});
  world.JoinAt("kv-6", In("d0"));
  world.Advance(Seconds(120));
  EXPECT_FALSE(world.Counts().contains("kv-6") && world.Counts().at("kv-6") > 0);
  EXPECT_THAT(world.DrainState("kv-6").second,
              HasSubstr("maintenance change-1 (switches) is under way for another 210 s"));
}

TEST_F(MaintenanceTest, OneThatIsCancelledAsksNothing) {
  Notify({Of(v1::NETWORK_LOSS, Seconds(100), Seconds(300))});
  world.Advance(Seconds(60));
  Notify({});
  EXPECT_EQ(Detail(NoteKind::kMaintenanceCancelled), "maintenance change-1 (switches)");
  world.Die("kv-0");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.Served(), 6U) << "it has failed, and is replaced";
}

TEST_F(MaintenanceTest, OneThatIsExtendedIsWaitedForLonger) {
  JoinSpareServers();
  const PlannedMaintenance maintenance = Of(v1::NETWORK_LOSS, Seconds(60), Seconds(100));
  Notify({maintenance});
  world.Advance(Seconds(61));
  world.commands.clear();
  GoDown();
  world.Advance(Seconds(90));
  PlannedMaintenance longer = maintenance;
  longer.end += Seconds(300);
  longer.notice.set_end_ms(longer.notice.end_ms() + 300'000);
  Notify({longer});
  EXPECT_EQ(world.NoteCount(NoteKind::kMaintenanceNotified), 2U);
  world.Advance(Seconds(300));
  EXPECT_THAT(world.commands, Each(Not(StartsWith("add "))));
}

TEST_F(MaintenanceTest, ALateNoticeIsPreparedForAtOnceAndSaysWhatItHits) {
  Notify({Of(v1::NETWORK_LOSS, -Seconds(10), Seconds(300))});
  EXPECT_THAT(Detail(NoteKind::kMaintenanceHits),
              StartsWith("maintenance change-1 (switches) has begun, and hits "));
  world.Advance(Seconds(60));
  EXPECT_EQ(PrimariesInD0(), 0U);
  EXPECT_THAT(Hits(), IsEmpty()) << "not any more";
}

TEST_F(MaintenanceTest, OfTwoThatOverlapBothHold) {
  JoinSpareServers();
  PlannedMaintenance longer = Of(v1::NETWORK_LOSS, Seconds(100), Seconds(600));
  longer.notice.set_id("change-2");
  Notify({Of(v1::RUNTIME_STATE_LOSS, Seconds(60), Seconds(100)), longer});
  world.Advance(Seconds(70));
  GoDown();
  world.commands.clear();
  world.Advance(Seconds(500));
  EXPECT_THAT(world.commands, Each(Not(StartsWith("add "))));
}

TEST_F(MaintenanceTest, MachinesThatAreLostAreEmptiedAndNotWaitedFor) {
  JoinSpareServers();
  Notify({Of(v1::MACHINE_LOSS, Seconds(100), Seconds(86'400))});
  world.Advance(Seconds(100));
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-1"), 0U);
  EXPECT_EQ(world.Served(), 6U);
  EXPECT_EQ(State(), "under-way");
  GoDown();
  world.commands.clear();
  world.Advance(Seconds(60));
  EXPECT_THAT(world.commands, IsEmpty());
}

TEST_F(MaintenanceTest, WhatHasNoOtherPlaceStaysAndIsNamed) {
  Notify({Of(v1::MACHINE_LOSS, Seconds(60), Seconds(86'400))});
  world.Advance(Seconds(59));
  EXPECT_THAT(Hits(), Each(AllOf(StartsWith("a replica is still on kv-"),
                                 HasSubstr("no other server may take it, see `shardctl explain "
                                           "kv s-"))))
      << "two replicas of a shard are never in one datacenter";
  EXPECT_EQ(Hits().size(), 6U);
}

TEST_F(MaintenanceTest, WhatCannotBePreparedForIsToldBeforeItBegins) {
  for (const char* name : {"kv-2", "kv-3", "kv-4", "kv-5"})
    world.servers[name].stays_primary = true;
  for (const char* name : {"kv-2", "kv-3", "kv-4", "kv-5"}) world.servers[name].sick = true;
  ASSERT_GT(PrimariesInD0(), 0U);
  Notify({Of(v1::NETWORK_LOSS, Seconds(60), Seconds(300))});
  world.Advance(Seconds(44));
  EXPECT_EQ(world.NoteCount(NoteKind::kMaintenanceHits), 0U);
  world.Advance(Seconds(2));
  EXPECT_THAT(Detail(NoteKind::kMaintenanceHits), AllOf(HasSubstr("is about to begin, and hits "),
                                                        HasSubstr("its primary is still on kv-")));
  EXPECT_THAT(
      DescribeApp(world.partition().state(), world.now).conditions(),
      Contains(AllOf(StartsWith("maintenance change-1 (switches) begins in 14 s, and hits "),
                     EndsWith("see `shardctl maintenance list change-1`"))));
  EXPECT_THAT(Hits(), Contains(HasSubstr("its primary is still on kv-")));
}

TEST_F(MaintenanceTest, AShardThatHasTooFewReplicasElsewhereIsHit) {
  world.Die("kv-2");
  world.Die("kv-3");
  world.Advance(Seconds(1));
  Notify({Of(v1::NETWORK_LOSS, -Seconds(1), Seconds(300))});
  EXPECT_EQ(Status().shards_hit(), 6U);
  EXPECT_THAT(Hits(), Contains(HasSubstr("elsewhere 1 replica of at least 2 serve")));
}

TEST_F(MaintenanceTest, APausedAppIsLeftAsItIsAndTheHitsSayWhy) {
  world.ordered.pause.emplace().set_who("jo");
  Notify({Of(v1::NETWORK_LOSS, Seconds(30), Seconds(300))});
  world.Advance(Seconds(29));
  EXPECT_THAT(world.commands, IsEmpty());
  EXPECT_THAT(Hits(), Contains(HasSubstr("paused")));
}

class LonePrimariesTest : public MaintenanceTest {
 protected:
  LonePrimariesTest() : MaintenanceTest(Spec(TestSpec(6))) {}
};

TEST_F(LonePrimariesTest, AllLeaveAndComeBackAfterwards) {
  ASSERT_GT(PrimariesInD0(), 0U);
  Notify({Of(v1::NETWORK_LOSS, Seconds(60), Seconds(100))});
  world.Advance(Seconds(59));
  EXPECT_EQ(world.Counts().at("kv-0") + world.Counts().at("kv-1"), 0U);
  EXPECT_EQ(world.Served(), 6U);
  EXPECT_THAT(world.DrainState("kv-0"),
              ::testing::Pair("drained", "empty (maintenance change-1 (switches) begins in 1 s)"));
  world.Advance(Seconds(200));
  EXPECT_EQ(world.Counts().at("kv-0"), 1U);
  EXPECT_EQ(world.Counts().at("kv-1"), 1U);
}

// What remained there is not waited for: it should have left.
TEST_F(LonePrimariesTest, WhatCouldNotLeaveInTimeIsFailedOver) {
  Notify({Of(v1::NETWORK_LOSS, -Seconds(1), Seconds(300))});
  GoDown();
  world.Advance(Seconds(20));
  EXPECT_EQ(world.Served(), 6U);
}

}  // namespace
}  // namespace shardmanager::orchestrator
