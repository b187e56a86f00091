// Apps with primaries and secondaries of which many or all processes begin anew: who had everything
// is elected, and waited for; whoever may lack something is warned of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

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

// kv-2 was back for a while, without an answer, when the primary had been away for long enough.
TEST_F(AllBeginAnewTest, WhoHadEverythingAndIsAwayIsWaitedForAsLongAsThePrimary) {
  EndAll();
  world.servers["kv-2"].answers = false;
  for (const char* name : {"kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(50));
  world.Die("kv-2");
  world.Advance(Seconds(50));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("kv-2 has all that was acknowledged")));
  world.Advance(Seconds(15));
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_EQ(world.NoteCount(NoteKind::kUncleanPromotion), 1u);
}

TEST_F(AllBeginAnewTest, TimeAwayIsNoTrouble) {
  EndAll();
  world.servers["kv-2"].sick = true;
  for (const char* name : {"kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(20));
  world.Die("kv-2");
  world.Advance(Seconds(50));
  ASSERT_EQ(Primary(), "");
  world.Join("kv-2");  // it still fails, for 20 s altogether
  world.Advance(Seconds(5));
  EXPECT_EQ(Primary(), "");
  world.servers["kv-2"].sick = false;
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-2");
}

TEST_F(AllBeginAnewTest, LivesThatFailOneAfterTheOtherAreTroubleTogether) {
  EndAll();
  world.servers["kv-2"].sick = true;
  for (const char* name : {"kv-1", "kv-2"}) world.Join(name);
  for (int life = 0; life < 5; ++life) {
    world.Advance(Seconds(20));
    world.Die("kv-2");
    world.Join("kv-2");
  }
  world.Advance(Seconds(20));
  EXPECT_EQ(Primary(), "kv-1");
}

// The same while the primary is the primary.
TEST_F(RolesTest, AFormerMemberThatFailsToOpenTheShardAtFirstKeepsIt) {
  const v1::AppSpec patient = Patient();
  world.Apply(patient);
  world.servers["kv-0"].cannot_bring = {"kv-1"};
  world.Die("kv-1");
  world.Join("kv-1");
  world.Advance(Seconds(1));
  world.hold_writes = true;  // nothing more comes of this leader
  for (const char* name : {"kv-2", "kv-1", "kv-0"}) world.Die(name);
  world.servers["kv-2"].sick = true;
  for (const char* name : {"kv-1", "kv-2"}) world.Join(name);
  world.hold_writes = false;
  world.writes.clear();
  world.Restart();
  world.Advance(Seconds(50));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(Stored(), Contains("kv-2 granted secondary 1")) << "kv-3 would have room for it";
  world.servers["kv-2"].sick = false;
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "kv-2");
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

// A secondary that begins anew is written down as none before its primary is told anything that
// leaves it out: if both of these ended in between, it would count as one that had everything.
class FormerLifeTest : public RolesTest {
 protected:
  FormerLifeTest() : RolesTest(Patient()) {
    world.watcher.asks = [this](const Action& action) {
      const auto* sent = std::get_if<SendCommands>(&action);
      if (sent != nullptr && KeepsMark() && LeavesOut(*sent)) ++told_too_early;
    };
  }
  // "kv-2 ... 1", and it lives its second life.
  bool KeepsMark() {
    for (const StoredReplica& replica : world.servers["kv-2"].record) {
      if (replica.member_life == 1 && world.servers["kv-2"].incarnation.value() > 1) return true;
    }
    return false;
  }
  bool LeavesOut(const SendCommands& sent) {
    for (const Grant& grant : sent.grants) {
      if (grant.role != Role::kPrimary || grant.members.empty()) continue;
      bool named = false;
      for (const ServerIndex member : grant.members) {
        named |= world.partition().tables().name(member) == "kv-2";
      }
      if (!named) return true;
    }
    return false;
  }
  int told_too_early = 0;
};

TEST_F(FormerLifeTest, TheListOfAPrimaryFollowsTheRecord) {
  world.hold_writes = true;
  world.Die("kv-2");
  world.Join("kv-2");
  world.Advance(Seconds(1));
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kFailed);
  world.Advance(Seconds(30));
  EXPECT_EQ(told_too_early, 0);
  EXPECT_THAT(Stored(), Contains("kv-2 granted secondary 2")) << "in step again";
}

TEST_F(FormerLifeTest, SoDoesTheGrantOfANewLeader) {
  world.hold_writes = true;
  world.Die("kv-2");
  world.Join("kv-2");
  world.servers["kv-0"].held.clear();  // it is to be told again
  world.writes.clear();
  world.Restart();
  world.Advance(Seconds(1));
  world.hold_writes = false;
  while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  world.Advance(Seconds(30));
  EXPECT_EQ(told_too_early, 0);
  EXPECT_EQ(Primary(), "kv-0");
  EXPECT_THAT(Stored(), Contains("kv-2 granted secondary 2"));
}

// The primary that is to be none begins anew, and then does as it was told: whoever has the role
// next acknowledges what it lacks.
TEST_F(RolesTest, APrimaryThatStopsInANewLifeIsWrittenDownAsNotInStepInThatWrite) {
  BeginAnewInADemotion();
  world.hold_writes = true;
  world.Restart();
  world.Advance(Seconds(1));
  for (int i = 0; i < 20 && !world.writes.empty(); ++i) {
    world.FinishWrite(WriteOutcome::kOk);
    if (Primary() == "" || Primary() == "kv-0") continue;
    break;
  }
  world.Advance(Milliseconds(1));
  const bool passed = std::any_of(world.servers.begin(), world.servers.end(), [](const auto& s) {
    return s.first != "kv-0" &&
           std::any_of(s.second.record.begin(), s.second.record.end(),
                       [](const StoredReplica& r) { return r.role == Role::kPrimary; });
  });
  ASSERT_TRUE(passed);
  EXPECT_THAT(Stored(), Contains("kv-0 granted secondary 0"));
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
