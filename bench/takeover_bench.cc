// How long is nobody in charge when the leader goes? scripts/bench takeover
//
// Two shardmanagerd; ten servers in one process hold 100,000 shards. The leader is
// killed (SIGKILL), or asked to go (SIGTERM). Measured until somebody is in charge again:
// the standby has been elected, has read all records back, and acts on them. Requests go
// on meanwhile, as ever.
//   takeover_kill_ms   beyond the session time-out of the leader that was killed
//   takeover_term_ms   from SIGTERM on
// Told beside them: when its first map, for which it asks every server what it holds, has
// come to a subscriber.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "quantile.h"
#include "runtime/clock.h"
#include "shardmanager/server.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {
namespace {

using local::Cluster;
using local::MapView;

constexpr std::chrono::seconds kPatience{120};

struct Flags {
  int servers = 10;
  int shards = 100'000;
  int rounds = 3;
  int session_timeout_ms = 2'000;
};

class EmptyHandler : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
};

v1::AppSpec Spec(const Flags& flags) {
  v1::AppSpec spec;
  spec.set_name("kv");
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (int shard = 1; shard < flags.shards; ++shard) {
    spec.mutable_key_space()->add_split_points(absl::StrFormat("%07d", shard));
  }
  return spec;
}

class Bench {
 public:
  explicit Bench(const Flags& flags) : flags_(flags) {}

  absl::Status SetUp() {
    auto cluster = Cluster::Make({.session_timeout_ms = flags_.session_timeout_ms});
    if (!cluster.ok()) return cluster.status();
    cluster_ = *std::move(cluster);
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    if (absl::Status s = cluster_->StartStandby(); !s.ok()) return s;
    for (int i = 0; i < flags_.servers; ++i) {
      if (absl::Status s = AddServer(absl::StrCat("server-", i)); !s.ok()) return s;
    }
    if (absl::Status s = cluster_->admin().Apply(Spec(flags_)).status(); !s.ok()) return s;
    return AwaitStandby();
  }

  // The leader gets the signal; the other one takes over and is the next to go.
  absl::StatusOr<double> Round(int signal, const char* name) {
    local::Program& leader = first_leads_ ? cluster_->control_plane() : cluster_->standby();
    const auto map = WatchStandby();
    if (!map->WaitFor([this](const MapView& v) { return IsCurrent(v); }, kPatience)) {
      return absl::DeadlineExceededError("the standby does not relay the leader's map");
    }
    const auto events = cluster_->WatchEvents(StandbyEndpoint());
    const TimePoint begun = MonotonicNow();
    const auto begun_wall = WallMilliseconds();
    kill(leader.pid(), signal);
    MapView view;
    const auto newer = [this](const MapView& v) { return v.version.first > epoch_; };
    if (!map->WaitFor(newer, kPatience, &view)) {
      return absl::DeadlineExceededError("nobody took over");
    }
    const auto taken = events->WaitFor("AppTakenOver", "", begun, kPatience);
    if (!taken) return absl::DeadlineExceededError("the new leader does not say that it leads");
    const auto took = static_cast<double>(taken->event.time_ms() - begun_wall);
    std::printf("%s: %.0f ms; a subscriber has the map after %.0f ms (%s)\n", name, took,
                Ms(view.changed - begun), taken->event.message().c_str());
    std::fflush(stdout);
    if (!view.all_served()) return absl::InternalError("the new leader's map lacks shards");
    leader.Wait(std::chrono::seconds(20));
    if (absl::Status s = leader.Start(); !s.ok()) return s;
    first_leads_ = !first_leads_;
    epoch_ = view.version.first;
    if (absl::Status s = AwaitStandby(); !s.ok()) return s;
    return took;
  }

  std::string Logs() const { return cluster_ ? cluster_->Logs(10) : ""; }

 private:
  absl::Status AddServer(const std::string& name) {
    ServerOptions options;
    options.app = "kv";
    options.name = name;
    options.cell = cluster_->options().cell;
    options.zookeeper = cluster_->zookeeper_endpoint();
    options.listen = "127.0.0.1:0";
    options.fault_domain = {"region-1", "dc-1", name};
    servers_.push_back(std::make_unique<Server>(options));
    // It waits until the app is there, and registers then.
    starters_.emplace_back(
        [server = servers_.back().get(), this] { (void)server->Start(handler_, {}); });
    return absl::OkStatus();
  }

  const std::string& StandbyEndpoint() const {
    return first_leads_ ? cluster_->standby_endpoint() : cluster_->admin_endpoint();
  }

  std::unique_ptr<local::MapWatcher> WatchStandby() const {
    return cluster_->WatchMap(StandbyEndpoint());
  }

  // A new subscriber may get an older map first, and then what has changed since.
  bool IsCurrent(const MapView& view) const {
    return view.version.first == epoch_ && view.all_served();
  }

  // It relays the leader's map as soon as it stands by.
  absl::Status AwaitStandby() {
    const auto map = WatchStandby();
    if (map->WaitFor([this](const MapView& v) { return IsCurrent(v); }, kPatience)) {
      return absl::OkStatus();
    }
    return absl::DeadlineExceededError(map->view().Describe());
  }

  const Flags flags_;
  EmptyHandler handler_;
  std::unique_ptr<Cluster> cluster_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::jthread> starters_;
  bool first_leads_ = true;
  uint64_t epoch_ = 1;  // of the one that leads
};

absl::StatusOr<double> Median(Bench& bench, int signal, const char* name, const Flags& flags) {
  std::vector<double> all;
  for (int i = 0; i < flags.rounds; ++i) {
    const auto took = bench.Round(signal, name);
    if (!took.ok()) return took.status();
    all.push_back(*took);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App cli("Takes leaders away and measures how long nobody is in charge.");
  cli.add_option("--servers", flags.servers)->capture_default_str();
  cli.add_option("--shards", flags.shards)->capture_default_str();
  cli.add_option("--rounds", flags.rounds)->check(CLI::PositiveNumber)->capture_default_str();
  cli.add_option("--session-timeout-ms", flags.session_timeout_ms)->capture_default_str();
  CLI11_PARSE(cli, argc, argv);
  Bench bench(flags);
  absl::Status status = bench.SetUp();
  for (const auto& [signal, name] : {std::pair(SIGKILL, "kill"), std::pair(SIGTERM, "term")}) {
    if (!status.ok()) break;
    const auto took = Median(bench, signal, name, flags);
    status = took.status();
    if (!took.ok()) break;
    const double detection = signal == SIGKILL ? flags.session_timeout_ms : 0;
    std::printf("FIGURE takeover_%s_ms %.0f ms\n", name, *took - detection);
  }
  if (!status.ok()) std::cerr << bench.Logs() << "error: " << status << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) { return shardmanager::Main(argc, argv); }
