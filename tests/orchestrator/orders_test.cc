// What container operations ask of the partition: servers that are closed, emptied, avoided, or
// away as planned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/waits.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

ServerOrder Closed(const std::string& server, Leaving leaving = {}) {
  return {.server = server, .closed = true, .leaving = leaving};
}

// So many servers, each with its share of twelve shards.
class OrdersTest : public ::testing::Test {
 protected:
  void Serve(const v1::AppSpec& spec, int servers = 3) {
    world_.emplace(spec);
    world_->Start();
    for (int i = 0; i < servers; ++i) world_->Join(absl::StrCat("kv-", i));
    world_->Advance(Seconds(60));
    ASSERT_EQ(world_->Served(), 12U);
    world_->commands.clear();
  }
  void Order(std::vector<ServerOrder> orders) { world_->Send(OrdersChanged{std::move(orders)}); }
  std::string Balance() { return BalanceState(world().partition().state(), world().now); }
  World& world() { return *world_; }

 private:
  std::optional<World> world_;
};

TEST_F(OrdersTest, AClosedServerIsGivenNothingAndKeepsWhatItHas) {
  Serve(TestSpec(12));
  Order({Closed("kv-1")});
  EXPECT_EQ(world().DrainState("kv-1").second,
            "a container operation is under way: it is given nothing");
  world().Depart("kv-0");
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
  EXPECT_THAT(world().Counts(), ElementsAre(Pair("kv-1", 4), Pair("kv-2", 8)));
  Order({});
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Counts(), ElementsAre(Pair("kv-1", 6), Pair("kv-2", 6)))
      << "it is used again when the operation is over";
}

TEST_F(OrdersTest, WhatHasToLeaveIsHandedOver) {
  Serve(TestSpec(12));
  Order({Closed("kv-1", {.primaries = true})});
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-1", 0)));
  EXPECT_EQ(
      world().DrainState("kv-1"),
      std::pair(std::string("drained"), std::string("empty (a container operation is under way)")));
  Order({});
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-1", 4)));
}

TEST_F(OrdersTest, OrdersThatComeBeforeTheRecordsHoldFromTheFirstDecisionOn) {
  Serve(TestSpec(12));
  world().hold_plans = true;
  world().Depart("kv-0");
  world().Restart();  // a successor, which knows of the operation before it plans
  Order({Closed("kv-1")});
  world().hold_plans = false;
  while (!world().plans.empty()) world().FinishPlan();
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Counts(), ElementsAre(Pair("kv-1", 4), Pair("kv-2", 8)));
}

TEST_F(OrdersTest, AServerThatIsAwayAsPlannedIsNotReplaced) {
  v1::AppSpec spec = TestSpec(12, v1::SECONDARY_ONLY, 2);
  Serve(spec);
  ServerOrder order = Closed("kv-1");
  order.away_until = world().now + Seconds(30);
  Order({order});
  world().Depart("kv-1");
  world().Advance(Seconds(29));
  EXPECT_THAT(world().commands, IsEmpty()) << "nobody takes over what it had";
  world().Join("kv-1");
  world().Advance(Seconds(5));
  Order({});
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
  EXPECT_THAT(world().commands, Each(EndsWith("kv-1"))) << "it loads its own, and nothing moves";
}

TEST_F(OrdersTest, AServerThatDoesNotComeBackInTimeIsReplaced) {
  Serve(TestSpec(12, v1::SECONDARY_ONLY, 2), 4);
  ServerOrder order = Closed("kv-1");
  order.away_until = world().now + Seconds(30);
  Order({order});
  world().Depart("kv-1");
  world().Advance(Seconds(31));
  EXPECT_THAT(world().commands, Contains(StartsWith("add ")));
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
}

// Its cluster manager never says that it is finished (simulation, seeds 13292 and 13654).
TEST_F(OrdersTest, AnOperationOnAServerThatIsGoneForGoodHoldsNoMovesBack) {
  Serve(TestSpec(12), 4);
  ServerOrder order = Closed("kv-1");
  order.away_until = world().now + Seconds(30);
  Order({order});
  world().Depart("kv-1");
  world().Advance(Seconds(10));
  world().Join("kv-4");
  world().Advance(Seconds(10));
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-4", 0))) << "it may come back";
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-4", 3))) << "what was lost goes there";
  world().Join("kv-5");
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-5", 2))) << "that is balance alone";
}

