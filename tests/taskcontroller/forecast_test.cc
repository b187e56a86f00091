#include "taskcontroller/describe/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardmanager::taskcontroller {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

// Four at once, 30 s each, and all goes well.
WorkLeft Work(uint32_t under_way, uint32_t waiting) {
  return {.under_way = under_way,
          .waiting = waiting,
          .usual_times = Seconds(30) * (under_way + waiting),
          .longest_usual = Seconds(30),
          .last_ends_in = Seconds(20),
          .mean_at_once = 4,
          .may_be_at_once = 4,
          .no_progress_for = Seconds(1)};
}

TEST(ForecastTest, IsTheWorkThatIsLeftOverHowMuchIsDoneAtOnce) {
  const Forecast forecast = ForecastOf(Work(4, 36));
  EXPECT_THAT(forecast.ends_in, Optional(Seconds(300)));
  EXPECT_EQ(forecast.reason,
            "if the operations of the app go on as so far: 4.0 at once on average");
}

TEST(ForecastTest, CountsRolloutsOfDifferentLengthByTheirOwnTimes) {
  WorkLeft work = Work(4, 36);
  work.usual_times = Seconds(20 * 30 + 20 * 90);
  EXPECT_THAT(ForecastOf(work).ends_in, Optional(Seconds(600)));
}

TEST(ForecastTest, WhatWaitsTakesItsTimeHoweverManyGoAtOnce) {
  EXPECT_THAT(ForecastOf(Work(0, 1)).ends_in, Optional(Seconds(30)));
}

TEST(ForecastTest, WhereNothingWaitsItEndsWithTheLastThatIsUnderWay) {
  EXPECT_THAT(ForecastOf(Work(2, 0)).ends_in, Optional(Seconds(20)));
}

TEST(ForecastTest, PromisesNothingWhenTheLastTakesLongerThanUsual) {
  WorkLeft work = Work(1, 0);
  work.last_ends_in = Seconds(-1);
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
  EXPECT_THAT(ForecastOf(work).reason, HasSubstr("longer than the operations before it"));
  work.measured = false;
  EXPECT_THAT(ForecastOf(work).reason, HasSubstr("longer than its manager expects"));
}

TEST(ForecastTest, SaysThatItRestsOnWhatManagersExpectWhileNoneHasFinished) {
  WorkLeft work = Work(4, 36);
  work.measured = false;
  EXPECT_THAT(ForecastOf(work).ends_in, Optional(Seconds(300)));
  EXPECT_THAT(ForecastOf(work).reason, HasSubstr("as long as their managers expect"));
}

TEST(ForecastTest, IsUnknownWhileNothingMayBeApproved) {
  WorkLeft work = Work(1, 10);
  work.held_back = "paused by jo";
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
  EXPECT_EQ(ForecastOf(work).reason, "nothing is approved: paused by jo");
}

TEST(ForecastTest, IsUnknownBeforeTheFirstOneIsApproved) {
  WorkLeft work = Work(0, 10);
  work.no_progress_for.reset();
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
  EXPECT_EQ(ForecastOf(work).reason, "no operation was approved yet");
}

TEST(ForecastTest, IsUnknownWhenNothingHasGotOnForMuchLongerThanUsual) {
  WorkLeft work = Work(1, 10);
  work.no_progress_for = Seconds(90);
  EXPECT_NE(ForecastOf(work).ends_in, std::nullopt);
  work.no_progress_for = Seconds(91);
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
  EXPECT_EQ(ForecastOf(work).reason, "no operation of the app has got on for 91 s");
}

TEST(ForecastTest, IsAYearAtMost) {
  WorkLeft work = Work(1, 10);
  work.mean_at_once = 1e-12;
  EXPECT_THAT(ForecastOf(work).ends_in, Optional(Seconds(365 * 86'400)));
}

// While a server loads after its restart, nothing is under way for a moment, and nothing may be.
TEST(ForecastTest, IsUnknownWhenNothingIsUnderWayOrMayBeForLongerThanUsual) {
  WorkLeft work = Work(0, 10);
  work.may_be_at_once = 0;
  work.no_progress_for = Seconds(30);
  EXPECT_NE(ForecastOf(work).ends_in, std::nullopt) << "a gap";
  work.no_progress_for = Seconds(31);
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
}

// Managers report every five seconds.
TEST(ForecastTest, HasAFewReportsPatienceWithShortOperations) {
  WorkLeft work = Work(1, 10);
  work.longest_usual = Milliseconds(500);
  work.no_progress_for = Seconds(15);
  EXPECT_NE(ForecastOf(work).ends_in, std::nullopt);
  work.no_progress_for = Seconds(16);
  EXPECT_EQ(ForecastOf(work).ends_in, std::nullopt);
}

TEST(SpanTextTest, IsShort) {
  EXPECT_EQ(SpanText(Milliseconds(61'400)), "61 s");
  EXPECT_EQ(SpanText(Seconds(360)), "6 min");
}

}  // namespace
}  // namespace shardmanager::taskcontroller
