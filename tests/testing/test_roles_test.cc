// Primaries with secondaries, as the kit turns them.
#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "tests/testing/tally.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TestRolesTest : public ::testing::Test, protected TallyCell {
 protected:
  // kv-1 is the primary, kv-2 a secondary.
  void SetUp() override {
    ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
    ASSERT_TRUE(cell.Assign("s", "kv-2", Role::kSecondary).ok());
  }
  Role RoleAt(Tally& tally) { return tally.server().Admit(ShardId("s")).role(); }
};

TEST_F(TestRolesTest, PromoteTurnsTheOldPrimaryFirst) {
  ASSERT_TRUE(cell.Promote("s", "kv-2").ok());
  EXPECT_EQ(RoleAt(one), Role::kSecondary);
  EXPECT_EQ(RoleAt(two), Role::kPrimary);
  EXPECT_THAT(cell.Calls("kv-1"),
              ElementsAre("AddShard(s, primary, 1)", "ChangeRole(s, secondary, 3)"));
  EXPECT_THAT(cell.Calls("kv-2"),
              ElementsAre("AddShard(s, secondary, 2)", "ChangeRole(s, primary, 4)"));
}

TEST_F(TestRolesTest, OldPrimarySendsOnWhatIsMeantForThePrimary) {
  ASSERT_TRUE(cell.Promote("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_EQ(response.epoch(), 4u);
}

TEST_F(TestRolesTest, SecondaryRefusesWhatIsMeantForThePrimary) {
  EXPECT_FALSE(Refusal("kv-2").empty());
  counter::AddRequest request;
  request.set_key("apples");
  EXPECT_TRUE(cell.Call("kv-2", "s", &counter::Counter::Stub::Add, request, &response,
                        /*any_replica=*/true)
                  .ok());
}

TEST_F(TestRolesTest, SecondaryIsPromotedWhenThePrimaryIsLost) {
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  ASSERT_TRUE(cell.Promote("s", "kv-2").ok());
  EXPECT_EQ(RoleAt(two), Role::kPrimary);
  ASSERT_TRUE(cell.Reconnect("kv-1").ok());
  EXPECT_EQ(RoleAt(one), Role::kSecondary);
}

TEST_F(TestRolesTest, DemotedPrimaryLeavesNone) {
  ASSERT_TRUE(cell.Demote("s", "kv-1").ok());
  EXPECT_EQ(RoleAt(one), Role::kSecondary);
  EXPECT_EQ(cell.Demote("s", "kv-1").code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(cell.Promote("s", "kv-1").ok());
  EXPECT_EQ(RoleAt(one), Role::kPrimary);
}

TEST_F(TestRolesTest, FailedDemotionIsCalledOff) {
  cell.FailNext("kv-1", HandlerMethod::kChangeRole, absl::InternalError("not now"));
  EXPECT_THAT(std::string(cell.Promote("s", "kv-2").message()), HasSubstr("not now"));
  EXPECT_EQ(RoleAt(one), Role::kPrimary);
  EXPECT_EQ(RoleAt(two), Role::kSecondary);
}

TEST_F(TestRolesTest, DemotionThatARequestHoldsUpLeavesThePrimaryAsItWas) {
  const Admission request = one.server().Admit(ShardId("s"));
  auto demoted = std::async(std::launch::async, [&] { return cell.Demote("s", "kv-1"); });
  while (one.Serves("s")) std::this_thread::yield();  // until it drains
  cell.Advance(std::chrono::seconds(2));
  EXPECT_EQ(demoted.get().code(), absl::StatusCode::kAborted);
  const Admission again = one.server().Admit(ShardId("s"));
  EXPECT_EQ(again.role(), Role::kPrimary);
  EXPECT_EQ(again.epoch(), request.epoch());
  EXPECT_THAT(cell.Calls("kv-1"), ElementsAre("AddShard(s, primary, 1)"));
}

TEST_F(TestRolesTest, FailedPromotionIsTriedAgain) {
  cell.FailNext("kv-2", HandlerMethod::kChangeRole, absl::InternalError("not yet"));
  EXPECT_THAT(std::string(cell.Promote("s", "kv-2").message()), HasSubstr("not yet"));
  EXPECT_EQ(RoleAt(one), Role::kSecondary);
  ASSERT_TRUE(cell.Promote("s", "kv-2").ok());
  EXPECT_EQ(RoleAt(two), Role::kPrimary);
}

TEST_F(TestRolesTest, PrimaryIsToldItsMembers) {
  ASSERT_TRUE(cell.SetMembers("s", {"kv-2", "kv-1"}).ok());
  EXPECT_EQ(cell.Calls("kv-1").back(), "UpdateMembership(s, kv-1 kv-2)");
  EXPECT_EQ(cell.SetMembers("s", {"kv-2"}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(cell.SetMembers("s", {"kv-1", "kv-9"}).code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shardmanager
