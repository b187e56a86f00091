// A secondary that cannot come into step, and the others of its shard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Finding 1 of the attack: kv-1 was offered for ever, and kv-2 never.
class MemberThatCannotComeTest : public RolesTest {
 protected:
  static v1::AppSpec Patient() {
    v1::AppSpec spec = Both(1, 3);
    spec.mutable_failover()->set_delay_ms(60'000);
    return spec;
  }
  using Hindered = std::set<std::string> World::AppServer::*;
  explicit MemberThatCannotComeTest(Hindered hindered = &World::AppServer::cannot_bring)
      : RolesTest(Patient()) {
    world.servers["kv-0"].*hindered = {"kv-1"};
    for (const char* name : {"kv-1", "kv-2"}) {
      world.Die(name);
      world.Join(name);
    }
  }
  bool InStep(const std::string& server) {
    return world.members["s-0"].contains({server, world.servers[server].incarnation.value()});
  }
  size_t Offers() {
    const auto is_offer = [](const std::string& c) { return c.starts_with("set-members"); };
    const auto& all = world.commands;
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), is_offer));
  }
};

TEST_F(MemberThatCannotComeTest, OneThatCannotComeIntoStepDoesNotKeepTheOthersFromIt) {
  world.Advance(Seconds(2));
  EXPECT_TRUE(InStep("kv-2"));
  EXPECT_FALSE(InStep("kv-1"));
  EXPECT_THAT(Stored(), Contains("kv-2 granted secondary 2"));
}

TEST_F(MemberThatCannotComeTest, OneThatReplacesItIsTriedAtOnce) {
  world.Advance(Seconds(2));
  Drain("kv-1");
  world.Advance(Seconds(30));
  EXPECT_TRUE(InStep("kv-3"));
}

TEST_F(MemberThatCannotComeTest, ItIsTriedLessAndLessOftenAndComesWhenItCan) {
  world.Advance(Seconds(60));
  world.commands.clear();
  world.Advance(Seconds(60));
  EXPECT_THAT(Offers(), testing::AllOf(testing::Ge(2), testing::Le(10)));
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("kv-1 is not in step: its primary failed")));
  world.servers["kv-0"].cannot_bring.clear();
  world.Advance(Seconds(60));
  EXPECT_TRUE(InStep("kv-1"));
  EXPECT_THAT(world.WaitsOf("s-0"), IsEmpty());
}

// Seed 414 of the simulation: a new leader knows no life of a server that was lost before, and
// took that for the life in which a secondary that is in step with nobody (0) is in step.
TEST_F(MemberThatCannotComeTest, OneThatWasLostUnderAFormerLeaderIsNoMember) {
  world.Advance(Seconds(2));
  world.Die("kv-1");
  world.Restart();
  world.Die("kv-2");
  world.Join("kv-2");
  world.Advance(Seconds(10));
  EXPECT_TRUE(InStep("kv-2"));
  EXPECT_FALSE(InStep("kv-1"));
}

// A move to a server that cannot come into step would never end.
TEST_F(MemberThatCannotComeTest, AMoveToItIsCalledOffAndGoesElsewhere) {
  world.servers["kv-0"].cannot_bring = {"kv-3"};
  world.Advance(Seconds(60));
  ASSERT_TRUE(InStep("kv-1") && InStep("kv-2"));
  Drain("kv-2");
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("could not be moved to kv-3")));
  world.Join("kv-4");
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-4"));
}

// It serves reads, which is more than its successor does.
TEST_F(MemberThatCannotComeTest, ItStaysWhileTheOneThatReplacesItDoesNotServe) {
  world.Advance(Seconds(60));
  world.servers["kv-3"].sick = true;
  Drain("kv-1");
  world.Advance(Seconds(10));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-2"));
}

TEST_F(MemberThatCannotComeTest, ANewLifeOfItIsTriedAtOnce) {
  world.Advance(Seconds(120));
  world.servers["kv-0"].cannot_bring.clear();
  world.Die("kv-1");
  world.Join("kv-1");
  world.Advance(Seconds(1));
  EXPECT_TRUE(InStep("kv-1"));
}

// The primary's server has too much to do, or is away.
class MemberOfWhichNothingIsHeardTest : public MemberThatCannotComeTest {
 protected:
  MemberOfWhichNothingIsHeardTest()
      : MemberThatCannotComeTest(&World::AppServer::brings_for_ever) {}
};

TEST_F(MemberOfWhichNothingIsHeardTest, ThatIsNotHeldAgainstIt) {
  world.Advance(Seconds(120));
  EXPECT_FALSE(InStep("kv-1"));
  EXPECT_THAT(world.WaitsOf("s-0"), Not(Contains(HasSubstr("its primary failed"))));
}

TEST_F(MemberOfWhichNothingIsHeardTest, ItDoesNotKeepTheOthersFromComingIntoStep) {
  world.Advance(Seconds(60));
  EXPECT_TRUE(InStep("kv-2"));
  EXPECT_FALSE(InStep("kv-1"));
}

}  // namespace
}  // namespace shardmanager::orchestrator
