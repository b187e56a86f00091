// What goes wrong is seen: `shardctl status` names it, its metric shows it, and its alert fires on
// the series that were recorded, in Prometheus's own test tool. A rolling restart raises no alert.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "runtime/child_process.h"
#include "tests/golden/source_root.h"
#include "tests/local_cluster/ports.h"
#include "tests/support/cluster_fixture.h"
#include "tests/support/http_get.h"

namespace shardmanager::testing {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

constexpr char kRules[] = "deploy/prometheus/shardmanager.rules.yml";
constexpr std::chrono::seconds kWithin{30};

// The series of several processes, a sample of each a second, as promtool takes them.
class Recording {
 public:
  // What `instance` shows now; "": it does not answer, and its series pause.
  void Add(const std::string& instance, const std::string& page) {
    for (const auto line : absl::StrSplit(page, '\n')) {
      const size_t blank = line.rfind(' ');
      if (!absl::StartsWith(line, "shardmanager_") || blank == line.npos) continue;
      if (absl::StrContains(line, "_bucket{")) continue;
      std::string name(line.substr(0, blank));
      const std::string label = absl::StrCat("instance=\"", instance, "\"");
      const size_t brace = name.find('{');
      if (brace == std::string::npos) {
        absl::StrAppend(&name, "{", label, "}");
      } else {
        name.insert(brace + 1, label + ",");
      }
      std::vector<std::string>& samples = series_[name];
      samples.resize(static_cast<size_t>(seconds_), "_");
      samples.emplace_back(line.substr(blank + 1));
    }
  }
  void EndSecond() { ++seconds_; }
  int seconds() const { return seconds_; }

  // One test of promtool: these alerts fire at the end, or none ever.
  std::string Test(const std::string& rules, const std::string& alert) const {
    std::string text = absl::StrCat("rule_files: [", rules,
                                    "]\nevaluation_interval: 1s\ntests:\n- interval: 1s\n  "
                                    "input_series:\n");
    for (const auto& [name, samples] : series_) {
      absl::StrAppend(&text, "  - series: '", name, "'\n    values: '", absl::StrJoin(samples, " "),
                      "'\n");
    }
    absl::StrAppend(&text, "  promql_expr_test:\n");
    for (int second = alert.empty() ? 0 : seconds_ - 1; second < seconds_; ++second) {
      absl::StrAppend(&text, "  - expr: ", Count(alert), "\n    eval_time: ", second,
                      "s\n    exp_samples: [{labels: '{}', value: ", alert.empty() ? 0 : 1, "}]\n");
    }
    return text;
  }

 private:
  static std::string Count(const std::string& alert) {
    return alert.empty() ? "'count(ALERTS{alertstate=\"firing\"}) or vector(0)'"
                         : absl::StrCat(
                               "'count(count by (alertname) (ALERTS{alertstate=\"firing\","
                               "alertname=\"",
                               alert, "\"})) or vector(0)'");
  }

  int seconds_ = 0;
  std::map<std::string, std::vector<std::string>> series_;
};

class AlarmsTest : public ClusterTest {
 protected:
  void SetUp() override {
    auto cluster =
        local::Cluster::Make({.manager_metrics = {manager_port_}, .relay_metrics = {relay_port_}});
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
  }

  // Waits for the next whole second since the start, and records it.
  void RecordASecond(Recording& recording) {
    std::this_thread::sleep_until(began_ + std::chrono::seconds(recording.seconds()));
    recording.Add("manager", HttpGet(manager_port_, "/metrics"));
    recording.Add("relay", HttpGet(relay_port_, "/metrics"));
    recording.EndSecond();
  }

  std::string PromtoolSays(const std::string& test) {
    const std::string file = cluster_->folder() + "/alerts.test.yml";
    std::ofstream(file) << test;
    const std::string log = file + ".log";
    return Run({"promtool", "test", "rules", file}, log);
  }

  // What the program says if it fails, "" else.
  static std::string Run(std::vector<std::string> argv, const std::string& log) {
    std::filesystem::remove(log);
    auto program = ChildProcess::Start({.argv = std::move(argv), .log_file = log});
    if (!program.ok()) {
      return absl::StrCat(program.status().ToString(), "; is Debian's `prometheus` installed?");
    }
    if (program->Wait(std::chrono::seconds(60)) == 0) return "";
    std::ifstream in(log);
    return absl::StrCat("it failed:\n", std::string(std::istreambuf_iterator<char>(in),
                                                    std::istreambuf_iterator<char>()));
  }
  static std::string Rules() { return std::filesystem::absolute(SourceRoot() / kRules); }

