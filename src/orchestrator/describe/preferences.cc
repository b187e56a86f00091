#include "orchestrator/describe/preferences.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/demand.h"

namespace shardmanager::orchestrator {

uint32_t ServingIn(const PartitionState& state, ShardIndex shard, uint32_t region) {
  uint32_t serving = 0;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    serving +=
        state.tables.server(replica.server).region == region && ServesClients(state, replica);
  });
  return serving;
}

bool IsPreferenceMet(const PartitionState& state, ShardIndex shard) {
  const uint32_t region = state.tables.shard(shard).region;
  return region != 0 && ServingIn(state, shard, region) > 0;
}

void DescribePreferences(const PartitionState& state, v1::AppStatus& status) {
  std::map<std::string, v1::PreferredRegion> regions;
  for (size_t i = 0; i < state.layout.size(); ++i) {
    const LayoutShard& entry = state.layout[i];
    const std::string preferred = PreferredRegionOf(state, i);
    if (preferred.empty()) continue;
    v1::PreferredRegion& region = regions[preferred];
    region.set_shards(region.shards() + 1);
    if (IsPreferredByDemand(state, state.map_order[i]))
      region.set_by_demand(region.by_demand() + 1);
    if (entry.region_ordered) region.set_ordered(region.ordered() + 1);
    region.set_heaviest(std::max(region.heaviest(), entry.preference_weight));
    if (IsPreferenceMet(state, state.map_order[i])) {
      region.set_met(region.met() + 1);
    } else {
      region.set_heaviest_missing(std::max(region.heaviest_missing(), entry.preference_weight));
    }
  }
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    const auto region = regions.find(server.location.fault_domain.region);
    if (server.state != ServerState::kLive || region == regions.end()) continue;
    region->second.set_servers_live(region->second.servers_live() + 1);
  }
  for (auto& [name, region] : regions) {
    region.set_region(name);
    *status.add_preferred_regions() = region;
  }
  status.set_preferences_who(state.ordered.preferences.who());
  status.set_preferences_since_ms(state.ordered.preferences.since_ms());
}

std::vector<std::string> RegionConditions(const PartitionState& state) {
  std::vector<std::string> conditions;
  for (size_t i = 0; i < state.regions.wishes.size(); ++i) {
    const allocator::RegionWish& wish = state.regions.wishes[i];
    size_t lacking = 0;
    for (const ShardIndex shard : state.map_order) {
      lacking += ServingIn(state, shard, wish.region) < wish.replicas;
    }
    if (lacking == 0) continue;
    conditions.push_back(
        absl::StrCat(Counted(lacking, "shard"), lacking == 1 ? " has" : " have", " fewer than ",
                     Counted(wish.replicas, "replica"), " in ",
                     state.spec.placement().region_replicas(static_cast<int>(i)).region(),
                     " (placement.region_replicas)"));
  }
  return conditions;
}

}  // namespace shardmanager::orchestrator
