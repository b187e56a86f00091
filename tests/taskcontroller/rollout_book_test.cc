#include "taskcontroller/state/rollout_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shardmanager::taskcontroller {
namespace {

using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

class RolloutBookTest : public ::testing::Test {
 protected:
  RolloutBookTest() { book_.Begin({}, now_); }

  static OperationInfo InfoOf(v1::OperationKind kind) {
    return {.kind = kind, .server = "kv-1", .life = Incarnation(1), .expected = Seconds(5)};
  }
  void Report1(const std::vector<std::string>& ids, v1::OperationKind kind = v1::RESTART,
               const std::string& manager = "m") {
    Report report{.manager = manager, .manager_life = 1, .sequence = ++sequence_};
    for (const std::string& id : ids) {
      report.operations.push_back({.id = id, .info = InfoOf(kind)});
    }
    ASSERT_TRUE(reports_.Take(std::move(report), now_).ok());
  }
  void Hold(const std::string& id, HeldStage stage) {
    held_[{"m", id}] = {.info = InfoOf(v1::RESTART), .stage = stage, .since = now_};
  }
  // A decision that is durable now.
  void Decide(const std::vector<std::string>& finished = {}, const std::string& held_back = "") {
    std::vector<OperationKey> keys;
    for (const std::string& id : finished) {
      keys.push_back({"m", id});
      held_.erase(keys.back());
    }
    book_.Note({.held = held_, .finished = keys, .held_back = held_back}, reports_, now_);
  }
  const Rollout& Of(const std::string& name) const { return book_.rollouts().at({"m", name}); }

