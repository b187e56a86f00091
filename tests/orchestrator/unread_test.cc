// Servers whose records cannot be read: what they may hold is given to nobody else, and
// all the others go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Three servers with four shards each.
class UnreadTest : public ::testing::Test {
 protected:
  UnreadTest() : UnreadTest(TestSpec(12)) {}
  explicit UnreadTest(const v1::AppSpec& spec) : world_(spec) {
    world_.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world_.Join(name);
    world_.Advance(Seconds(30));
    for (const auto& [shard, held] : world_.servers.at("kv-0").held) shards_.push_back(shard);
  }

  // A new leader finds the record of kv-0 damaged.
  void RestartWithDamage() {
    world_.servers.at("kv-0").record_damaged = true;
    world_.Restart();
    world_.commands.clear();
    world_.notes.clear();
  }
  // A new leader finds that kv-1 hands its first shard over to two servers. Returns the shard.
  std::string TwoHandovers(Phase old_owner, const char* newer, const char* older) {
    StoredReplica& owned = world_.servers.at("kv-1").record.at(0);
    owned.phase = old_owner;
    const std::string shard = owned.shard;
    const auto prepares = [&](const char* server, uint64_t epoch) {
      world_.servers.at(server).record.push_back(
          {shard, Role::kPrimary, ShardEpoch(uint64_t{9} << 32 | epoch), Phase::kPreparing});
    };
    prepares(older, 500);
    prepares(newer, 501);
    world_.Restart();
    world_.commands.clear();
    world_.Advance(Seconds(5));
    return shard;
  }
  std::vector<std::string> Commanded() {
    std::vector<std::string> found;
    for (const std::string& command : world_.commands) {
      if (command.find("kv-0") != std::string::npos) found.push_back(command);
    }
    return found;
  }

  World world_;
  std::vector<std::string> shards_;  // that kv-0 holds
};

TEST_F(UnreadTest, ALiveServerServesOnAndIsCommandedNothing) {
  ASSERT_THAT(shards_, SizeIs(4));
  RestartWithDamage();
  world_.Advance(Seconds(2 * 60));
  EXPECT_EQ(world_.Served(), 12u) << "clients find its shards by what it reports";
  EXPECT_THAT(Commanded(), IsEmpty());
  for (const std::string& shard : shards_) EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-0"));
}

TEST_F(UnreadTest, NobodyElseGetsItsShardsWhenItIsLost) {
  RestartWithDamage();
  world_.Die("kv-0");
  world_.Advance(Seconds(10 * 60));
  for (const std::string& shard : shards_) {
    EXPECT_THAT(world_.Holders(shard), IsEmpty());
    EXPECT_THAT(
        world_.WaitsOf(shard),
        ElementsAre("it may be on kv-0, whose assignment record cannot be read: until that is "
                    "mended or released, nobody else gets it"));
  }
  EXPECT_EQ(world_.NoteCount(NoteKind::kFailoverStarted), 0u);
}

// The other party of a handover may be the one whose record cannot be read.
TEST_F(UnreadTest, APartyOfAHandoverIsGrantedNothingWhileTheOtherMayServe) {
  for (Phase phase : {Phase::kPreparing, Phase::kForwarding, Phase::kDropping}) {
    SCOPED_TRACE(ToString(phase));
    const std::string& shard = shards_.at(0);
    auto& record = world_.servers.at("kv-1").record;
    record.push_back({shard, Role::kPrimary, ShardEpoch(uint64_t{9} << 32), phase});
    RestartWithDamage();
    world_.Advance(Seconds(60));
    EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-0"));
    std::erase_if(record, [&](const StoredReplica& r) { return r.shard == shard; });
  }
}

TEST_F(UnreadTest, ADeadServersShardsWaitThroughARecovery) {
  world_.servers.at("kv-0").live = false;  // while nobody led
  world_.servers.at("kv-0").held.clear();
  RestartWithDamage();
  world_.Advance(Seconds(10 * 60));
  for (const std::string& shard : shards_) EXPECT_THAT(world_.Holders(shard), IsEmpty());
  EXPECT_EQ(world_.Served(), 8u);
  // Its next life reads nothing, so it serves nothing, and is told nothing.
  world_.Join("kv-0");
  world_.Advance(Seconds(10 * 60));
  EXPECT_EQ(world_.Served(), 8u);
  EXPECT_THAT(Commanded(), IsEmpty());
}

TEST_F(UnreadTest, TheOthersFailOverToEachOtherButNotToIt) {
  RestartWithDamage();
  world_.Die("kv-1");
  world_.Advance(Seconds(2 * 60));
  EXPECT_EQ(world_.Served(), 12u);
  EXPECT_EQ(world_.Counts().at("kv-2"), 8u);
  EXPECT_EQ(world_.Counts().at("kv-0"), 4u);
  EXPECT_THAT(Commanded(), IsEmpty());
}