  // `shardctl status` ends with 5 and says `reason`, and `alert` fires, both within kWithin.
  void ExpectAlarm(const std::string& reason, const std::string& alert) {
    Recording recording;
    began_ = Clock::now();
    bool named = false;
    std::string said;
    for (int second = 0; second < kWithin / std::chrono::seconds(1); ++second) {
      RecordASecond(recording);
      if (!named) {
        const auto status = cluster_->Shardctl({"status", "--timeout", "2s"});
        said = status.output;
        named = status.exit_code == 5 && absl::StrContains(said, reason);
      }
      if (named && PromtoolSays(recording.Test(Rules(), alert)).empty()) return;
    }
    EXPECT_TRUE(named) << reason << ": " << said;
    EXPECT_EQ(PromtoolSays(recording.Test(Rules(), alert)), "") << alert << " does not fire";
  }

  const int manager_port_ = local::StablePort();
  const int relay_port_ = local::StablePort();
  Clock::time_point began_;
};

TEST_F(AlarmsTest, AServerIsKilled) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(2));
  v1::AppSpec spec = KvSpec(6);
  spec.mutable_failover()->set_delay_ms(60'000);  // its shards wait for it
  SM_ASSERT_OK(ServeShards(spec));
  EXPECT_EQ(cluster_->Shardctl({"status"}).exit_code, 0) << cluster_->Shardctl({"status"}).output;
  cluster_->server("kv-1").Kill();
  ExpectAlarm("ShardsUnserved", "ShardManagerShardsUnserved");
  EXPECT_THAT(cluster_->Shardctl({"get", "shards", "--unserved"}).output, HasSubstr("kv-1"));
  EXPECT_THAT(cluster_->Shardctl({"describe", "app", "kv"}).output, HasSubstr("Not as wanted (3"));
}

// Its file is no database, wherever it goes.
TEST_F(AlarmsTest, AShardIsPoisoned) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(StartServers(3));
  std::filesystem::create_directories(cluster_->data_folder() + "/shard-2.db");
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(6)).status());
  ExpectAlarm("ShardsPoisoned", "ShardManagerShardsPoisoned");
}

TEST_F(AlarmsTest, ADrainIsStuck) {
  SM_ASSERT_OK(StartServing(1, 4));
  EXPECT_EQ(cluster_->Shardctl({"drain", "server", "kv-1"}).exit_code, 0);
  ExpectAlarm("DrainStuck", "ShardManagerDrainStuck");
}

TEST_F(AlarmsTest, ZookeeperIsDown) {
  SM_ASSERT_OK(StartServing(1, 4));
  cluster_->zookeeper().Kill();
  ExpectAlarm("cut off from ZooKeeper", "ShardManagerStoreOutOfTouch");
}

TEST_F(AlarmsTest, ARelayHearsNothing) {
  SM_ASSERT_OK(StartServing(1, 4));
  cluster_->control_plane().Kill();
  Recording recording;
  began_ = Clock::now();
  std::string said = "not asked";
  for (int second = 0; second < 45 && !said.empty(); ++second) {
    RecordASecond(recording);
    if (second >= 20) said = PromtoolSays(recording.Test(Rules(), "ShardManagerRelayStale"));
  }
  EXPECT_EQ(said, "");
}

// The day is a short one: each server stops, in its turn, and comes back.
TEST_F(AlarmsTest, ARollingRestartRaisesNoAlert) {
  SM_ASSERT_OK(StartServing(3, 12));
  Recording recording;
  began_ = Clock::now();
  for (const char* name : {"kv-1", "kv-2", "kv-3"}) {
    ASSERT_EQ(cluster_->Shardctl({"drain", "server", name, "--wait"}).exit_code, 0);
    for (int i = 0; i < 3; ++i) RecordASecond(recording);
    EXPECT_EQ(cluster_->server(name).Stop(), 0);
    SM_ASSERT_OK(cluster_->RestartServer(name));
    ASSERT_EQ(cluster_->Shardctl({"undrain", "server", name}).exit_code, 0);
    for (int i = 0; i < 5; ++i) RecordASecond(recording);
  }
  EXPECT_EQ(PromtoolSays(recording.Test(Rules(), "")), "");
}

// Names, units and help texts are as Prometheus wants them, on both kinds of processes.
TEST_F(AlarmsTest, MetricsFollowTheConventions) {
  SM_ASSERT_OK(StartServing(1, 4));
  for (const int port : {manager_port_, relay_port_}) {
    const std::string page = HttpGet(port, "/metrics");
    const std::string file = cluster_->folder() + "/page.txt";
    std::ofstream(file) << page.substr(page.find("\r\n\r\n") + 4);
    const std::string check = absl::StrCat("promtool check metrics < ", file);
    EXPECT_EQ(Run({"sh", "-c", check}, file + ".log"), "");
  }
}

}  // namespace
}  // namespace shardmanager::testing
