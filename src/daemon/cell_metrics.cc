#include "daemon/cell_metrics.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/app_labels.h"
#include "runtime/clock.h"

namespace shardmanager::daemon {
namespace {

using orchestrator::AppNow;
using orchestrator::CellHealth;

constexpr Duration kPeriod = Seconds(1);

using Labels = std::map<std::string, std::string>;

MetricFamily One(const char* name, const char* help, double value, Labels labels = {}) {
  return {.name = name, .help = help, .samples = {{std::move(labels), value}}};
}

// One gauge for each app.
struct AppGauge {
  const char* name;
  const char* help;
  double (*value)(const AppNow&);
  bool is_greatest = false;  // of several apps: their greatest, not their sum
};

constexpr auto kAppGauges = std::to_array<AppGauge>({
    {"shardmanager_app_shards", "Shards that the spec names.",
     [](const AppNow& a) { return double(a.shards); }},
    {"shardmanager_app_shards_unserved", "Shards that clients cannot use.",
     [](const AppNow& a) { return double(a.health.shards_unserved()); }},
    {"shardmanager_app_shards_without_primary",
     "Of the unserved shards: those with replicas that serve, and no primary.",
     [](const AppNow& a) { return double(a.health.shards_without_primary()); }},
    {"shardmanager_app_shards_below_replicas",
     "Shards that are served by fewer replicas than they are to have.",
     [](const AppNow& a) { return double(a.health.shards_below_replicas()); }},
    {"shardmanager_app_shards_poisoned",
     "Shards that failed on several servers in a row, and stay with the last one.",
     [](const AppNow& a) { return double(a.health.shards_poisoned()); }},
    {"shardmanager_app_shards_waiting_for_place", "Shards of which a replica has no place yet.",
     [](const AppNow& a) { return double(a.health.shards_waiting_for_place()); }},
    {"shardmanager_app_longest_unserved_seconds",
     "How long the shard has been unserved that has been so for longest; 0: all are served.",
     [](const AppNow& a) { return double(a.health.longest_unserved_ms()) / 1e3; }, true},
    {"shardmanager_app_replicas_wanted", "Replicas that the spec and the load ask for.",
     [](const AppNow& a) { return double(a.replicas_wanted); }},
    {"shardmanager_app_replicas_serving", "Replicas that clients are sent to.",
     [](const AppNow& a) { return double(a.replicas_serving); }},
    {"shardmanager_app_servers_draining_stuck",
     "Servers that are to be emptied, and that nothing can leave now.",
     [](const AppNow& a) { return double(a.health.servers_draining_stuck()); }},
    {"shardmanager_app_map_sequence",
     "Version of the newest map that this leader has published; with shardmanager_leader_epoch.",
     [](const AppNow& a) { return double(a.map.sequence()); }, true},
});

struct Split {
  const char* value;  // of the label
  double (*count)(const v1::AppHealth&);
};
constexpr auto kServerStates = std::to_array<Split>({
    {"live", [](const v1::AppHealth& h) { return double(h.servers_live()); }},
    {"draining", [](const v1::AppHealth& h) { return double(h.servers_draining()); }},
    {"drained", [](const v1::AppHealth& h) { return double(h.servers_drained()); }},
    {"quarantined", [](const v1::AppHealth& h) { return double(h.servers_quarantined()); }},
    {"lost", [](const v1::AppHealth& h) { return double(h.servers_lost()); }},
    {"away", [](const v1::AppHealth& h) { return double(h.servers_away()); }},
});
constexpr auto kMoveCauses = std::to_array<Split>({
    {"placement", [](const v1::AppHealth& h) { return double(h.placements_under_way()); }},
    {"failover", [](const v1::AppHealth& h) { return double(h.failovers_under_way()); }},
    {"balance", [](const v1::AppHealth& h) { return double(h.balance_moves_under_way()); }},
    {"drain", [](const v1::AppHealth& h) { return double(h.drain_moves_under_way()); }},
});

// The names under which apps are shown: those with problems have theirs first.
AppLabels LabelsFor(const CellHealth& cell) {
  AppLabels labels;
  for (const v1::Problem& problem : cell.problems) labels.Of(problem.app());
  return labels;
}

class AppFamilies {
 public:
  explicit AppFamilies(const CellHealth& cell) : cell_(cell), labels_(LabelsFor(cell)) {}

  void AddTo(std::vector<MetricFamily>& all) {
    for (const AppGauge& gauge : kAppGauges) {
      Sums sums;
      for (const AppNow& app : cell_.apps) {
        if (!app.known) continue;
        double& sum = sums[{labels_.Of(app.name), ""}];
        const double value = gauge.value(app);
        sum = gauge.is_greatest ? std::max(sum, value) : sum + value;
      }
      all.push_back(FamilyOf(gauge.name, gauge.help, "", sums));
    }
    AddSplit("shardmanager_app_servers", "Servers of the app by state (AppHealth in admin.proto).",
             "state", kServerStates, all);
    AddSplit("shardmanager_app_moves", "Replicas on their way, by what they are for.", "cause",
             kMoveCauses, all);
    AddProblems(all);
  }

 private:
  using Sums = std::map<std::pair<std::string, std::string>, double>;  // by app, and a label

  static MetricFamily FamilyOf(const char* name, const char* help, const char* label,
                               const Sums& sums) {
    MetricFamily family{.name = name, .help = help};
    for (const auto& [key, value] : sums) {
      Labels labels{{"app", key.first}};
      if (*label != '\0') labels[label] = key.second;
      family.samples.push_back({std::move(labels), value});
    }
    return family;
  }