TEST_F(UnreadTest, BalanceNeitherFillsNorEmptiesIt) {
  RestartWithDamage();
  world_.Join("kv-3");
  world_.Join("kv-4");
  world_.Advance(Seconds(5 * 60));
  EXPECT_THAT(Commanded(), IsEmpty());
  EXPECT_EQ(world_.Counts().at("kv-0"), 4u);
  EXPECT_GT(world_.Counts().at("kv-3"), 0u) << "the others are balanced";
  EXPECT_GT(world_.Counts().at("kv-4"), 0u);
}

// {kv-0: dropping, kv-1: reserved}, and kv-0's record is damaged: kv-0 may serve still.
TEST_F(UnreadTest, AReservedPrimaryIsNotGrantedWhileTheOldOneCannotBeRead) {
  const std::string shard = shards_[0];
  auto& kv0 = world_.servers.at("kv-0").record;
  for (StoredReplica& r : kv0) {
    if (r.shard == shard) r.phase = Phase::kDropping;
  }
  world_.servers.at("kv-1").record.push_back(
      {shard, Role::kPrimary, ShardEpoch(uint64_t{1} << 32 | 500), Phase::kReserved});
  RestartWithDamage();
  world_.Advance(Seconds(2 * 60));
  EXPECT_THAT(world_.Holders(shard), Not(Contains("kv-1")));
  EXPECT_THAT(world_.commands, Not(Contains(absl::StrCat("add ", shard, " kv-1"))));
}

// The other way round: the record that says who has the right can be read.
TEST_F(UnreadTest, AMoveAwayFromAServerThatCanBeReadIsFinished) {
  auto& kv1 = world_.servers.at("kv-1").record;
  const std::string shard = kv1.at(0).shard;
  kv1.at(0).phase = Phase::kDropping;
  world_.servers.at("kv-2").record.push_back(
      {shard, Role::kPrimary, ShardEpoch(uint64_t{1} << 32 | 500), Phase::kReserved});
  RestartWithDamage();
  world_.Advance(Seconds(2 * 60));
  EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-2"));
}

// kv-1 hands a shard over to kv-0, whose record cannot be read then; so the next leader hands it
// over to kv-2; and both are preparing once kv-0's record can be read again.
TEST_F(UnreadTest, OfTwoHandoversOfAShardTheNewerOneGoesOn) {
  for (Phase old_owner : {Phase::kGranted, Phase::kForwarding}) {
    SCOPED_TRACE(ToString(old_owner));
    const std::string shard = TwoHandovers(old_owner, /*newer=*/"kv-2", /*older=*/"kv-0");
    EXPECT_THAT(world_.commands, Not(Contains(absl::StrCat("add ", shard, " kv-0"))));
    EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-2"));
    EXPECT_EQ(world_.Served(), 12u);
  }
}

TEST_F(UnreadTest, OfTwoHandoversTheOrderOfTheServersDoesNotDecide) {
  const std::string shard = TwoHandovers(Phase::kGranted, /*newer=*/"kv-0", /*older=*/"kv-2");
  EXPECT_THAT(world_.commands, Not(Contains(absl::StrCat("add ", shard, " kv-2"))));
  EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-0"));
}

TEST_F(UnreadTest, AShardThatComesBackIntoTheSpecWaitsToo) {
  v1::AppSpec fewer = TestSpec(11);
  fewer.mutable_key_space()->mutable_shards(0)->set_id("other");
  RestartWithDamage();
  world_.Apply(fewer);
  world_.Advance(Seconds(1 * 60));
  world_.Apply(TestSpec(12));
  world_.Die("kv-0");
  world_.Advance(Seconds(5 * 60));
  for (const std::string& shard : shards_) EXPECT_THAT(world_.Holders(shard), IsEmpty());
}

TEST_F(UnreadTest, ADeletedAppIsNotEmptyWhileARecordCannotBeRead) {
  RestartWithDamage();
  world_.Apply(TestSpec(12), /*deleting=*/true);
  world_.Advance(Seconds(5 * 60));
  EXPECT_FALSE(world_.emptied);
  EXPECT_THAT(world_.Holders(shards_[0]), ElementsAre("kv-0"));
}

TEST_F(UnreadTest, AChangeOfStrategyDoesNotWriteIt) {
  RestartWithDamage();
  world_.Apply(TestSpec(12, v1::SECONDARY_ONLY, 2));
  world_.Advance(Seconds(5 * 60));
  EXPECT_THAT(Commanded(), IsEmpty());
}

TEST_F(UnreadTest, OnceItIsReleasedAllIsServedAgain) {
  RestartWithDamage();
  world_.Die("kv-0");
  world_.Advance(Seconds(1 * 60));
  world_.servers.at("kv-0").record_damaged = false;
  world_.servers.at("kv-0").record.clear();  // what a release does
  world_.Restart();
  world_.Advance(Seconds(1 * 60));
  EXPECT_EQ(world_.Served(), 12u);
}

class UnreadSecondariesTest : public UnreadTest {
 protected:
  UnreadSecondariesTest() : UnreadTest(TestSpec(12, v1::SECONDARY_ONLY, 2)) {}
};

