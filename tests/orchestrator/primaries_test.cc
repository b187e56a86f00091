// Apps with primaries and secondaries: when the primary of a shard changes, and when it must not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

v1::Drain PrimariesOf(const std::string& server) {
  v1::Drain drain;
  drain.mutable_scope()->set_server(server);
  drain.set_primaries_only(true);
  return drain;
}

// Four shards on two servers; one primary at a time may leave a server for a drain. All primaries
// are at kv-0.
class PrimariesTest : public testing::Test {
 protected:
  PrimariesTest() : spec(Spec()), world(spec) {
    world.Start();
    world.Join("kv-0");
    world.Join("kv-1");
    world.Advance(Seconds(60));
    Drain("kv-1");
    world.Advance(Seconds(60));
    for (int i = 0; i < kShards; ++i) {
      EXPECT_THAT(world.Roles(absl::StrCat("s-", i)), ElementsAre("kv-0*", "kv-1"));
    }
    world.commands.clear();
  }
  static v1::AppSpec Spec() {
    v1::AppSpec spec = TestSpec(kShards, v1::PRIMARY_SECONDARY, 2);
    spec.mutable_moves()->mutable_drain()->set_max_concurrent(1);
    spec.mutable_failover()->set_delay_ms(600'000);
    return spec;
  }
  void Drain(const std::string& server) {
    world.ordered.drains = {PrimariesOf(server)};
    world.Apply(spec);
  }
  // What was asked for, each once: "change-role s-0 kv-0".
  std::set<std::string> Changes() const {
    std::set<std::string> changes;
    for (const std::string& command : world.commands) {
      if (command.starts_with("change-role")) changes.insert(command);
    }
    return changes;
  }

  static constexpr int kShards = 4;
  const v1::AppSpec spec;
  World world;
};

TEST_F(PrimariesTest, ThoseThatWaitForOneAnotherChangeInTurnAndThenWaitNoMore) {
  Drain("kv-0");
  world.Advance(Seconds(20));
  EXPECT_THAT(world.DrainState("kv-0"), Pair("live", HasSubstr("no primaries left")));
  for (int i = 0; i < kShards; ++i) {
    EXPECT_THAT(world.Roles(absl::StrCat("s-", i)), ElementsAre("kv-0", "kv-1*"));
    EXPECT_THAT(world.WaitsOf(absl::StrCat("s-", i)), IsEmpty());
  }
}

TEST_F(PrimariesTest, NoMoreChangeAtOnceThanTheLimitAllows) {
  world.servers["kv-0"].answers = false;  // the first change stays under way
  Drain("kv-0");
  world.Advance(Seconds(20));
  EXPECT_THAT(Changes(), SizeIs(1));
}

TEST_F(PrimariesTest, UntilTheNewOneServesClientsAreSentToTheOldOneAlone) {
  world.servers["kv-1"].answers = false;
  Drain("kv-0");
  world.Advance(Seconds(1));
  for (int i = 0; i < kShards; ++i) {
    EXPECT_THAT(Changes(), Contains(absl::StrCat("change-role s-", i, " kv-1")));
    EXPECT_THAT(world.Published(absl::StrCat("s-", i)), ElementsAre("kv-0*"));
  }
}

// It would be stopped, and nobody could take over.
TEST_F(PrimariesTest, APrimaryThatIsToChangeServesOnWhenItsOnlySuccessorIsLost) {
  world.servers["kv-0"].answers = false;  // the first change stays under way, the others wait
  Drain("kv-0");
  world.Advance(Seconds(30));
  world.Die("kv-1");
  world.commands.clear();
  world.servers["kv-0"].answers = true;
  world.Advance(Seconds(20));
  EXPECT_THAT(Changes(), SizeIs(1)) << "the first one is called off, and no other one begins";
}

// It goes on in its role, in a new life: nobody was elected.
TEST_F(PrimariesTest, APrimaryThatComesBackAloneIsNotToldOfAsElected) {
  world.Die("kv-1");
  world.Advance(Seconds(1));
  world.notes.clear();
  world.Die("kv-0");
  world.Join("kv-0");
  world.Advance(Seconds(1));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*"));
  EXPECT_EQ(world.servers["kv-0"].record.front().member_life, 2u);
  EXPECT_EQ(world.NoteCount(NoteKind::kPrimaryElected), 0u);
}

// s-1 and s-2 wait behind s-0 for a drain that ends meanwhile: they are not to be waited for.
TEST(PrimariesInTurnTest, OneThatNeedNotChangeAnyMoreLetsTheNextOneGo) {
  v1::AppSpec spec = TestSpec(6, v1::PRIMARY_SECONDARY, 2);
  spec.mutable_moves()->mutable_drain()->set_max_concurrent(1);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(60));
  const auto drain = [&](std::vector<v1::Drain> drains) {
    world.ordered.drains = std::move(drains);
    world.Apply(spec);
  };
  const auto primaries_at = [&](const std::string& server) {
    std::vector<std::string> shards;
    for (int i = 0; i < 6; ++i) {
      if (world.Roles(absl::StrCat("s-", i))[0] == server + "*" ||
          world.Roles(absl::StrCat("s-", i))[1] == server + "*")
        shards.push_back(absl::StrCat("s-", i));
    }
    return shards;
  };
  drain({PrimariesOf("kv-1")});
  world.Advance(Seconds(60));
  drain({});
  world.Advance(Seconds(60));
  ASSERT_THAT(primaries_at("kv-1"), ElementsAre("s-0", "s-1", "s-2"));
  world.servers["kv-1"].answers = false;
  drain({PrimariesOf("kv-1")});
  world.Advance(Milliseconds(100));
  drain({});
  world.servers["kv-1"].answers = true;
  while (primaries_at("kv-0").size() < 4) world.Advance(Milliseconds(10));
  drain({PrimariesOf("kv-0")});
  world.Advance(Seconds(1));
  EXPECT_THAT(primaries_at("kv-0"), ElementsAre("s-0")) << "it has changed just now";
}

