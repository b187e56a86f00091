// The control plane's part of the kit, and requests.
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "tests/testing/tally.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class TestCellTest : public ::testing::Test, protected TallyCell {};

TEST_F(TestCellTest, ServersStartAndHoldNothing) {
  EXPECT_TRUE(one.started().ok()) << one.started();
  EXPECT_TRUE(two.started().ok()) << two.started();
  EXPECT_FALSE(one.Serves("s"));
  EXPECT_THAT(Refusal("kv-1"), HasSubstr("refused (not-owner)"));
  EXPECT_THAT(cell.Calls("kv-1"), IsEmpty());
}

TEST_F(TestCellTest, AssignGrantsTheShardAndRequestsAreProcessed) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_THAT(cell.Calls("kv-1"), ElementsAre("AddShard(s, primary, 1)"));
  EXPECT_TRUE(one.Serves("s"));
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_EQ(Add("kv-1"), 2u);
  EXPECT_EQ(response.epoch(), 1u);
  EXPECT_FALSE(two.Serves("s"));
}

TEST_F(TestCellTest, RepeatedAssignIsARepeatedCommand) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_THAT(cell.Calls("kv-1"), ElementsAre("AddShard(s, primary, 1)"));
}

TEST_F(TestCellTest, EpochsGrowOverAllShards) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Assign("t", "kv-2", Role::kSecondary).ok());
  EXPECT_THAT(cell.Calls("kv-2"), ElementsAre("AddShard(t, secondary, 2)"));
}

TEST_F(TestCellTest, RegrantBringsAGreaterEpoch) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Regrant("s", "kv-1").ok());
  Add("kv-1");
  EXPECT_EQ(response.epoch(), 2u);
  EXPECT_EQ(cell.Calls("kv-1").back(), "AddShard(s, primary, 2)");
}

TEST_F(TestCellTest, DropTakesTheShardAway) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Drop("s", "kv-1").ok());
  EXPECT_EQ(cell.Calls("kv-1").back(), "DropShard(s)");
  EXPECT_FALSE(one.Serves("s"));
  ASSERT_TRUE(cell.Assign("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-2"), 1u);
  EXPECT_EQ(response.epoch(), 2u);
}

TEST_F(TestCellTest, DropWaitsForTheRequestInFlight) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  auto admission = std::make_unique<Admission>(one.server().Admit(ShardId("s")));
  auto dropped = std::async(std::launch::async, [&] { return cell.Drop("s", "kv-1"); });
  EXPECT_EQ(dropped.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_THAT(cell.Calls("kv-1"), ElementsAre("AddShard(s, primary, 1)"));
  admission.reset();
  EXPECT_TRUE(dropped.get().ok());
}

TEST_F(TestCellTest, DropIsCalledOffWhenTheClockPassesTheDrainTimeout) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  const Admission admission = one.server().Admit(ShardId("s"));
  auto dropped = std::async(std::launch::async, [&] { return cell.Drop("s", "kv-1"); });
  while (one.Serves("s")) std::this_thread::yield();  // until it drains
  cell.Advance(std::chrono::seconds(11));
  EXPECT_THAT(std::string(dropped.get().message()),
              HasSubstr("requests in flight did not finish in time"));
  EXPECT_TRUE(one.Serves("s"));
}

TEST_F(TestCellTest, MoveHandsTheStateOver) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_EQ(Add("kv-1"), 1u);
  ASSERT_TRUE(cell.Move("s", "kv-2").ok());
  EXPECT_THAT(cell.Calls("kv-1"),
              ElementsAre("AddShard(s, primary, 1)", "PrepareDropShard(s)", "DropShard(s)"));
  EXPECT_THAT(cell.Calls("kv-2"),
              ElementsAre("PrepareAddShard(s, primary, 2)", "AddShard(s, primary, 2)"));
  EXPECT_EQ(Add("kv-2"), 2u);
  ASSERT_TRUE(cell.Move("s", "kv-1").ok());
  EXPECT_EQ(Add("kv-1"), 3u);
  EXPECT_EQ(response.epoch(), 3u);
}

TEST_F(TestCellTest, OldOwnerForwardsUntilTheClockHasGoneOn) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Move("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-1"), 1u);  // at kv-2
  EXPECT_EQ(response.epoch(), 2u);
  EXPECT_FALSE(one.Serves("s"));
  cell.Advance(std::chrono::seconds(11));
  EXPECT_THAT(Refusal("kv-1"), HasSubstr("refused (not-owner)"));
  EXPECT_EQ(Add("kv-2"), 2u);
}