  TimePoint now_ = TimePoint(Seconds(1'000));
  uint64_t sequence_ = 0;
  ReportBook reports_;
  HeldOperations held_;
  RolloutBook book_;
};

TEST(RolloutOfTest, IsWhatStandsBeforeTheLastSlash) {
  EXPECT_EQ(RolloutOf({"m", "rollout-42/kv-3"}), (RolloutKey{"m", "rollout-42"}));
  EXPECT_EQ(RolloutOf({"m", "eu/rollout-42/kv-3"}), (RolloutKey{"m", "eu/rollout-42"}));
  EXPECT_EQ(RolloutOf({"m", "8f3a"}), (RolloutKey{"m", ""}));
}

TEST_F(RolloutBookTest, CountsEachManagersOperationsByTheirRollout) {
  Report1({"a/1", "a/2", "b/1", "alone"});
  Report1({"a/1"}, v1::STOP, "other");
  Decide();
  EXPECT_THAT(book_.rollouts(), SizeIs(4));
  EXPECT_EQ(Of("a").began_at, now_);
  EXPECT_THAT(Of("").kinds, ::testing::ElementsAre(v1::RESTART));
  EXPECT_TRUE(book_.rollouts().contains({"other", "a"}));
}

TEST_F(RolloutBookTest, LeavesStartsOut) {
  Report1({"a/1"}, v1::START);
  Decide();
  EXPECT_THAT(book_.rollouts(), IsEmpty());
}

TEST_F(RolloutBookTest, MeasuresFromTheBeginningOfThePreparationToTheEnd) {
  Hold("a/1", HeldStage::kPreparing);
  Decide();
  now_ += Seconds(20);
  Hold("a/1", HeldStage::kBegun);
  Decide();
  EXPECT_EQ(Of("a").mean(), std::nullopt);
  now_ += Seconds(10);
  Decide({"a/1"});
  EXPECT_EQ(Of("a").finished, 1U);
  EXPECT_THAT(Of("a").mean(), Optional(Seconds(30)));
  EXPECT_EQ(book_.UnderWaySince({"m", "a/1"}), std::nullopt);
}

TEST_F(RolloutBookTest, WhatWasUnderWayBeforeTheTakeoverIsCountedAndNotMeasured) {
  Hold("a/1", HeldStage::kBegun);
  book_ = RolloutBook();
  book_.Begin(held_, now_);
  EXPECT_THAT(book_.UnderWaySince({"m", "a/1"}), Optional(now_));
  now_ += Seconds(3);
  Decide({"a/1"});
  EXPECT_EQ(Of("a").finished, 1U);
  EXPECT_EQ(Of("a").mean(), std::nullopt) << "nobody knows when it was approved";
}

TEST_F(RolloutBookTest, AnApprovalABeginningAndAnEndAreProgress) {
  Hold("a/1", HeldStage::kPreparing);
  Decide();
  EXPECT_EQ(Of("a").progress_at, std::nullopt);
  for (const HeldStage stage : {HeldStage::kApproved, HeldStage::kBegun}) {
    now_ += Seconds(1);
    Hold("a/1", stage);
    Decide();
    EXPECT_THAT(Of("a").progress_at, Optional(now_));
    now_ += Seconds(1);
    Decide();
    EXPECT_THAT(Of("a").progress_at, Optional(now_ - Seconds(1))) << "nothing has happened since";
  }
  now_ += Seconds(1);
  Decide({"a/1"});
  EXPECT_THAT(Of("a").progress_at, Optional(now_));
}

TEST_F(RolloutBookTest, AnIdThatIsUsedAgainIsMeasuredAnew) {
  Hold("a/1", HeldStage::kBegun);
  Decide();
  now_ += Seconds(10);
  book_.Note({.held = held_, .finished = {{"m", "a/1"}}, .held_back = ""}, reports_, now_);
  EXPECT_EQ(Of("a").finished, 1U);
  EXPECT_THAT(book_.UnderWaySince({"m", "a/1"}), Optional(now_));
}

TEST_F(RolloutBookTest, AWithdrawnOperationCountsNowhere) {
  Hold("a/1", HeldStage::kApproved);
  Decide();
  held_.clear();
  Decide();
  EXPECT_EQ(Of("a").finished, 0U);
  EXPECT_EQ(book_.UnderWaySince({"m", "a/1"}), std::nullopt);
}

TEST_F(RolloutBookTest, ForgetsARolloutAnHourAfterItWasReportedLast) {
  Report1({"a/1"});
  Decide();
  Report1({});
  now_ += RolloutBook::kForgotten;
  Decide();
  EXPECT_THAT(book_.rollouts(), SizeIs(1));
  now_ += Seconds(1);
  Decide();
  EXPECT_THAT(book_.rollouts(), IsEmpty());
}

TEST_F(RolloutBookTest, HasRoomForSoManyAndForgetsThoseThatAreOverFirst) {
  std::vector<std::string> ids = {"over/1"};
  Report1(ids);
  Decide();
  ids.clear();
  for (size_t i = 0; i < RolloutBook::kMostRollouts; ++i) ids.push_back(absl::StrCat(i, "/1"));
  Report1(ids);
  now_ += Seconds(1);
  Decide();
  EXPECT_THAT(book_.rollouts(), SizeIs(RolloutBook::kMostRollouts)) << "one did not fit";
  now_ += Seconds(1);
  Decide();
  EXPECT_FALSE(book_.rollouts().contains({"m", "over"}));
  EXPECT_THAT(book_.rollouts(), SizeIs(RolloutBook::kMostRollouts)) << "now it does";
  ids.push_back("late/1");
  Report1(ids);
  Decide();
  EXPECT_FALSE(book_.rollouts().contains({"m", "late"})) << "and no one makes room for another";
}

TEST_F(RolloutBookTest, CountsHowManyAreUnderWayAtOnceOnAverage) {
  Report1({"a/1", "a/2", "a/3"});
  now_ += Seconds(10);
  Decide();
  EXPECT_EQ(book_.mean_at_once(), 0);
  Hold("a/1", HeldStage::kBegun);
  Hold("a/2", HeldStage::kBegun);
  Decide();
  EXPECT_EQ(book_.mean_at_once(), 2) << "the time before the first one does not count";
  now_ += Seconds(6);
  Decide({"a/1", "a/2"});
  now_ += Seconds(2);  // a server loads, say
  Decide();
  EXPECT_DOUBLE_EQ(book_.mean_at_once(), 1.5) << "the gap counts";
}

TEST_F(RolloutBookTest, AStandstillDoesNotCountInTheAverage) {
  Report1({"a/1", "a/2"});
  Hold("a/1", HeldStage::kBegun);
  Decide();
  now_ += Seconds(60);
  Report1({"a/2"});
  Decide({"a/1"});
  for (int i = 0; i < 100; ++i) {
    now_ += Seconds(10);
    Report1({"a/2"});
    Decide();
  }
  EXPECT_DOUBLE_EQ(book_.mean_at_once(), 0.5) << "a minute of work, and one of the gap";
}

TEST_F(RolloutBookTest, APauseAndTheTimeWithoutWorkDoNotCountInTheAverage) {
  Report1({"a/1", "a/2"});
  Hold("a/1", HeldStage::kBegun);
  Decide();
  now_ += Seconds(6);
  Decide({"a/1"}, "paused by jo");
  now_ += Seconds(20);
  Decide();
  EXPECT_DOUBLE_EQ(book_.mean_at_once(), 1);
  Report1({});
  Decide();
  Hold("b/1", HeldStage::kBegun);
  Hold("b/2", HeldStage::kBegun);
  Decide();
  EXPECT_DOUBLE_EQ(book_.mean_at_once(), 2) << "a new beginning";
}

TEST_F(RolloutBookTest, ASilentManagersOperationsDoNotCountInTheAverage) {
  Report1({"a/1"});
  Hold("a/1", HeldStage::kBegun);
  now_ += kSilent + Seconds(1);
  Report1({"b/1"}, v1::RESTART, "other");
  Decide();
  EXPECT_EQ(book_.mean_at_once(), 0);
}

TEST(MeanAtOnceTest, WhatIsLongAgoCountsLess) {
  MeanAtOnce mean;
  EXPECT_EQ(mean.value(), std::nullopt);
  mean.Add(1, Seconds(600));
  for (int i = 0; i < 20; ++i) mean.Add(5, Seconds(300));
  EXPECT_GT(*mean.value(), 4.9);
}

}  // namespace
}  // namespace shardmanager::taskcontroller