  template <typename Splits>
  void AddSplit(const char* name, const char* help, const char* label, const Splits& splits,
                std::vector<MetricFamily>& all) {
    Sums sums;
    for (const AppNow& app : cell_.apps) {
      if (!app.known) continue;
      for (const Split& split : splits) {
        sums[{labels_.Of(app.name), split.value}] += split.count(app.health);
      }
    }
    all.push_back(FamilyOf(name, help, label, sums));
  }

  // As `shardctl status` has them: 1 for each kind and app.
  void AddProblems(std::vector<MetricFamily>& all) {
    std::set<std::array<std::string, 3>> problems;
    for (const v1::Problem& problem : cell_.problems) {
      const bool critical = problem.severity() == v1::Problem::CRITICAL;
      problems.insert(
          {labels_.Of(problem.app()), problem.reason(), critical ? "critical" : "warning"});
    }
    MetricFamily family{.name = "shardmanager_problems",
                        .help = "What is wrong, as shardctl status lists it: 1 while it is."};
    for (const auto& [app, reason, severity] : problems) {
      family.samples.push_back({{{"app", app}, {"reason", reason}, {"severity", severity}}, 1});
    }
    all.push_back(std::move(family));
  }

  const CellHealth& cell_;
  AppLabels labels_;
};

void AddZookeeper(const std::vector<v1::ZookeeperMember>& members, std::vector<MetricFamily>& all) {
  MetricFamily up{.name = "shardmanager_zookeeper_member_up",
                  .help = "Whether this ZooKeeper server serves; missing: not known."};
  MetricFamily latency{.name = "shardmanager_zookeeper_member_latency_seconds",
                       .help = "How long requests take it on average, as it says."};
  for (const v1::ZookeeperMember& member : members) {
    if (member.state() == "unknown") continue;
    const Labels labels{{"server", member.endpoint()}};
    const bool serves = member.state() != "silent" && member.state() != "no quorum";
    up.samples.push_back({labels, serves ? 1.0 : 0.0});
    if (serves) latency.samples.push_back({labels, member.latency_ms() / 1e3});
  }
  all.push_back(std::move(up));
  all.push_back(std::move(latency));
}

}  // namespace

std::vector<MetricFamily> FamiliesOf(const CellHealth& cell,
                                     const std::vector<v1::ZookeeperMember>& zookeeper) {
  std::vector<MetricFamily> all;
  all.push_back(
      One("shardmanager_leader", "1: this process leads, and can prove it.", cell.leading ? 1 : 0));
  all.push_back(One("shardmanager_leader_epoch", "Of the leader, as far as it is known; else 0.",
                    static_cast<double>(cell.leader_epoch)));
  all.push_back(One("shardmanager_leader_term_seconds",
                    "How long this process has led; 0: it does not.", InSeconds(cell.led_for)));
  all.push_back(One("shardmanager_store_connected", "1: there is a connection to ZooKeeper.",
                    cell.connected ? 1 : 0));
  all.push_back(One("shardmanager_store_in_touch",
                    "0: ZooKeeper has not answered for so long that another process may lead.",
                    cell.in_touch ? 1 : 0));
  all.push_back(One("shardmanager_store_silent_seconds",
                    "Since ZooKeeper last answered a write of this process.",
                    InSeconds(cell.silent_for)));
  all.push_back(One("shardmanager_store_session_age_seconds",
                    "Age of the session with ZooKeeper; 0: there is none.",
                    InSeconds(cell.session_age)));
  AppFamilies(cell).AddTo(all);
  AddZookeeper(zookeeper, all);
  return all;
}

CellMetrics::CellMetrics(Metrics& metrics, Ports ports)
    : ports_(std::move(ports)),
      source_(metrics.AddSource([this] { return Families(); })),
      thread_([this] { Watch(); }) {}

CellMetrics::~CellMetrics() {
  {
    std::lock_guard lock(seen_->mutex);
    seen_->stop = true;
  }
  seen_->changed.notify_all();
  thread_.join();
}

void CellMetrics::Watch() {
  std::unique_lock lock(seen_->mutex);
  while (!seen_->stop) {
    const TimePoint asked_at = MonotonicNow();
    if (!std::exchange(seen_->awaited, true)) {
      lock.unlock();
      ports_.look([seen = seen_](CellHealth cell) {
        std::lock_guard locked(seen->mutex);
        seen->cell = std::move(cell);
        seen->known = true;
        seen->awaited = false;
        seen->at = MonotonicNow();
        seen->changed.notify_all();
      });
      lock.lock();
    }
    seen_->changed.wait_for(lock, kPeriod, [&] { return seen_->stop || !seen_->awaited; });
    const Duration took = MonotonicNow() - asked_at;
    if (ports_.after_look && !seen_->stop) {
      lock.unlock();
      ports_.after_look();
      lock.lock();
    }
    seen_->changed.wait_for(lock, std::max<Duration>(kPeriod, 100 * took),
                            [&] { return seen_->stop; });
  }
}

std::vector<MetricFamily> CellMetrics::Families() const {
  std::unique_lock lock(seen_->mutex);
  const bool known = seen_->known;
  const TimePoint at = seen_->at;
  const CellHealth cell = seen_->cell;
  lock.unlock();
  std::vector<MetricFamily> all;
  if (known) {
    all = FamiliesOf(cell, ports_.zookeeper());
    all.push_back(One("shardmanager_health_age_seconds",
                      "How old the gauges of the cell and its apps are.",
                      InSeconds(MonotonicNow() - at)));
  }
  return all;
}

}  // namespace shardmanager::daemon
