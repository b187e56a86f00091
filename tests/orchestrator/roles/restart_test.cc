// Apps with primaries and secondaries of which many or all processes begin anew: who had everything
// is elected, and waited for; whoever may lack something is warned of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

v1::AppSpec Patient() {
  v1::AppSpec spec = Both(1, 3);
  spec.mutable_failover()->set_delay_ms(60'000);
  return spec;
}

// Everything begins anew while the primary, kv-0, is to be a secondary: kv-2 had everything, and
// kv-1 was not in step. Where storage outlives a process, nothing may be lost by that.
class AllBeginAnewTest : public RolesTest {
 protected:
  AllBeginAnewTest() : RolesTest(Patient()) {
    world.servers["kv-0"].cannot_bring = {"kv-1"};
    world.Die("kv-1");
    world.Join("kv-1");
    world.Advance(Seconds(1));
    EXPECT_THAT(Stored(), Contains("kv-1 granted secondary 0"));
    world.servers["kv-0"].answers = false;
    Drain("kv-0", /*primaries_only=*/true);
    world.Advance(Milliseconds(10));
    EXPECT_THAT(Stored(), Contains("kv-0 demoting primary 1"));
  }
  void EndAll() {
    for (const char* name : {"kv-2", "kv-1", "kv-0"}) world.Die(name);
    world.servers["kv-0"].answers = true;
  }

  static constexpr const char* kHadEverything[] = {"kv-0", "kv-2"};
};

TEST_F(AllBeginAnewTest, OneThatHadEverythingIsElected) {
  EndAll();
  for (const char* name : {"kv-1", "kv-2", "kv-0"}) {
    world.Join(name);
    world.Advance(Seconds(1));
    EXPECT_NE(Primary(), "kv-1") << name << " is back";
  }
  world.Advance(Seconds(30));
  EXPECT_THAT(kHadEverything, Contains(Primary()));
  EXPECT_EQ(world.Served(), 1u);
}

TEST_F(AllBeginAnewTest, OneThatHadEverythingIsElectedByASuccessorOfTheLeader) {
  world.hold_writes = true;  // nothing more comes of this leader
  EndAll();
  for (const char* name : {"kv-1", "kv-2", "kv-0"}) world.Join(name);
  world.hold_writes = false;
  world.Restart();
  world.Advance(Seconds(1));
  EXPECT_NE(Primary(), "kv-1");
  world.Advance(Seconds(60));
  EXPECT_THAT(kHadEverything, Contains(Primary()));
  EXPECT_EQ(world.Served(), 1u);
}

TEST_F(AllBeginAnewTest, WhoHadEverythingIsWaitedForUntilItIsGivenUp) {
  EndAll();
  world.Join("kv-1");
  world.Advance(Seconds(55));
  EXPECT_EQ(Primary(), "");
  world.Advance(Seconds(10));
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 1u);
}

TEST_F(AllBeginAnewTest, WhoHadEverythingAndCannotBeReachedIsWaitedForAsLong) {
  EndAll();
  world.servers["kv-2"].answers = false;
  for (const char* name : {"kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(55));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("kv-2 has all that was acknowledged")));
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-1");
}

TEST_F(AllBeginAnewTest, WhoHadEverythingAndFailsToOpenItDoesNotKeepTheShardDownForEver) {
  EndAll();
  for (const char* name : {"kv-0", "kv-2"}) world.servers[name].sick = true;
  for (const char* name : {"kv-1", "kv-2", "kv-0"}) world.Join(name);
  world.Advance(Seconds(180));
  EXPECT_EQ(Primary(), "kv-1");
}

// A server that says good-bye is replaced at once, but not by one that may lack something: it may
// be a restart.
class OnlyOneHasEverythingTest : public RolesTest {
 protected:
  OnlyOneHasEverythingTest() : RolesTest(Patient()) {
    world.servers["kv-0"].cannot_bring = {"kv-1", "kv-2", "kv-3"};
    for (const char* name : {"kv-1", "kv-2"}) {
      world.Die(name);
      world.Join(name);
    }
    world.Advance(Seconds(1));
    world.Depart("kv-0");
    world.Advance(Seconds(55));
    EXPECT_EQ(Primary(), "");
    EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("no secondary is in step")));
    world.notes.clear();
  }
};

TEST_F(OnlyOneHasEverythingTest, ItSaysGoodByeAndComesBackAndIsThePrimaryAgain) {
  world.Join("kv-0");
  world.Advance(Seconds(1));
  EXPECT_EQ(Primary(), "kv-0");
}

TEST_F(OnlyOneHasEverythingTest, ItSaysGoodByeAndIsWaitedForLikeOneThatWasLost) {
  world.Advance(Seconds(10));
  EXPECT_NE(Primary(), "");
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 1u);
}

TEST_F(OnlyOneHasEverythingTest, AnotherDelayCountsFromTheGoodBye) {
  v1::AppSpec patient = spec;
  patient.mutable_failover()->set_delay_ms(100'000);
  world.Apply(patient);
  world.Advance(Seconds(40));
  EXPECT_EQ(Primary(), "");
  world.Advance(Seconds(10));
  EXPECT_NE(Primary(), "");
}

// The power of a rack blinks. Nobody is lost for long enough to be replaced, and nobody has what
// was acknowledged, unless the application kept it on disk.
TEST(RolesRestartTest, APrimaryThatBeginsAnewWithNobodyInStepIsWarnedOf) {
  World world(Patient());
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(30));
  ASSERT_EQ(world.Served(), 1u);
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Die(name);
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 0u) << "one that is in step may be back";
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(5));
  EXPECT_EQ(world.Served(), 1u);
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 1u);
}

// Its process is the one that had everything.
TEST(RolesRestartTest, APrimaryThatHadNoMembersBeforeIsNotWarnedOf) {
  World alone(TestSpec(1));
  alone.Start();
  alone.Join("kv-0");
  alone.Advance(Seconds(2));
  alone.Apply(Both(1, 2));
  alone.Join("kv-1");
  alone.Advance(Seconds(30));
  EXPECT_EQ(alone.Served(), 1u);
  EXPECT_EQ(alone.NoteCount(NoteKind::kUncleanPromotion), 0u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
