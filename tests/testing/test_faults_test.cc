// Leases, errors and slow calls, as the kit brings them about.
#include <chrono>
#include <future>

#include "gmock/gmock.h"
#include "tests/testing/tally.h"

namespace shardmanager {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TestFaultsTest : public ::testing::Test, protected TallyCell {};

// ---- leases

TEST_F(TestFaultsTest, LapsedLeaseRefusesAndComesBackWithTheSameGrant) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.LapseLease("kv-1").ok());
  EXPECT_THAT(Refusal("kv-1"), HasSubstr("refused (lease-lapsed): this server has no valid lease"));
  EXPECT_EQ(cell.Assign("s", "kv-2").code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(cell.Reconnect("kv-1").ok());
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_EQ(response.epoch(), 1u);
}

TEST_F(TestFaultsTest, LeaseComesBackWithAGreaterEpochWhenItIsGrantedAgain) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  EXPECT_FALSE(one.Serves("s"));
  ASSERT_TRUE(cell.Reconnect("kv-1").ok());
  ASSERT_TRUE(cell.Regrant("s", "kv-1").ok());
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_EQ(response.epoch(), 2u);
}

TEST_F(TestFaultsTest, CutOffServerServesUntilItsLeaseIsOver) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.CutOff("kv-1").ok());
  EXPECT_TRUE(one.Serves("s"));
  cell.Advance(milliseconds(9'000));
  EXPECT_TRUE(one.Serves("s"));
  cell.Advance(milliseconds(900));
  EXPECT_FALSE(one.Serves("s"));
}

TEST_F(TestFaultsTest, ServersInReachKeepTheirLeasesHoweverMuchTimePasses) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.Assign("t", "kv-2").ok());
  cell.Advance(std::chrono::minutes(10));
  EXPECT_TRUE(one.Serves("s"));
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  EXPECT_FALSE(one.Serves("s"));
  EXPECT_TRUE(two.Serves("t"));
}

TEST_F(TestFaultsTest, ExpiredSessionLetsTheShardFailOver) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  ASSERT_TRUE(cell.Assign("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-2"), 1u);
  EXPECT_EQ(response.epoch(), 2u);
  ASSERT_TRUE(cell.Reconnect("kv-1").ok());
  EXPECT_FALSE(one.Serves("s"));
  EXPECT_EQ(cell.Calls("kv-1").back(), "DropShard(s)");
}

TEST_F(TestFaultsTest, SecondariesServeWithoutALease) {
  ASSERT_TRUE(cell.Assign("s", "kv-1", Role::kSecondary).ok());
  ASSERT_TRUE(cell.LapseLease("kv-1").ok());
  EXPECT_TRUE(one.Serves("s"));
}

TEST(TestCellOptionsTest, WithStopAllSecondariesNeedTheLeaseToo) {
  TallyCell tally({.stop_all = true});
  ASSERT_TRUE(tally.cell.Assign("s", "kv-1", Role::kSecondary).ok());
  EXPECT_TRUE(tally.one.Serves("s"));
  ASSERT_TRUE(tally.cell.LapseLease("kv-1").ok());
  EXPECT_FALSE(tally.one.Serves("s"));
}

// Two primaries for a while; the older one lets go when it is back.
TEST(TestCellOptionsTest, WithKeepServingACutOffPrimaryServesOnUntilItIsBack) {
  TallyCell tally({.keep_serving = true});
  TestCell& cell = tally.cell;
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.LapseLease("kv-1").ok());
  EXPECT_TRUE(tally.one.Serves("s"));
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  EXPECT_TRUE(tally.one.Serves("s"));
  ASSERT_TRUE(cell.Assign("s", "kv-2").ok());
  EXPECT_TRUE(tally.two.Serves("s"));
  EXPECT_TRUE(tally.one.Serves("s"));
  ASSERT_TRUE(cell.Reconnect("kv-1").ok());
  EXPECT_FALSE(tally.one.Serves("s"));
  EXPECT_TRUE(tally.two.Serves("s"));
  EXPECT_EQ(cell.Calls("kv-1").back(), "DropShard(s)");
}

