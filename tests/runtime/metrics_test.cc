#include "runtime/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

TEST(MetricsTest, RendersCountersGaugesAndHistograms) {
  Metrics metrics;
  metrics.AddCounter("shardmanager_moves_total", "Moves begun.", {{"app", "kv"}}).Add(3);
  metrics.AddGauge("shardmanager_servers", "Live servers.").Set(6);
  const Histogram repair =
      metrics.AddHistogram("shardmanager_repair_seconds", "Repairs.", {0.1, 1});
  repair.Observe(Milliseconds(50));
  repair.Observe(0.5);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("# HELP shardmanager_moves_total Moves begun.\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_moves_total{app=\"kv\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_servers 6\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_sum 0.55\n"));
}

TEST(MetricsTest, AHistogramCountsEachValueOnceWhoeverLooksMeanwhile) {
  Metrics metrics;
  const Histogram repair =
      metrics.AddHistogram("shardmanager_repair_seconds", "Repairs.", {0.125, 1});
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kEach; ++i) repair.Observe(i % 2 == 0 ? 0.125 : 1.5);
      });
    }
    for (int i = 0; i < 100; ++i) metrics.Text();
  }
  for (int look = 0; look < 2; ++look) {
    const std::string text = metrics.Text();
    EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_bucket{le=\"0.125\"} 40000\n"));
    EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_bucket{le=\"1\"} 40000\n"));
    EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_bucket{le=\"+Inf\"} 80000\n"));
    EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_count 80000\n"));
    EXPECT_THAT(text, HasSubstr("shardmanager_repair_seconds_sum 65000"));
  }
}

TEST(MetricsTest, OneNameAndLabelsAreOneMetric) {
  Metrics metrics;
  const Counter a = metrics.AddCounter("shardmanager_x_total", "X.", {{"app", "kv"}});
  const Counter b = metrics.AddCounter("shardmanager_x_total", "X.", {{"app", "kv"}});
  const Counter other = metrics.AddCounter("shardmanager_x_total", "X.", {{"app", "mail"}});
  a.Add();
  b.Add();
  EXPECT_EQ(a.value(), 2);
  EXPECT_EQ(other.value(), 0);
}

TEST(MetricsTest, AHandleThatNobodyGaveCountsNothing) {
  Counter().Add();
  Gauge().Set(1);
  Histogram().Observe(1.0);
  EXPECT_EQ(Counter().value(), 0);
}

TEST(MetricsDeathTest, RefusesNamesAgainstTheConvention) {
  Metrics metrics;
  EXPECT_DEATH(metrics.AddCounter("moves_total", ""), "begin with shardmanager_");
  EXPECT_DEATH(metrics.AddCounter("shardmanager_moves", ""), "end in");
  EXPECT_DEATH(metrics.AddHistogram("shardmanager_repair_ms", ""), "end in its unit");
}

}  // namespace
}  // namespace shardmanager