TEST_F(TestCellTest, CallsForAnotherServerAreRefused) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  grpc::ClientContext context;
  cell.Address("kv-2", "s", &context);
  counter::AddRequest request;
  const grpc::Status status =
      counter::Counter::Stub(cell.Channel("kv-1")).Add(&context, request, &response);
  EXPECT_THAT(status.error_message(),
              HasSubstr("refused (wrong-server): the request is for another"));
}

TEST_F(TestCellTest, LoadIsWhatCollectLoadSays) {
  EXPECT_EQ(cell.Load("s", "kv-1").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  Add("kv-1");
  const auto load = cell.Load("s", "kv-1");
  ASSERT_TRUE(load.ok()) << load.status();
  EXPECT_THAT(*load, ElementsAre(Pair("keys", 1.0)));
}

TEST_F(TestCellTest, CapacityIsWhatCollectCapacitySays) {
  EXPECT_EQ(cell.Capacity("kv-9").status().code(), absl::StatusCode::kNotFound);
  const auto capacity = cell.Capacity("kv-1");
  ASSERT_TRUE(capacity.ok()) << capacity.status();
  EXPECT_THAT(*capacity, ElementsAre(Pair("keys", 1'000.0)));
}

// ---- what is refused, and why

TEST_F(TestCellTest, SecondPrimaryIsRefusedWhileTheFirstLives) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  const absl::Status status = cell.Assign("s", "kv-2");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has its primary at kv-1"));
  EXPECT_TRUE(cell.Assign("s", "kv-2", Role::kSecondary).ok());
}

TEST_F(TestCellTest, UnknownServersAndShardsAreNotFound) {
  EXPECT_EQ(cell.Assign("s", "kv-9").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cell.Move("s", "kv-1").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cell.Drop("s", "kv-1").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cell.Regrant("s", "kv-1").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(cell.CutOff("kv-9").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Refusal("kv-9").empty(), false);
  EXPECT_EQ(cell.Load("s", "kv-9").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_EQ(cell.Move("s", "kv-9").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(one.Serves("s"));
}

TEST_F(TestCellTest, WhatIsNoNameIsInvalid) {
  const absl::Status status = cell.Assign("a shard", "kv-1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard: found \"a shard\""));
  EXPECT_EQ(cell.Assign("s", "").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TestCellTest, MoveToWhereItIsIsNotFound) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  const absl::Status status = cell.Move("s", "kv-1");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no primary that could be moved"));
}

TEST(TestCellLifeTest, ServerThatOutlivesItsCellStops) {
  TallyStorage storage;
  auto cell = std::make_unique<TestCell>();
  const ServerOptions options = cell->Options("kv-1");
  auto server = std::make_unique<Tally>(options, storage);
  ASSERT_TRUE(cell->Assign("s", "kv-1").ok());
  cell.reset();
  EXPECT_TRUE(server->Serves("s"));
  server.reset();
  const Tally late(options, storage);
  EXPECT_EQ(late.started().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TestCellLifeTest, CellsDoNotSeeEachOther) {
  TallyCell here;
  TallyCell there;
  ASSERT_TRUE(here.cell.Assign("s", "kv-1").ok());
  EXPECT_FALSE(there.one.Serves("s"));
  EXPECT_EQ(there.cell.Drop("s", "kv-1").code(), absl::StatusCode::kNotFound);
}

TEST(TestCellLifeTest, ServerMayStopAndComeBackUnderItsName) {
  TestCell cell;
  TallyStorage storage;
  auto first = std::make_unique<Tally>(cell.Options("kv-1"), storage);
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  first.reset();
  EXPECT_EQ(cell.Calls("kv-1").back(), "DropShard(s)");
  EXPECT_EQ(cell.Assign("s", "kv-1").code(), absl::StatusCode::kNotFound);
  Tally second(cell.Options("kv-1"), storage);
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_TRUE(second.Serves("s"));
}

TEST(TestCellLifeTest, ServerThatStopsWhileARequestIsHeldDoesNotWaitForTheClock) {
  TestCell cell;
  TallyStorage storage;
  ServerOptions options = cell.Options("kv-1");
  options.drain_timeout = std::chrono::milliseconds(1);
  Tally server(options, storage);
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  const Admission admission = server.server().Admit(ShardId("s"));
  server.server().Shutdown();
}

}  // namespace
}  // namespace shardmanager