TEST(TestCellOptionsTest, WithKeepServingACutOffServerIsGivenNothingNew) {
  TallyCell tally({.keep_serving = true});
  ASSERT_TRUE(tally.cell.LapseLease("kv-1").ok());
  EXPECT_FALSE(tally.cell.Assign("s", "kv-1").ok());
  EXPECT_FALSE(tally.one.Serves("s"));
  ASSERT_TRUE(tally.cell.Reconnect("kv-1").ok());
  EXPECT_TRUE(tally.one.Serves("s"));
}

TEST(TestCellOptionsTest, ShorterSessionsLapseSooner) {
  TallyCell tally({.session_timeout = milliseconds(2'000)});
  ASSERT_TRUE(tally.cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(tally.cell.CutOff("kv-1").ok());
  tally.cell.Advance(milliseconds(1'000));
  EXPECT_TRUE(tally.one.Serves("s"));
  tally.cell.Advance(milliseconds(900));
  EXPECT_FALSE(tally.one.Serves("s"));
}

TEST_F(TestFaultsTest, CutOffServerStopsWithoutWaiting) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.CutOff("kv-1").ok());
  one.server().Shutdown();
  ASSERT_TRUE(cell.ExpireSession("kv-2").ok());
  two.server().Shutdown();
}

TEST_F(TestFaultsTest, AProcessThatStartsUnderTheNameOfACutOffServerIsCutOffToo) {
  ASSERT_TRUE(cell.ExpireSession("kv-1").ok());
  auto started = std::async(std::launch::async,
                            [&] { return Tally(cell.Options("kv-1"), storage).started(); });
  EXPECT_EQ(started.wait_for(milliseconds(50)), std::future_status::timeout);
  EXPECT_EQ(cell.Assign("s", "kv-1").code(), absl::StatusCode::kNotFound);
  (void)cell.Reconnect("kv-1");  // one of the two gets the name
  started.wait();
}

TEST_F(TestFaultsTest, AServerWhoseSessionIsOverIsGivenNothing) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  ASSERT_TRUE(cell.ExpireSession("kv-2").ok());
  EXPECT_EQ(cell.Move("s", "kv-2").code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(one.Serves("s"));
  ASSERT_TRUE(cell.Reconnect("kv-2").ok());
  EXPECT_THAT(cell.Calls("kv-2"), testing::IsEmpty()) << "no DropShard: it was assigned nothing";
  ASSERT_TRUE(cell.Move("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-2"), 1u);
  EXPECT_EQ(response.epoch(), 2u) << "the move that was refused used no epoch";
}

// ---- errors

TEST_F(TestFaultsTest, FailedAddShardIsToldAndTriedAgainWithTheSameGrant) {
  cell.FailNext("kv-1", HandlerMethod::kAddShard, absl::InternalError("disk full"));
  const absl::Status status = cell.Assign("s", "kv-1");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_THAT(std::string(status.message()), HasSubstr("disk full"));
  EXPECT_FALSE(one.Serves("s"));
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  EXPECT_TRUE(one.Serves("s"));
  EXPECT_THAT(cell.Calls("kv-1"),
              ElementsAre("AddShard(s, primary, 1)", "AddShard(s, primary, 1)"));
}

TEST_F(TestFaultsTest, FailedPrepareCallsTheMoveOff) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  cell.FailNext("kv-2", HandlerMethod::kPrepareAddShard, absl::InternalError("no room"));
  EXPECT_THAT(std::string(cell.Move("s", "kv-2").message()), HasSubstr("no room"));
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_THAT(cell.Calls("kv-1"), ElementsAre("AddShard(s, primary, 1)"));
  ASSERT_TRUE(cell.Move("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-2"), 2u);
}

TEST_F(TestFaultsTest, MoveGoesOnFromWhereAnErrorStoppedIt) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  cell.FailNext("kv-2", HandlerMethod::kAddShard, absl::InternalError("disk full"));
  EXPECT_THAT(std::string(cell.Move("s", "kv-2").message()), HasSubstr("disk full"));
  EXPECT_FALSE(one.Serves("s"));
  EXPECT_FALSE(two.Serves("s"));
  ASSERT_TRUE(cell.Move("s", "kv-2").ok());
  EXPECT_EQ(Add("kv-2"), 1u);
  EXPECT_EQ(cell.Calls("kv-1").back(), "DropShard(s)");
}

TEST_F(TestFaultsTest, ErrorsAnswerOneCallEach) {
  cell.FailNext("kv-1", HandlerMethod::kAddShard, absl::InternalError("first"));
  cell.FailNext("kv-1", HandlerMethod::kAddShard, absl::InternalError("second"));
  EXPECT_THAT(std::string(cell.Assign("s", "kv-1").message()), HasSubstr("first"));
  EXPECT_THAT(std::string(cell.Assign("s", "kv-1").message()), HasSubstr("second"));
  EXPECT_TRUE(cell.Assign("s", "kv-1").ok());
}

// ---- slow calls

TEST_F(TestFaultsTest, OldOwnerServesWhileTheNewOnePrepares) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  HeldCall slow = cell.Hold("kv-2", HandlerMethod::kPrepareAddShard);
  auto moved = std::async(std::launch::async, [&] { return cell.Move("s", "kv-2"); });
  ASSERT_TRUE(slow.Await());
  EXPECT_EQ(Add("kv-1"), 1u);
  EXPECT_EQ(response.epoch(), 1u);
  EXPECT_EQ(cell.Move("s", "kv-2").code(), absl::StatusCode::kFailedPrecondition);
  slow.Release();
  EXPECT_TRUE(moved.get().ok());
  EXPECT_EQ(Add("kv-2"), 2u);
}

TEST_F(TestFaultsTest, RequestsWaitWhileTheNewOwnerLoads) {
  ASSERT_TRUE(cell.Assign("s", "kv-1").ok());
  HeldCall slow = cell.Hold("kv-2", HandlerMethod::kAddShard);
  auto moved = std::async(std::launch::async, [&] { return cell.Move("s", "kv-2"); });
  ASSERT_TRUE(slow.Await());
  auto added = std::async(std::launch::async, [&] { return Add("kv-1"); });
  EXPECT_EQ(added.wait_for(milliseconds(20)), std::future_status::timeout);
  slow.Release();
  EXPECT_TRUE(moved.get().ok());
  EXPECT_EQ(added.get(), 1u);
  EXPECT_EQ(response.epoch(), 2u);
}

TEST_F(TestFaultsTest, ShardThatLoadsIsRefused) {
  HeldCall slow = cell.Hold("kv-1", HandlerMethod::kAddShard);
  auto assigned = std::async(std::launch::async, [&] { return cell.Assign("s", "kv-1"); });
  ASSERT_TRUE(slow.Await());
  EXPECT_THAT(Refusal("kv-1"), HasSubstr("refused (loading): the shard is still loading"));
  slow.Release();
  EXPECT_TRUE(assigned.get().ok());
}

TEST(TestCellOptionsTest, PatienceBoundsTheWaitForASlowHandler) {
  TallyCell tally({.patience = milliseconds(30)});
  HeldCall slow = tally.cell.Hold("kv-1", HandlerMethod::kAddShard);
  const absl::Status status = tally.cell.Assign("s", "kv-1");
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("AddShard of s at kv-1 did not end within 30 ms"));
  HeldCall never = tally.cell.Hold("kv-1", HandlerMethod::kDropShard);
  EXPECT_FALSE(never.Await());
}

TEST_F(TestFaultsTest, CallIsLetGoWithItsHold) {
  std::future<absl::Status> assigned;
  {
    HeldCall slow = cell.Hold("kv-1", HandlerMethod::kAddShard);
    assigned = std::async(std::launch::async, [&] { return cell.Assign("s", "kv-1"); });
    ASSERT_TRUE(slow.Await());
  }
  EXPECT_TRUE(assigned.get().ok());
}

TEST_F(TestFaultsTest, AHoldThatReplacesAnotherLetsThatOneGo) {
  HeldCall held = cell.Hold("kv-2", HandlerMethod::kAddShard);
  held = cell.Hold("kv-1", HandlerMethod::kAddShard);
  EXPECT_TRUE(cell.Assign("t", "kv-2").ok());
  auto assigned = std::async(std::launch::async, [&] { return cell.Assign("s", "kv-1"); });
  EXPECT_TRUE(held.Await());
  EXPECT_FALSE(one.Serves("s"));
  held.Release();
  EXPECT_TRUE(assigned.get().ok());
}

}  // namespace
}  // namespace shardmanager
