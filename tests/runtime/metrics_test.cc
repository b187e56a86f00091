#include "runtime/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "tests/support/http_get.h"

namespace shardmanager {
namespace {

using testing::Connection;
using ::testing::HasSubstr;
using testing::HttpGet;

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

TEST(MetricsServerTest, AnswersAScrape) {
  Metrics metrics;
  const Counter counter = metrics.AddCounter("shardmanager_x_total", "X.");
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  counter.Add(5);
  const std::string answer = HttpGet((*server)->port(), "/metrics");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("shardmanager_x_total 5\n"));
}

TEST(MetricsServerTest, IdleConnectionsDoNotHoldUpAScrape) {
  Metrics metrics;
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  std::deque<Connection> idle;
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(idle.emplace_back((*server)->port()).connected());
    if (i % 2 == 1) {
      ASSERT_TRUE(idle.back().Send("GET /metrics"));  // and never ends its request
    }
  }
  EXPECT_THAT(HttpGet((*server)->port(), "/metrics"), HasSubstr("200 OK"));
  EXPECT_TRUE(idle.front().IsIdle()) << "the scrape had to wait for the idle connection's end";
}

TEST(MetricsServerTest, ClosesIdleConnectionsThatTakeAllItsThreads) {
  Metrics metrics;
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  std::deque<Connection> idle;
  for (int i = 0; i < 2 * MetricsServer::kConnections; ++i) {
    ASSERT_TRUE(idle.emplace_back((*server)->port()).connected());
  }
  EXPECT_THAT(HttpGet((*server)->port(), "/metrics"), HasSubstr("200 OK"));
  EXPECT_FALSE(idle.front().IsIdle());
}

TEST(MetricsServerTest, SaysWhichAddressIsTaken) {
  Metrics metrics;
  auto first = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string listen = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = MetricsServer::Start(listen, metrics);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(listen));
}

TEST(MetricsServerTest, RefusesNonsense) {
  Metrics metrics;
  EXPECT_EQ(MetricsServer::Start("nonsense", metrics).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace shardmanager
