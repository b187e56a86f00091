#include "cli/time_text.h"

#include "gtest/gtest.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

using std::chrono::milliseconds;

TEST(AgeTextTest, ShowsTheTwoLargestUnits) {
  EXPECT_EQ(AgeText(milliseconds(-5)), "0s");
  EXPECT_EQ(AgeText(milliseconds(0)), "0s");
  EXPECT_EQ(AgeText(milliseconds(999)), "999ms");
  EXPECT_EQ(AgeText(milliseconds(1'999)), "1s");
  EXPECT_EQ(AgeText(milliseconds(59'999)), "59s");
  EXPECT_EQ(AgeText(milliseconds(60'000)), "1m");
  EXPECT_EQ(AgeText(milliseconds(123'000)), "2m3s");
  EXPECT_EQ(AgeText(milliseconds(3'600'000)), "1h");
  EXPECT_EQ(AgeText(milliseconds(3'660'000)), "1h1m");
  EXPECT_EQ(AgeText(milliseconds(3'605'000)), "1h");
  EXPECT_EQ(AgeText(milliseconds(90'000'000)), "1d1h");
}

TEST(ParseAgeTest, ReadsWhatPeopleWrite) {
  EXPECT_EQ(ParseAge("500ms"), milliseconds(500));
  EXPECT_EQ(ParseAge("10s"), milliseconds(10'000));
  EXPECT_EQ(ParseAge("2m"), milliseconds(120'000));
  EXPECT_EQ(ParseAge("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(ParseAge("1d2h3m4s5ms"), milliseconds(93'784'005));
}

TEST(ParseAgeTest, RefusesTheRest) {
  for (const char* wrong : {"", "10", "s", "10 s", "-1s", "1.5s", "1s1h", "1s1s", "1x", "1s ",
                            "99999999999999999999s", "9999999999999d"}) {
    EXPECT_EQ(ParseAge(wrong), std::nullopt) << wrong;
  }
}

TEST(TimeTextTest, WritesUtc) {
  EXPECT_EQ(TimeText(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(TimeText(1'772'366'400'123), "2026-03-01T12:00:00.123Z");
}

}  // namespace
}  // namespace shardmanager::cli
