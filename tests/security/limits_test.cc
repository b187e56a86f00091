#include "security/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardmanager::security {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Open = OpenCounts::Open;

constexpr TimePoint kNow{Seconds(1'000)};

// Those of `calls` that are let through.
template <typename Begin>
std::vector<Open> Opened(int calls, const Begin& begin) {
  std::vector<Open> opened;
  for (int i = 0; i < calls; ++i) {
    if (auto open = begin(); open.ok()) opened.push_back(*std::move(open));
  }
  return opened;
}

TEST(LimitsTest, AnIdentityHasNoMoreStreamsOpenThanItMayAndOthersHaveTheirs) {
  Limits limits({.streams = 3});
  const auto opened = Opened(5, [&] { return limits.BeginStream("client/a"); });
  EXPECT_EQ(opened.size(), 3u);
  EXPECT_EQ(limits.refused(Refusal::kStreams), 2u);
  EXPECT_EQ(Opened(5, [&] { return limits.BeginStream("client/b"); }).size(), 3u);
}

TEST(LimitsTest, WhatEndsMakesRoom) {
  Limits limits({.streams = 2});
  auto opened = Opened(2, [&] { return limits.BeginStream("client/a"); });
  ASSERT_FALSE(limits.BeginStream("client/a").ok());
  opened.pop_back();
  EXPECT_TRUE(limits.BeginStream("client/a").ok());
  opened[0] = Open();  // ends what was there
  EXPECT_EQ(Opened(3, [&] { return limits.BeginStream("client/a"); }).size(), 2u);
}

TEST(LimitsTest, ARefusalSaysWhoWhatHowManyAndByWhichFlag) {
  Limits limits({.streams = 1});
  const auto first = limits.BeginStream("client/a");
  const absl::Status refused = limits.BeginStream("client/a").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("client/a has 1 streams of shard maps"), HasSubstr("allowed: 1"),
                    HasSubstr("--streams")));
}

TEST(LimitsTest, CallsAreLimitedByRateAndAtOnce) {
  Limits limits({.calls_per_s = 10, .calls_at_once = 4});
  const auto begin = [&] { return limits.BeginCall("operator/a", kNow); };
  const auto under_way = Opened(6, begin);  // a burst may be of 20
  EXPECT_EQ(under_way.size(), 4u);
  EXPECT_EQ(limits.refused(Refusal::kCallsAtOnce), 2u);
  EXPECT_EQ(limits.refused(Refusal::kCallRate), 0u);
  Opened(20, begin);
  EXPECT_EQ(limits.refused(Refusal::kCallRate), 6u);
}

TEST(LimitsTest, NothingSaidIsNoLimit) {
  Limits limits;
  const auto calls = Opened(1'000, [&] { return limits.BeginCall("operator/a", kNow); });
  const auto streams = Opened(1'000, [&] { return limits.BeginStream("operator/a"); });
  EXPECT_EQ(calls.size() + streams.size(), 2'000u);
}

TEST(LimitsTest, EachReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kRefusals; ++i) names.insert(NameOf(static_cast<Refusal>(i)));
  EXPECT_EQ(names.size(), kRefusals);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(OpenCountsTest, WhoHasNothingOpenIsForgotten) {
  OpenCounts counts(10, "streams", "--streams");
  {
    const auto opened = Opened(3, [&] { return counts.Begin("client/a"); });
    EXPECT_EQ(counts.open(), 3u);
    EXPECT_EQ(counts.size(), 1u);
  }
  EXPECT_EQ(counts.open(), 0u);
  EXPECT_EQ(counts.size(), 0u);
}

TEST(OpenCountsTest, WhatIsOpenMayOutliveTheCounts) {
  Open open;
  {
    OpenCounts counts(1, "streams", "--streams");
    open = *counts.Begin("client/a");
  }
}

}  // namespace
}  // namespace shardmanager::security
