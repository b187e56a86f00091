#include "runtime/metrics_server.h"

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

TEST(MetricsServerTest, AnswersAScrape) {
  Metrics metrics;
  const Counter counter = metrics.AddCounter("shardmanager_x_total", "X.");
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  counter.Add(5);
  const std::string answer = HttpGet((*server)->port(), "/metrics");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer, HasSubstr("shardmanager_x_total 5\n"));
}

TEST(MetricsServerTest, SaysWhetherTheProcessLivesAndIsReady) {
  Metrics metrics;
  Health health;
  health.ready = [] { return absl::UnavailableError("no process is known to lead"); };
  auto server = MetricsServer::Start("127.0.0.1:0", metrics, health);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(HttpGet((*server)->port(), "/healthz"), HasSubstr("200 OK"));
  EXPECT_THAT(HttpGet((*server)->port(), "/healthz"), HasSubstr("\r\n\r\nok\n"));
  const std::string ready = HttpGet((*server)->port(), "/readyz");
  EXPECT_THAT(ready, HasSubstr("503 Service Unavailable"));
  EXPECT_THAT(ready, HasSubstr("\r\n\r\nno process is known to lead\n"));
}

TEST(MetricsServerTest, TwentyIdleConnectionsDoNotHoldUpAScrape) {
  Metrics metrics;
  auto server = MetricsServer::Start("127.0.0.1:0", metrics);
  ASSERT_TRUE(server.ok()) << server.status();
  std::deque<Connection> idle;
  for (int i = 0; i < 20; ++i) {
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
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("--metrics-listen"));
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(listen));
}

TEST(MetricsServerTest, RefusesNonsense) {
  Metrics metrics;
  EXPECT_EQ(MetricsServer::Start("nonsense", metrics).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace shardmanager
