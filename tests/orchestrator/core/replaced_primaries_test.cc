// Splits and merges of shards with a primary and secondaries: the primaries stop first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/orchestrator/core/replacements_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ReplacedPrimariesTest : public ReplacementsTest {
 protected:
  ReplacedPrimariesTest() : ReplacementsTest(RangedSpec(4, v1::PRIMARY_SECONDARY)) {
    world.Join("kv-2");
    world.Advance(Seconds(120));
  }
  // "kv-1*" is the primary.
  std::string PrimaryOf(const std::string& shard) const {
    for (const std::string& role : world.Roles(shard)) {
      if (role.back() == '*') return role.substr(0, role.size() - 1);
    }
    return "";
  }
  std::string SecondaryOf(const std::string& shard) const {
    for (const std::string& role : world.Roles(shard)) {
      if (role.back() != '*') return role;
    }
    return "";
  }
  size_t PlaceOf(const std::string& command) const {
    const auto found = std::find(world.commands.begin(), world.commands.end(), command);
    EXPECT_TRUE(found != world.commands.end()) << command;
    return static_cast<size_t>(found - world.commands.begin());
  }
};

TEST_F(ReplacedPrimariesTest, ThePrimaryStopsAndThenAllReplicasAreReplacedInTheirRoles) {
  const std::vector<std::string> roles = world.Roles("s-1");
  const std::string primary = PrimaryOf("s-1");
  const std::string secondary = SecondaryOf("s-1");
  world.commands.clear();
  Order({"s-1"}, {"bb"});
  EXPECT_EQ(world.Roles("s-1.0"), roles);
  EXPECT_EQ(world.Roles("s-1.1"), roles);
  EXPECT_THAT(world.Holders("s-1"), IsEmpty());
  EXPECT_LT(PlaceOf("change-role s-1 " + primary), PlaceOf("add s-1.0 " + primary));
  EXPECT_LT(PlaceOf("change-role s-1 " + primary), PlaceOf("add s-1.1 " + secondary));
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u);
}

TEST_F(ReplacedPrimariesTest, TheNewSecondariesAreInStepAtOnce) {
  const std::string primary = PrimaryOf("s-1");
  const std::string secondary = SecondaryOf("s-1");
  world.hold_adds = true;  // nobody has said that it serves
  Order({"s-1"}, {"bb"});
  world.hold_adds = false;
  world.Die(primary);
  world.FinishAdds();
  world.Advance(Seconds(5));
  EXPECT_EQ(PrimaryOf("s-1.0"), secondary);
  EXPECT_EQ(PrimaryOf("s-1.1"), secondary);
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u);
}

TEST_F(ReplacedPrimariesTest, AMergeStopsAllPrimariesAndTheFirstOnesGoesOn) {
  const std::vector<std::string> roles = world.Roles("s-0");
  Order({"s-0", "s-1", "s-2"}, {}, {"m"});
  world.Advance(Seconds(60));
  EXPECT_THAT(InMap(), ElementsAre("m", "s-3"));
  EXPECT_EQ(world.Roles("m"), roles);
}

TEST_F(ReplacedPrimariesTest, RequestsThatDoNotEndPutItOff) {
  const std::string primary = PrimaryOf("s-1");
  world.servers[primary].cannot_let_go = true;
  Order({"s-1"}, {"bb"});
  world.Advance(Seconds(30));
  EXPECT_EQ(PrimaryOf("s-1"), primary);
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1", "s-2", "s-3"));
  world.servers[primary].cannot_let_go = false;
  world.Advance(Seconds(120));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
}

TEST_F(ReplacedPrimariesTest, ASecondaryThatIsNotInStepIsWaitedForAndNamed) {
  const std::string secondary = SecondaryOf("s-1");
  const std::string primary = PrimaryOf("s-1");
  world.servers[primary].cannot_bring = {secondary};
  world.Join(secondary);  // in a new life
  Order({"s-1"}, {"bb"});
  EXPECT_EQ(WaitOf("s-1"), secondary + " is not in step with the primary of s-1");
  EXPECT_EQ(PrimaryOf("s-1"), primary);
  world.servers[primary].cannot_bring.clear();
  world.Advance(Seconds(60));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
}

TEST_F(ReplacedPrimariesTest, APrimaryThatIsLostAfterItHasStoppedIsReplacedFirst) {
  const std::string primary = PrimaryOf("s-1");
  world.servers[primary].heard = false;  // it stops, and nobody hears of it
  Order({"s-1"}, {"bb"});
  world.Die(primary);
  world.Advance(Seconds(120));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
  EXPECT_NE(PrimaryOf("s-1.0"), primary);
  EXPECT_NE(PrimaryOf("s-1.0"), "");
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u);
}

TEST_F(ReplacedPrimariesTest, ANewLeaderGoesOnWhereThePrimaryHasStopped) {
  const std::string primary = PrimaryOf("s-1");
  world.servers[primary].heard = false;
  Order({"s-1"}, {"bb"});
  world.servers[primary].heard = true;
  world.Restart();
  world.Advance(Seconds(60));
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1.0", "s-1.1", "s-2", "s-3"));
  EXPECT_NE(PrimaryOf("s-1.0"), "");
}

TEST_F(ReplacedPrimariesTest, AnAppThatNeedsAMajorityIsRefused) {
  spec.mutable_replication()->set_quorum(true);
  world.Apply(spec);
  Order({"s-1"}, {"bb"});
  EXPECT_THAT(refusal_, HasSubstr("replication.quorum is set"));
}

// All shards are on both, and half of their primaries on each.
class ReplacedOnTwoServersTest : public ReplacedPrimariesTest {
 protected:
  ReplacedOnTwoServersTest() {
    world.Die("kv-2");
    world.Advance(Seconds(120));
  }
};

// The primary that could stop does not wait for ever for the one that cannot.
TEST_F(ReplacedOnTwoServersTest, OfAMergeThatIsPutOffEachShardHasAPrimary) {
  int first = 0;
  const auto shard = [](int i) { return "s-" + std::to_string(i); };
  while (first < 2 && PrimaryOf(shard(first)) == PrimaryOf(shard(first + 1))) ++first;
  const std::string stops = shard(first);
  const std::string serves_on = shard(first + 1);
  ASSERT_NE(PrimaryOf(stops), PrimaryOf(serves_on));
  World::AppServer& busy = world.servers[PrimaryOf(serves_on)];
  busy.answers = false;
  Order({stops, serves_on}, {}, {"m"});
  EXPECT_EQ(PrimaryOf(stops), "") << "it waits for the other one";
  busy.cannot_let_go = true;
  busy.answers = true;
  world.Advance(Seconds(10));
  EXPECT_NE(PrimaryOf(stops), "");
  EXPECT_NE(PrimaryOf(serves_on), "");
  EXPECT_THAT(InMap(), ElementsAre("s-0", "s-1", "s-2", "s-3"));
  busy.cannot_let_go = false;
  world.Advance(Seconds(180));
  EXPECT_NE(PrimaryOf("m"), "");
  EXPECT_THAT(InMap(), testing::Contains("m"));
}

}  // namespace
}  // namespace shardmanager::orchestrator