// A copy too many harms nobody; one too few may.
TEST_F(UnreadSecondariesTest, SecondariesAreMadeAnewElsewhere) {
  RestartWithDamage();
  world_.Advance(Seconds(2 * 60));
  EXPECT_EQ(world_.Served(), 12u);
  EXPECT_THAT(Commanded(), IsEmpty());
  EXPECT_EQ(world_.Counts().at("kv-1"), 12u);
}

// A secondary elsewhere does not tell who is the primary.
TEST(UnreadRolesTest, NobodyIsPromotedWhileThePrimaryMayBeOnAServerThatCannotBeRead) {
  World world(TestSpec(1, v1::PRIMARY_SECONDARY, 2));
  world.Start();
  world.Join("kv-0");
  world.Gather();
  world.Join("kv-1");
  world.Advance(Seconds(30));
  ASSERT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  world.servers.at("kv-0").record_damaged = true;
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1"));
  world.Die("kv-0");
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-1"));
}

// kv-0 is the primary, kv-1 and kv-2 are in step with it; the record of kv-2 is damaged.
class UnreadMemberTest : public ::testing::Test {
 protected:
  UnreadMemberTest() : world_(TestSpec(1, v1::PRIMARY_SECONDARY, 3)) {
    world_.Start();
    world_.Join("kv-0");
    world_.Gather();
    for (const char* name : {"kv-1", "kv-2"}) world_.Join(name);
    world_.Advance(Seconds(30));
    EXPECT_THAT(world_.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
    EXPECT_THAT(Members(), ElementsAre("kv-0", "kv-1", "kv-2"));
    world_.servers.at("kv-2").record_damaged = true;
  }
  std::vector<std::string> Members() {
    std::vector<std::string> names;
    for (const auto& [name, life] : world_.members["s-0"]) names.push_back(name);
    return names;
  }

  World world_;
};

// When its record can be read again, it counts as in step.
TEST_F(UnreadMemberTest, PrimariesGoOnCountingOnIt) {
  world_.Restart();
  world_.Advance(Seconds(60));
  EXPECT_THAT(Members(), ElementsAre("kv-0", "kv-1", "kv-2"));
  world_.Die("kv-0");
  world_.Advance(Seconds(60));
  EXPECT_THAT(world_.Roles("s-0"), ElementsAre("kv-1*", "kv-2"));
  EXPECT_THAT(Members(), ElementsAre("kv-1", "kv-2"));
}

TEST_F(UnreadMemberTest, ItsNextLifeIsNoMember) {
  world_.Restart();
  world_.Advance(Seconds(60));
  world_.Die("kv-2");
  world_.Advance(Seconds(60));
  EXPECT_THAT(Members(), ElementsAre("kv-0", "kv-1"));
  world_.Join("kv-2");
  world_.Advance(Seconds(60));
  EXPECT_THAT(Members(), ElementsAre("kv-0", "kv-1"));
}

TEST_F(UnreadMemberTest, NobodyIsPromotedBeforeItHasReported) {
  world_.servers.at("kv-2").answers = false;
  world_.Restart();
  world_.Die("kv-0");
  world_.Advance(Seconds(60));
  EXPECT_THAT(world_.Roles("s-0"), ElementsAre("kv-1", "kv-2"));
  EXPECT_THAT(world_.WaitsOf("s-0"),
              ElementsAre(testing::StartsWith("a secondary that is in step may be on kv-2")));
  world_.servers.at("kv-2").answers = true;
  world_.Advance(Seconds(60));
  EXPECT_THAT(world_.Roles("s-0"), ElementsAre("kv-1*", "kv-2"));
  EXPECT_THAT(Members(), ElementsAre("kv-1", "kv-2"));
}

TEST_F(UnreadMemberTest, OneThatDiesBeforeItReportsIsNotWaitedFor) {
  world_.servers.at("kv-2").answers = false;
  world_.Restart();
  world_.Die("kv-0");
  world_.Advance(Seconds(10));
  world_.Die("kv-2");
  world_.Advance(Seconds(60));
  EXPECT_THAT(world_.Roles("s-0"), ElementsAre("kv-1*"));
}

TEST_F(UnreadTest, AServerWhoseLifeCannotBeReadIsAliveAndIsLeftAlone) {
  world_.servers.at("kv-0").life_damaged = true;
  world_.Restart();
  world_.commands.clear();
  world_.Join("kv-3");
  world_.Advance(Seconds(10 * 60));
  EXPECT_THAT(Commanded(), IsEmpty());
  for (const std::string& shard : shards_) {
    EXPECT_THAT(world_.Holders(shard), ElementsAre("kv-0")) << "it holds its lease: no failover";
  }
  // The next life says where it is.
  world_.Die("kv-0");
  world_.servers.at("kv-0").life_damaged = false;
  world_.Join("kv-0");
  world_.Advance(Seconds(1 * 60));
  EXPECT_EQ(world_.Served(), 12u);
}

TEST_F(UnreadTest, AServerWhoseLifeCannotBeReadIsFailedOverWhenItIsLost) {
  world_.servers.at("kv-0").life_damaged = true;
  world_.Restart();
  world_.Die("kv-0");
  world_.Advance(Seconds(2 * 60));
  EXPECT_EQ(world_.Served(), 12u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
