#include "whatif/outlook.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/load.h"
#include "orchestrator/decide/room.h"
#include "whatif/states.h"

namespace shardmanager::whatif {
namespace {

using Placement = std::set<std::pair<std::string_view, std::string_view>>;  // shard, server

double ThresholdOf(const v1::AppSpec& spec, const std::string& metric) {
  for (const v1::Metric& m : spec.metrics()) {
    if (m.name() == metric) return m.threshold();
  }
  return 1;  // of the number of replicas
}

// What one server carries of a metric.
struct Use {
  const v1::ServerStatus* server;
  double used = 0;
  double capacity = 0;
  double part() const { return capacity > 0 ? used / capacity : 0; }
};

std::vector<Use> UsesOf(const v1::AppSnapshot& snapshot, const std::string& metric) {
  std::vector<Use> uses;
  for (const v1::ServerStatus& server : snapshot.servers()) {
    if (!IsLive(server)) continue;
    Use use{.server = &server};
    if (metric == kReplicaCountMetric) {
      use.used = server.replicas();
      use.capacity = orchestrator::TighterCap(
          server.capacity(), snapshot.app().spec().placement().max_replicas_per_server());
    }
    for (const v1::MetricUse& m : server.loads()) {
      if (m.metric() == metric) use = {&server, m.used(), m.capacity()};
    }
    uses.push_back(use);
  }
  return uses;
}

v1::MetricOutlook MetricOf(const v1::AppSnapshot& snapshot, const std::string& metric) {
  v1::MetricOutlook out;
  out.set_metric(metric);
  std::vector<Use> uses = UsesOf(snapshot, metric);
  if (uses.empty()) return out;
  const double threshold = ThresholdOf(snapshot.app().spec(), metric);
  double sum = 0;
  uint32_t over = 0;
  for (const Use& use : uses) {
    sum += use.used;
    over += use.capacity > 0 && use.used > threshold * use.capacity;
  }
  const auto fullest = std::max_element(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return std::pair(a.part(), a.used) < std::pair(b.part(), b.used);
  });
  out.set_most_server(fullest->server->server());
  out.set_most_pct(100 * fullest->part());
  out.set_servers_over(over);
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.used < b.used; });
  out.set_mean(sum / static_cast<double>(uses.size()));
  out.set_p50(uses[(uses.size() + 1) / 2 - 1].used);
  out.set_p99(uses[(99 * uses.size() + 99) / 100 - 1].used);
  out.set_most(uses.back().used);
  return out;
}

void AddRegions(const v1::AppSnapshot& snapshot, v1::Outlook& out) {
  std::map<std::string, v1::RegionOutlook> regions;
  for (const v1::ServerStatus& server : snapshot.servers()) {
    const std::string& name = server.fault_domain().region();
    v1::RegionOutlook& region = regions[name];
    region.set_region(name);
    region.set_replicas_serving(region.replicas_serving() + server.replicas_serving());
    if (IsLive(server)) region.set_servers_live(region.servers_live() + 1);
  }
  for (auto& [name, region] : regions) *out.add_regions() = std::move(region);
}

Placement PlacementOf(const v1::AppSnapshot& snapshot) {
  Placement placement;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    for (const v1::ReplicaStatus& replica : shard.replicas()) {
      if (IsHeld(replica)) placement.insert({shard.shard(), replica.server()});
    }
  }
  return placement;
}

std::string_view PrimaryOf(const v1::ShardStatus& shard) {
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    if (replica.role() == v1::PRIMARY && IsHeld(replica)) return replica.server();
  }
  return "";
}

uint32_t CountMissing(const Placement& from, const Placement& in) {
  return static_cast<uint32_t>(std::count_if(from.begin(), from.end(),
                                             [&](const auto& pair) { return !in.contains(pair); }));
}

}  // namespace

v1::Outlook OutlookOf(const v1::AppSnapshot& snapshot) {
  v1::Outlook out;
  const v1::AppStatus& app = snapshot.app();
  out.set_servers_live(app.servers_live());
  out.set_shards(app.shards());
  out.set_shards_served(app.shards_served());
  out.set_replicas_serving(app.replicas_serving());
  out.set_replicas_wanted(app.replicas_wanted());
  uint32_t degraded = 0, preferences = 0, met = 0;
  for (const v1::ShardStatus& shard : snapshot.shards()) {
    degraded += shard.state() == "degraded";
    preferences += !shard.preferred_region().empty();
    met += shard.preference_met();
  }
  out.set_shards_degraded(degraded);
  out.set_preferences(preferences);
  out.set_preferences_met(met);
  *out.add_metrics() = MetricOf(snapshot, kReplicaCountMetric);
  for (const v1::Metric& metric : app.spec().metrics()) {
    *out.add_metrics() = MetricOf(snapshot, metric.name());
  }
  AddRegions(snapshot, out);
  *out.mutable_conditions() = app.conditions();
  return out;
}

void CountDifferences(const v1::AppSnapshot& before, const v1::AppSnapshot& after,
                      v1::WhatIfReport& report) {
  const Placement was = PlacementOf(before);
  const Placement is = PlacementOf(after);
  report.set_replicas_added(CountMissing(is, was));
  report.set_replicas_gone(CountMissing(was, is));
  std::map<std::string_view, std::string_view> primaries;
  for (const v1::ShardStatus& shard : before.shards()) primaries[shard.shard()] = PrimaryOf(shard);
  uint32_t changed = 0;
  for (const v1::ShardStatus& shard : after.shards()) {
    const auto found = primaries.find(shard.shard());
    const std::string_view now = PrimaryOf(shard);
    changed += found != primaries.end() && !now.empty() && found->second != now;
  }
  report.set_primaries_changed(changed);
}

}  // namespace shardmanager::whatif
