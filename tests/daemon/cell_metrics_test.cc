// What a scrape says of the cell and its apps.
#include "daemon/cell_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/driver_metrics.h"
#include "runtime/process_metrics.h"

namespace shardmanager::daemon {
namespace {

using orchestrator::AppNow;
using orchestrator::CellHealth;
using ::testing::HasSubstr;
using ::testing::Not;

AppNow AppWith(const std::string& name, uint32_t unserved) {
  AppNow app{.name = name, .known = true, .shards = 10};
  app.health.set_shards_unserved(unserved);
  app.health.set_servers_live(3);
  app.health.set_longest_unserved_ms(unserved * 1'000);
  return app;
}

v1::Problem ProblemIn(const std::string& app) {
  v1::Problem problem;
  problem.set_app(app);
  problem.set_reason("ShardsUnserved");
  problem.set_severity(v1::Problem::CRITICAL);
  return problem;
}

std::string TextOf(const CellHealth& cell, const std::vector<v1::ZookeeperMember>& members = {}) {
  Metrics metrics;
  const auto source = metrics.AddSource([&] { return FamiliesOf(cell, members); });
  return metrics.Text();
}

CellHealth Leader() { return {.leading = true, .in_touch = true, .leader_epoch = 4}; }

TEST(CellMetricsTest, ShowsEachAppOfTheLeader) {
  CellHealth cell = Leader();
  cell.apps = {AppWith("kv", 2), AppWith("mail", 0)};
  cell.problems = {ProblemIn("kv")};
  const std::string text = TextOf(cell);
  for (const char* line :
       {"shardmanager_leader 1\n", "shardmanager_leader_epoch 4\n",
        "shardmanager_app_shards_unserved{app=\"kv\"} 2\n",
        "shardmanager_app_shards_unserved{app=\"mail\"} 0\n",
        "shardmanager_app_longest_unserved_seconds{app=\"kv\"} 2\n",
        "shardmanager_app_servers{app=\"kv\",state=\"live\"} 3\n",
        "shardmanager_app_servers{app=\"kv\",state=\"lost\"} 0\n",
        "shardmanager_app_moves{app=\"kv\",cause=\"drain\"} 0\n",
        "shardmanager_problems{app=\"kv\",reason=\"ShardsUnserved\",severity=\"critical\"} 1\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("reason=\"ShardsUnserved\",app=\"mail\"")));
}

TEST(CellMetricsTest, AStandbySaysNothingOfApps) {
  const std::string text = TextOf({.in_touch = true, .leader_epoch = 4});
  EXPECT_THAT(text, HasSubstr("shardmanager_leader 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("app=")));
}

TEST(CellMetricsTest, AnAppWhoseRecordsAreReadHasNoFigures) {
  CellHealth cell = Leader();
  cell.apps = {{.name = "kv"}};
  EXPECT_THAT(TextOf(cell), Not(HasSubstr("app=\"kv\"")));
}

TEST(CellMetricsTest, TenThousandAppsLeaveThePageUsable) {
  CellHealth cell = Leader();
  for (int i = 0; i < 10'000; ++i) cell.apps.push_back(AppWith(absl::StrCat("app-", i), 0));
  cell.apps.back() = AppWith("app-9999", 7);
  cell.problems = {ProblemIn("app-9999")};
  const std::string text = TextOf(cell);
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 6'000);
  EXPECT_THAT(text, HasSubstr("shardmanager_app_shards_unserved{app=\"app-9999\"} 7\n"))
      << "an app with a problem is shown by its name";
  EXPECT_THAT(text, HasSubstr("shardmanager_app_shards{app=\"_other\"} 98000\n"));
}

TEST(CellMetricsTest, AZookeeperServerThatIsNotKnownHasNoSeries) {
  std::vector<v1::ZookeeperMember> members(3);
  for (int i = 0; i < 3; ++i) members[i].set_endpoint(absl::StrCat("z", i));
  members[0].set_state("leader");
  members[1].set_state("silent");
  members[2].set_state("unknown");
  const std::string text = TextOf(Leader(), members);
  EXPECT_THAT(text, HasSubstr("shardmanager_zookeeper_member_up{server=\"z0\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_zookeeper_member_up{server=\"z1\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("z2")));
}

// A control thread that hangs must not make yesterday's figures look like today's.
TEST(CellMetricsTest, SaysHowOldItsFiguresAre) {
  Metrics metrics;
  std::promise<void> looked_twice;
  int looks = 0;
  CellMetrics shown(metrics, {.look =
                                  [&](const auto& reply) {
                                    if (looks == 0) reply(Leader());
                                    if (++looks == 2) looked_twice.set_value();
                                  },
                              .zookeeper = [] { return std::vector<v1::ZookeeperMember>(); },
                              .after_look = nullptr});
  looked_twice.get_future().wait();
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("shardmanager_leader 1\n"));
  EXPECT_THAT(text, HasSubstr("shardmanager_health_age_seconds"));
  EXPECT_THAT(text, Not(HasSubstr("shardmanager_health_age_seconds 0\n")));
}

TEST(DriverMetricsTest, HistogramsAreBornAtZero) {
  Metrics metrics;
  DriverMetrics meter(metrics);
  EXPECT_THAT(metrics.Text(), HasSubstr("shardmanager_command_duration_seconds_count{"
                                        "command=\"add\",outcome=\"failed\"} 0"));
  meter.Commanded(CommandKind::kAdd, orchestrator::CommandOutcome::kUnreachable, Milliseconds(40));
  meter.TookOver(Milliseconds(300));
  EXPECT_THAT(metrics.Text(), HasSubstr("shardmanager_command_duration_seconds_count{"
                                        "command=\"add\",outcome=\"unreachable\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr("shardmanager_takeover_duration_seconds_sum 0.3\n"));
}

TEST(ProcessMetricsTest, TellsWhatPrometheusExpectsOfEveryProcess) {
  Metrics metrics;
  const auto source = metrics.AddSource(ProcessMetrics);
  for (const char* name :
       {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
        "process_max_fds", "process_start_time_seconds", "process_virtual_memory_bytes"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(absl::StrCat("\n", name, " ")));
  }
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("process_resident_memory_bytes 0\n")));
}

}  // namespace
}  // namespace shardmanager::daemon
