// Rollouts as operators see them, through the task controller's core.
#include "taskcontroller/describe/rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/taskcontroller/task_controller_fixture.h"

namespace shardmanager::taskcontroller {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RolloutsTest : public TaskControllerTest {
 protected:
  static ReportedOperation Of(const std::string& rollout, const std::string& server,
                              ReportedStage stage = ReportedStage::kWaiting, uint64_t life = 1) {
    ReportedOperation operation = Restarts(server, stage, life);
    operation.id = rollout.empty() ? server : absl::StrCat(rollout, "/", server);
    return operation;
  }
  std::vector<v1::RolloutStatus> All() const {
    return DescribeRollouts(core_->held(), core_->reports(), core_->answers(), core_->rollouts(),
                            now_);
  }
  v1::RolloutStatus Only() const {
    const auto all = All();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? v1::RolloutStatus() : all.front();
  }
  // The operation on kv-0 begins, then `others` are wanted, too.
  void BeginTheFirst(Operations others) {
    Report1("m", {Of("r", "kv-0", ReportedStage::kBegin)});
    others.push_back(Of("r", "kv-0", ReportedStage::kBegin));
    Report1("m", others);
  }
  // The same, and 10 s after its beginning it is finished.
  void RestartTheFirst(Operations others) {
    BeginTheFirst(others);
    Advance(Seconds(8));
    fleet_.Find("kv-0").life = 2;
    others.push_back(Of("r", "kv-0", ReportedStage::kFinished));
    Report1("m", others);
  }
};

TEST_F(RolloutsTest, TellsWhatIsUnderWayWhatWaitsAndForWhat) {
  BeginTheFirst({Of("r", "kv-1"), Of("r", "kv-2")});
  const v1::RolloutStatus status = Only();
  EXPECT_EQ(status.manager(), "m");
  EXPECT_EQ(status.name(), "r");
  EXPECT_EQ(status.kind(), v1::RESTART);
  EXPECT_EQ(status.begun(), 1U);
  EXPECT_EQ(status.waiting(), 2U);
  EXPECT_EQ(status.at_once(), 1U);
  ASSERT_EQ(status.delays_size(), 1);
  EXPECT_EQ(status.delays(0).reason(), "ShardCap");
  EXPECT_EQ(status.delays(0).operations(), 2U);
  EXPECT_THAT(status.delays(0).message(), HasSubstr("kv-0"));
}

TEST_F(RolloutsTest, TellsForHowLongItGoesAlready) {
  Advance(Seconds(5));
  BeginTheFirst({Of("r", "kv-1")});  // at 6 s, and the others at 7 s
  Advance(Seconds(8));
  EXPECT_EQ(Only().seen_for_ms(), 15'000);
  EXPECT_EQ(Only().began_ms(), 9'000);
  EXPECT_EQ(Only().progress_ms(), 9'000);
  Restart(core_->held());
  Report1("m", {Of("r", "kv-1")});
  EXPECT_EQ(Only().seen_for_ms(), 1'000) << "this leader knows no more";
  EXPECT_EQ(Only().progress_ms(), -1);
}

TEST_F(RolloutsTest, NamesTheThreeMostFrequentDelaysAndTheKindIfAllAreOfOne) {
  ReportedOperation move = Of("r", "kv-1");
  move.info.kind = v1::MOVE;
  BeginTheFirst({Of("r", "kv-8"), Of("r", "kv-9"), move,
                 Of("r", "kv-2", ReportedStage::kWaiting, 3),
                 Of("r", "kv-2x", ReportedStage::kWaiting, 0)});
  const v1::RolloutStatus status = Only();
  EXPECT_EQ(status.kind(), v1::OPERATION_KIND_UNSPECIFIED);
  std::vector<std::string> delays;
  for (const v1::RolloutDelay& delay : status.delays()) {
    delays.push_back(absl::StrCat(delay.operations(), " ", delay.reason()));
  }
  EXPECT_THAT(delays, ::testing::ElementsAre("3 UnknownServer", "1 LifeNotSeen", "1 ShardCap"));
}

TEST_F(RolloutsTest, IdsWithoutARolloutAreCountedTogether) {
  Report1("m", {Of("", "kv-0"), Of("", "kv-1"), Of("r", "kv-2")});
  ASSERT_EQ(All().size(), 2U);
  EXPECT_EQ(All()[0].name(), "");
  EXPECT_EQ(All()[0].approved() + All()[0].waiting(), 2U);
}

TEST_F(RolloutsTest, AFinishedOperationIsCountedOnceHoweverOftenItIsReported) {
  RestartTheFirst({});
  EXPECT_EQ(Only().finished(), 1U);
  EXPECT_EQ(Only().mean_ms(), 10'000);
  Report1("m", {Of("r", "kv-0", ReportedStage::kFinished)});
  Report1("m", {});
  EXPECT_EQ(Only().finished(), 1U);
  EXPECT_EQ(Only().ends_in_ms(), 0);
}

TEST_F(RolloutsTest, AnEndIsCountedWhenItIsStored) {
  Report1("m", {Of("r", "kv-0", ReportedStage::kBegin)});
  fleet_.Find("kv-0").life = 2;
  hold_writes_ = true;
  Report1("m", {Of("r", "kv-0", ReportedStage::kFinished)});
  ASSERT_TRUE(write_.has_value());
  EXPECT_EQ(Only().finished(), 0U);
  Handle(Written{std::exchange(write_, std::nullopt)->write, false});
  EXPECT_EQ(Only().finished(), 0U) << "the store did not take it";
  hold_writes_ = false;
  Advance(Seconds(1));
  EXPECT_EQ(Only().finished(), 1U);
}

TEST_F(RolloutsTest, WhatAnOperatorEndsCountsAsFinished) {
  Report1("m", {Of("r", "kv-0", ReportedStage::kBegin)});
  Report1("m", {});
  ASSERT_EQ(Only().begun(), 1U);
  Handle(Ended{{"m", "r/kv-0"}, "jo"});
  Advance(Seconds(10));
  EXPECT_EQ(Only().begun(), 0U);
  EXPECT_EQ(Only().finished(), 1U);
}

TEST_F(RolloutsTest, WhatIsGivenUpCountsNowhere) {
  Report1("m", {Of("r", "kv-0")});
  ASSERT_EQ(Only().approved(), 1U);
  Report1("m", {});
  EXPECT_EQ(Only().approved(), 0U);
  EXPECT_EQ(Only().finished(), 0U);
}

TEST_F(RolloutsTest, ForecastsByWhatIsExpectedThenByWhatWasMeasured) {
  BeginTheFirst({Of("r", "kv-1"), Of("r", "kv-2")});
  EXPECT_EQ(Only().mean_ms(), -1);
  EXPECT_EQ(Only().ends_in_ms(), 15'000) << "three of 5 s, one at once";
  EXPECT_THAT(Only().forecast_reason(), HasSubstr("as their managers expect"));
  Advance(Seconds(8));
  fleet_.Find("kv-0").life = 2;
  Report1("m", {Of("r", "kv-0", ReportedStage::kFinished), Of("r", "kv-1"), Of("r", "kv-2")});
  EXPECT_EQ(Only().mean_ms(), 10'000);
  EXPECT_EQ(Only().ends_in_ms(), 20'000);
  EXPECT_THAT(Only().forecast_reason(), HasSubstr("as so far"));
}

TEST_F(RolloutsTest, RolloutsOfAnAppAreForecastTogether) {
  Report1("m", {Of("r", "kv-0", ReportedStage::kBegin)});
  Report1("m-2", {Of("r", "kv-1"), Of("r", "kv-2")});
  ASSERT_EQ(All().size(), 2U);
  EXPECT_EQ(All()[0].ends_in_ms(), 15'000);
  EXPECT_EQ(All()[1].ends_in_ms(), 15'000);
}

TEST_F(RolloutsTest, ASilentManagersRolloutHasNoForecastAndOthersDoNotWaitForIt) {
  Report1("m", {Of("r", "kv-0", ReportedStage::kBegin)});
  Advance(Seconds(31));
  Report1("m-2", {Of("r", "kv-1", ReportedStage::kBegin)});
  ASSERT_EQ(All().size(), 2U);
  EXPECT_EQ(All()[0].ends_in_ms(), -1);
  EXPECT_EQ(All()[0].forecast_reason(), "its manager was not heard for 32 s");
  EXPECT_THAT(All()[1].forecast_reason(), HasSubstr("got on for 32 s"));
}

TEST_F(RolloutsTest, WhileTheFleetIsNotKnownThereIsNoForecast) {
  complete_ = false;
  Report1("m", {Of("r", "kv-0")});
  EXPECT_EQ(Only().ends_in_ms(), -1);
  EXPECT_THAT(Only().forecast_reason(), HasSubstr("have not said yet what they hold"));
  EXPECT_EQ(Only().at_once(), 0U);
}

TEST_F(RolloutsTest, ARolloutThatStandsStillHasNoForecast) {
  RestartTheFirst({Of("r", "kv-1"), Of("r", "kv-2")});
  ASSERT_NE(Only().ends_in_ms(), -1);
  fleet_.Find("kv-0").live = false;
  for (int i = 0; i < 8; ++i) {
    Advance(Seconds(9));
    Report1("m", {Of("r", "kv-1"), Of("r", "kv-2")});
  }
  EXPECT_EQ(Only().ends_in_ms(), -1);
  EXPECT_THAT(Only().forecast_reason(), HasSubstr("has got on for"));
  EXPECT_EQ(Only().delays(0).reason(), "ShardCap");
}

TEST_F(RolloutsTest, CountsBeginAnewWithEachLeaderAndSayForHowLong) {
  RestartTheFirst({Of("r", "kv-1", ReportedStage::kBegin)});
  ASSERT_EQ(Only().finished(), 1U);
  Restart(core_->held());
  Advance(Seconds(3));
  EXPECT_EQ(Only().finished(), 0U);
  EXPECT_EQ(Only().begun(), 1U) << "that is stored";
  EXPECT_EQ(Only().seen_for_ms(), 3'000);
  EXPECT_EQ(Only().forecast_reason(), "its manager was not heard since the leader took over");
}

TEST_F(RolloutsTest, StartsAreLeftOut) {
  ReportedOperation start = Of("r", "kv-9");
  start.info.kind = v1::START;
  Report1("m", {start});
  EXPECT_THAT(All(), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::taskcontroller
