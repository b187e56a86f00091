// What a scrape of shardmanagerd shows, by its values.
#include "daemon/control_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

namespace shardmanager::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::ControlEvent Event(const std::string& kind, const std::string& app) {
  v1::ControlEvent event;
  event.set_kind(kind);
  event.set_app(app);
  return event;
}

TEST(ControlMetricsTest, CountsEachEventOnceByKindAndApp) {
  Metrics metrics;
  orchestrator::EventLog events;
  events.Append(Event("ServerLost", "kv"));
  const auto limits = std::make_shared<security::Limits>();
  ControlMetrics counted(metrics, events, limits);
  for (int i = 0; i < 3; ++i) events.Append(Event("MoveStarted", "kv"));
  events.Append(Event("MoveStarted", "mail"));

  const auto count = [&](const std::string& kind, const std::string& app) {
    return metrics.AddCounter("shardmanager_events_total",
                              "What the control plane saw and did, by kind (see shardctl watch).",
                              {{"kind", kind}, {"app", app}});
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (count("MoveStarted", "mail").value() < 1) {  // the last one
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_EQ(count("MoveStarted", "mail").value(), 1);
  EXPECT_EQ(count("MoveStarted", "kv").value(), 3);
  EXPECT_EQ(count("ServerLost", "kv").value(), 1) << "it happened before anybody followed";
  EXPECT_EQ(count("ServerLost", "mail").value(), 0);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("shardmanager_events_total{app=\"kv\",kind=\"MoveStarted\"} 3\n"));
}

TEST(ControlMetricsTest, ShowsTheNewestFiguresOfEachApp) {
  Metrics metrics;
  orchestrator::EventLog events;
  events.Show("kv", {.requests_per_s = 1'100, .hottest_shard = 1.5, .shards_hot = 1});
  events.Show("mail", {.requests_per_s = 10});
  events.Hide("mail");
  const auto limits = std::make_shared<security::Limits>();
  ControlMetrics shown(metrics, events, limits);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (metrics.Text().find("shardmanager_app_key_entropy_bits") == std::string::npos) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("shardmanager_app_requests_per_second{app=\"kv\"} 1100\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_app_hottest_shard_ratio{app=\"kv\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_app_shards_hot{app=\"kv\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("mail")));
}

TEST(RefusalMetricsTest, AllReasonsAreThereAtZeroAndCountWhatWasRefusedSince) {
  Metrics metrics;
  const auto limits = std::make_shared<security::Limits>();
  RefusalMetrics shown(metrics, limits);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("shardmanager_refused_calls_total{reason=\"slow_reader\"} 0"));
  limits->Count(security::Refusal::kNoRole);
  limits->Count(security::Refusal::kNoRole);
  shown.Show();
  limits->Count(security::Refusal::kNoRole);
  shown.Show();
  shown.Show();
  EXPECT_THAT(metrics.Text(), HasSubstr("shardmanager_refused_calls_total{reason=\"no_role\"} 3"));
}

}  // namespace
}  // namespace shardmanager::daemon