// Three replicas become two, and the one that is to go is the primary: seed 210 of the simulation,
// in which those that waited for one another woke one another for ever.
TEST(PrimariesInTurnTest, SurplusPrimariesThatWaitForOneAnotherChangeInTurn) {
  v1::AppSpec spec = TestSpec(9, v1::PRIMARY_SECONDARY, 3);
  spec.mutable_moves()->set_max_concurrent(1);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Join("kv-2");
  world.Advance(Seconds(120));
  spec.mutable_replication()->set_replicas(2);
  world.Apply(spec);
  world.Advance(Seconds(1));
  for (int i = 0; i < 9; ++i) EXPECT_THAT(world.Roles(absl::StrCat("s-", i)), SizeIs(2));
}

// The primary must not count on it any more before its data goes.
TEST(LeavingMemberTest, ASecondaryThatIsToBeDroppedIsWrittenDownAsNoMember) {
  const v1::AppSpec spec = TestSpec(1, v1::PRIMARY_SECONDARY, 2);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Advance(Seconds(30));
  world.Join("kv-2");
  world.Advance(Seconds(30));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  world.servers["kv-1"].answers = false;
  world.ordered.drains.emplace_back().mutable_scope()->set_server("kv-1");
  world.Apply(spec);
  world.Advance(Seconds(10));
  const std::vector<StoredReplica>& record = world.servers["kv-1"].record;
  ASSERT_THAT(record, SizeIs(1));
  EXPECT_EQ(record[0].phase, Phase::kDropping);
  EXPECT_EQ(record[0].member_life, 0u);
}

// Fewer replicas are wanted, and the only other one never came.
TEST(LostPrimaryTest, ItsRecordStaysUntilAnotherOneHasItsRole) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(10));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*"));
  world.servers["kv-1"].answers = false;
  world.Join("kv-1");
  world.Die("kv-0");
  world.Advance(Seconds(60));
  world.Apply(TestSpec(1, v1::PRIMARY_SECONDARY, 1));
  world.servers["kv-1"].answers = true;
  world.servers["kv-1"].sick = true;
  world.Join("kv-2");
  world.Advance(Seconds(120));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-2*"));
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 1u);
}

// It was not in step either, so it is no better than others.
TEST(LostPrimaryTest, OneElectedForWantOfABetterOneGivesWayIfItCannotTakeTheRole) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(10));
  world.servers.at("kv-0").cannot_bring = {"kv-1"};
  world.Join("kv-1");
  world.Advance(Milliseconds(300));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  world.servers.at("kv-1").sick = true;
  world.Die("kv-0");
  world.Join("kv-2");
  world.Advance(Seconds(180));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-2*"));
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 2u);
}

// It came back in another life while it was to become a secondary, and the one that was to be the
// primary is gone: what it has on disk is all that there is.
TEST(LostPrimaryTest, OneThatIsToBecomeASecondaryStaysIfNobodyElseIsThere) {
  v1::AppSpec spec = TestSpec(1, v1::PRIMARY_SECONDARY, 2);
  spec.mutable_failover()->set_delay_ms(600'000);
  World world(spec);
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  world.servers.at("kv-0").answers = false;
  world.Join("kv-0");  // seen before the end of the life before
  world.Die("kv-1");
  world.servers.at("kv-0").cannot_let_go = true;
  world.servers.at("kv-0").answers = true;
  world.Advance(Seconds(120));
  EXPECT_THAT(world.commands, Contains(HasSubstr("change-role s-0 kv-0")));
  EXPECT_THAT(world.commands, Not(Contains("drop s-0 kv-0")));
  EXPECT_THAT(world.Published("s-0"), ElementsAre("kv-0*"));
}

TEST(LostPrimaryTest, AShardThatNobodyCouldAddBeginsElsewhere) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 1));
  world.Start();
  world.servers["kv-0"].sick = true;
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-1*"));
}

}  // namespace
}  // namespace shardmanager::orchestrator
