// What the console costs over an app of 100,000 shards with 100 servers, in a real browser.
// scripts/bench console
//
//   console_first_paint_ms      from navigation until the list of shards is painted: median of 10
//   console_filter_ms           from a keystroke in the filter until the rows that fit are painted:
//                               median of 40; console_filter_p95_ms: the 95th percentile
//   console_deciding_ms         processor time that the deciding thread pays for an answer with all
//                               shards, which is asked of it at most once a second: median of 10
//   console_table_ms            to make the table of rows of it, on the console's own thread
//   console_query_ms            to filter it and sort it by requests
//   console_heap_mib            what the table keeps while somebody looks
//
// The app's state is a real one, of the orchestrator's core; servers and ZooKeeper are not there,
// and the browser is on this machine.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "console/console.h"
#include "console/shard_rows.h"
#include "core/world.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/describe/status.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kServers = 100;
constexpr uint32_t kShards = 100'000;
constexpr int kRuns = 10;

double CpuMilliseconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename Work>
double MedianCpu(Work work) {
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    const double before = CpuMilliseconds();
    work();
    times.push_back(CpuMilliseconds() - before);
  }
  return Median(times);
}

// Answers as Operations does, of one app.
class CoreSource final : public console::Source {
 public:
  CoreSource() {
    v1::AppSpec spec;
    spec.set_name("bench");
    for (uint32_t i = 0; i < kShards; ++i)
      spec.mutable_key_space()->add_shards()->set_id(NthShard(i));
    spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
    world_.Send(StoredPrimaries(WithDefaults(std::move(spec)), kServers, kShards));
    world_.Pump();
    world_.SendResults();
    world_.Pump();
  }

  absl::StatusOr<v1::GetStatusResponse> Status() override {
    v1::GetStatusResponse status;
    status.set_cell("bench");
    status.set_leading(true);
    return status;
  }
  absl::StatusOr<v1::GetAppsResponse> Apps(const std::string&) override {
    const std::lock_guard lock(mutex_);
    v1::GetAppsResponse apps;
    *apps.add_apps() = DescribeApp(state(), TimePoint{});
    return apps;
  }
  absl::StatusOr<v1::GetServersResponse> Servers(const std::string&) override {
    const std::lock_guard lock(mutex_);
    v1::GetServersResponse servers;
    for (auto& server : DescribeServers(state(), TimePoint{}, "")) {
      *servers.add_servers() = std::move(server);
    }
    return servers;
  }
  absl::StatusOr<v1::GetShardsResponse> Shards(const std::string&) override {
    const std::lock_guard lock(mutex_);
    v1::GetShardsResponse shards;
    for (auto& shard : DescribeShards(state(), "")) *shards.add_shards() = std::move(shard);
    return shards;
  }
  absl::StatusOr<v1::ExplainShardResponse> Explain(const std::string&,
                                                   const std::string&) override {
    return absl::NotFoundError("not in this benchmark");
  }
  absl::StatusOr<v1::GetOperationsResponse> Operations(const std::string&) override {
    return v1::GetOperationsResponse();
  }
  absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string&) override {
    return v1::GetRolloutsResponse();
  }
  absl::StatusOr<v1::GetMaintenancesResponse> Maintenances(const std::string&) override {
    return v1::GetMaintenancesResponse();
  }
  absl::StatusOr<v1::GetHistoryResponse> History(const v1::GetHistoryRequest&) override {
    return v1::GetHistoryResponse();
  }

 private:
  const PartitionState& state() { return world_.partition().state(); }

  std::mutex mutex_;
  World world_;
};

int Main() {
  CoreSource source;
  Figure("console_deciding_ms", MedianCpu([&] { (void)source.Shards("bench"); }), "ms");
  {
    const auto servers = source.Servers("bench");
    const auto shards = source.Shards("bench");
    std::printf("FIGURE console_table_ms %.1f ms\n",
                MedianCpu([&] { const console::ShardRows rows(*shards, *servers); }));
    const size_t before = mallinfo2().uordblks;
    const console::ShardRows rows(*shards, *servers);
    std::printf("FIGURE console_heap_mib %.1f MiB\n",
                static_cast<double>(mallinfo2().uordblks - before) / (1 << 20));
    std::printf("FIGURE console_query_ms %.1f ms\n", MedianCpu([&] {
                  (void)rows.Find({.filter = "99", .sort = "requests", .limit = 100});
                }));
  }
  auto console = console::Console::Start({.listen = "127.0.0.1:0"}, source);
  if (!console.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(console.status().message()).c_str());
    return 1;
  }
  std::fflush(stdout);
  const std::string command = absl::StrCat("python3 " SM_MEASURE " ", (*console)->url(), " bench");
  return std::system(command.c_str()) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager::orchestrator

int main() { return shardmanager::orchestrator::Main(); }
