// Apps of which a majority of the members must agree (replication.quorum).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/orchestrator/roles/roles_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class QuorumTest : public RolesTest {
 protected:
  QuorumTest() : RolesTest(Both(1, 3, /*quorum=*/true)) {}
};

TEST_F(QuorumTest, AMemberThatIsAwayStaysAMember) {
  v1::AppSpec patient = spec;
  patient.mutable_failover()->set_delay_ms(60'000);
  world.Apply(patient);
  world.Die("kv-2");
  world.Advance(Seconds(10));
  EXPECT_THAT(Stored(), Contains("kv-2 granted secondary 1"));
  world.Join("kv-2");
  world.Advance(Seconds(10));
  EXPECT_THAT(world.members["s-0"], SizeIs(3));
}

TEST_F(QuorumTest, AShardThatHasAMajorityWaitsForNothing) {
  world.Advance(Seconds(30));
  EXPECT_THAT(world.WaitsOf("s-0"), IsEmpty());
}

TEST_F(QuorumTest, WithoutAMajorityNobodyBecomesThePrimary) {
  v1::AppSpec patient = spec;
  patient.mutable_failover()->set_delay_ms(60'000);
  world.Apply(patient);
  world.Die("kv-0");
  EXPECT_EQ(Primary(), "kv-1");
  world.Die("kv-1");
  world.Advance(Seconds(30));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("less than a majority")));
}

// While the old primary turns, it is still one of the majority.
TEST_F(QuorumTest, APrimaryIsTurnedThoughOneMemberIsLost) {
  v1::AppSpec patient = spec;
  patient.mutable_failover()->set_delay_ms(60'000);
  world.Apply(patient);
  world.Die("kv-2");
  world.ordered.drains = {DrainOf("kv-0", /*primaries_only=*/true)};
  world.Apply(patient);
  world.Advance(Seconds(10));
  EXPECT_EQ(Primary(), "kv-1");
  EXPECT_EQ(world.NoteCount(NoteKind::kPrimaryElected), 1u);
}

// Nobody is written down as a member yet, so nobody can have acknowledged anything.
TEST_F(QuorumTest, AnAppThatHadNoRolesGetsItsFirstPrimary) {
  world.Apply(TestSpec(1, v1::SECONDARY_ONLY, 3));
  world.Advance(Seconds(30));
  ASSERT_EQ(Primary(), "");
  for (auto& [name, server] : world.servers) {
    for (StoredReplica& replica : server.record) replica.member_life = 0;
  }
  world.Restart();
  world.Apply(spec);
  world.Advance(Seconds(60));
  EXPECT_NE(Primary(), "");
  EXPECT_THAT(world.members["s-0"], SizeIs(3));
}

// What was acknowledged may be with the two that are lost, and nobody else.
TEST_F(QuorumTest, WithoutAMajorityNoMemberIsForgotten) {
  v1::AppSpec soon = spec;
  soon.mutable_failover()->set_delay_ms(1'000);
  world.Apply(soon);
  world.Join("kv-4");
  world.Die("kv-0");
  world.Die("kv-1");
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(Stored(), Contains("kv-0 granted secondary 1"));
  EXPECT_THAT(Stored(), Contains("kv-1 granted primary 1"));
  EXPECT_THAT(Stored(), Contains("kv-3 granted secondary 0"));
  world.Join("kv-1");
  world.Advance(Seconds(60));
  EXPECT_NE(Primary(), "");
  EXPECT_THAT(world.members["s-0"], SizeIs(3));
  EXPECT_THAT(Stored(), Not(Contains(HasSubstr("kv-0"))));
}

TEST_F(QuorumTest, ShardWhoseMembersAreAllLostDoesNotBeginAnew) {
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Die(name);
  for (const char* name : {"kv-4", "kv-5"}) world.Join(name);
  world.Advance(Seconds(60));
  EXPECT_EQ(Primary(), "");
  EXPECT_THAT(world.WaitsOf("s-0"), Contains(HasSubstr("less than a majority")));
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Roles("s-0"), SizeIs(3));
  EXPECT_NE(Primary(), "");
}

// Two of five are lost. The primary is told that the first one goes before the second one does.
TEST_F(QuorumTest, MembersLeaveOneAtATime) {
  v1::AppSpec five = Both(1, 5, /*quorum=*/true);
  world.Apply(five);
  for (const char* name : {"kv-4", "kv-5", "kv-6"}) world.Join(name);
  world.Advance(Seconds(60));
  ASSERT_THAT(world.members["s-0"], SizeIs(5));
  const auto members = [this] {
    const std::vector<std::string> stored = Stored();
    return std::count_if(stored.begin(), stored.end(),
                         [](const std::string& replica) { return replica.ends_with(" 1"); });
  };
  ASSERT_EQ(members(), 5);
  world.servers.at(Primary()).refuses_members = true;
  std::vector<std::string> secondaries;
  for (const std::string& name : world.Roles("s-0")) {
    if (!name.ends_with("*")) secondaries.push_back(name);
  }
  world.Die(secondaries[0]);
  world.Die(secondaries[1]);
  world.Advance(Seconds(60));
  EXPECT_EQ(members(), 4);
  world.servers.at(Primary()).refuses_members = false;
  world.Advance(Seconds(120));
  EXPECT_EQ(members(), 5);
  EXPECT_THAT(world.Roles("s-0"), SizeIs(5));
}

TEST_F(QuorumTest, ALostMemberIsReplacedWhenAMajorityAgrees) {
  world.Die("kv-2");
  world.Advance(Seconds(30));
  EXPECT_THAT(world.Roles("s-0"), ElementsAre("kv-0*", "kv-1", "kv-3"));
  EXPECT_THAT(Stored(), ElementsAre("kv-0 granted primary 1", "kv-1 granted secondary 1",
                                    "kv-3 granted secondary 1"));
}

}  // namespace
}  // namespace shardmanager::orchestrator