// Its cluster manager has forgotten it, or is gone (simulation, seed 13654).
TEST_F(OrdersTest, AnOperationThatTakesTooLongHoldsNoMovesBack) {
  Serve(TestSpec(12));
  ServerOrder order = Closed("kv-1", {.primaries = true});
  order.away_until = world().now + Seconds(30);
  Order({order});
  world().Advance(Seconds(10));
  world().Join("kv-3");
  world().Advance(Seconds(15));
  EXPECT_THAT(world().Counts(), AllOf(Contains(Pair("kv-0", 6)), Contains(Pair("kv-3", 0))));
  EXPECT_THAT(Balance(),
              HasSubstr("moves that only balance wait for the container operation on kv-1"));
  world().Advance(Seconds(60));
  EXPECT_THAT(world().Counts(), AllOf(Contains(Pair("kv-3", 4)), Contains(Pair("kv-1", 0))))
      << "it is still given nothing";
  EXPECT_THAT(Balance(), Not(HasSubstr("container operation")));
}

TEST_F(OrdersTest, AnOperationThatIsCalledOffEndsTheWait) {
  Serve(TestSpec(12));
  ServerOrder order = Closed("kv-1");
  order.away_until = world().now + Seconds(3'600);
  Order({order});
  world().Depart("kv-1");
  world().Advance(Seconds(10));
  EXPECT_LT(world().Served(), 12U);
  Order({});
  world().Advance(Seconds(10));
  EXPECT_EQ(world().Served(), 12U);
}

// Of three replicas and a fourth one that replaces one of them, none may go while another one is
// about to stop: else two would be missing.
TEST_F(OrdersTest, NoReplicaIsSurplusWhileOneOfTheOthersIsAboutToStop) {
  Serve(TestSpec(12, v1::SECONDARY_ONLY, 3), 3);
  world().hold_adds = true;
  world().Join("kv-3");
  world().Advance(Seconds(20));
  ASSERT_FALSE(world().adds.empty()) << "some replicas are on their way to the new server";
  Order({Closed("kv-0")});
  world().hold_adds = false;
  world().FinishAdds();
  world().Advance(Seconds(20));
  EXPECT_THAT(world().commands, Not(Contains(AllOf(StartsWith("drop "), Not(EndsWith("kv-0"))))));
  Order({});
  world().Advance(Seconds(60));
  EXPECT_THAT(world().commands, Contains(StartsWith("drop ")));
  EXPECT_EQ(world().Served(), 12U);
}

TEST_F(OrdersTest, WhatLeavesGoesWhereNothingIsPendingIfThereIsRoom) {
  Serve(TestSpec(12), 3);
  Order({Closed("kv-3")});  // so that nothing moves there for balance
  world().Join("kv-3");     // upgraded, and empty
  Order({Closed("kv-0", {.primaries = true}),
         {.server = "kv-1", .avoid = true},
         {.server = "kv-2", .avoid = true}});
  world().Advance(Seconds(60));
  EXPECT_EQ(world().Served(), 12U);
  for (const std::string& command : world().commands) {
    EXPECT_THAT(command, Not(::testing::AnyOf(EndsWith("kv-1"), EndsWith("kv-2")))) << command;
  }
}

TEST_F(OrdersTest, NoPrimaryIsMadeOnAServerThatIsAboutToStop) {
  Serve(TestSpec(12, v1::PRIMARY_SECONDARY, 3), 4);
  Order({Closed("kv-1", {.primaries = true})});
  world().Advance(Seconds(60));
  for (int s = 0; s < 12; ++s) {
    EXPECT_THAT(world().Roles(absl::StrCat("s-", s)), Not(Contains("kv-1*")));
  }
  EXPECT_THAT(world().Counts(), Contains(Key("kv-1"))) << "its secondaries stay";
}

TEST_F(OrdersTest, TwoServersThatShareShardsAreEmptiedAtTheSameTime) {
  Serve(TestSpec(12, v1::SECONDARY_ONLY, 2), 4);
  Order({Closed("kv-0", {.secondaries = true}), Closed("kv-1", {.secondaries = true})});
  world().Advance(Seconds(120));
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-0", 0)));
  EXPECT_THAT(world().Counts(), Contains(Pair("kv-1", 0)));
  EXPECT_EQ(world().Served(), 12U);
}

}  // namespace
}  // namespace shardmanager::orchestrator
