#include "orchestrator/describe/demand.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "model/text.h"
#include "orchestrator/decide/load/demand.h"
#include "orchestrator/describe/preferences.h"

namespace shardmanager::orchestrator {
namespace {

// Regions that few requests come from are not told one by one.
constexpr double kWorthTelling = 0.01;

std::string NameOfRegion(const PartitionState& state, uint32_t number) {
  for (const DemandRegion& region : state.demand.regions) {
    if (region.number == number) return region.name;
  }
  return "a region without servers";
}

std::string ComeFrom(const PartitionState& state, const RegionShares& shares) {
  std::vector<std::string> parts;
  for (const RegionShare& share : shares) {
    if (share.share < kWorthTelling && !parts.empty()) continue;
    parts.push_back(
        absl::StrFormat(parts.empty() ? "%.0f%% of the requests come from %s" : "%.0f%% from %s",
                        100 * share.share, NameOfRegion(state, share.region)));
  }
  return absl::StrJoin(parts, ", ");
}

std::string StandIn(const PartitionState& state, const RegionWishes& wishes) {
  std::vector<std::string> parts;
  for (const allocator::RegionWish& wish : wishes) {
    const std::string in = absl::StrCat(" in ", NameOfRegion(state, wish.region));
    if (!parts.empty()) {
      parts.push_back(absl::StrCat(wish.replicas, in));
    } else {
      parts.push_back(absl::StrCat(Counted(wish.replicas, "replica"),
                                   wish.replicas == 1 ? " is" : " are", " to stand", in));
    }
  }
  return absl::StrJoin(parts, ", ");
}

std::string WhatIsMissing(const PartitionState& state, const ShardDemand& shard, double counted,
                          double needed) {
  const char* stays = shard.wishes.empty() ? "replicas stand anywhere" : "replicas stay there";
  if (state.demand.regions.empty()) return absl::StrCat("nothing was looked at yet: ", stays);
  return absl::StrFormat(
      "%.0f requests that say where they come from were counted lately, %.0f are needed: %s",
      counted, needed, stays);
}

}  // namespace

std::string SharesText(const PartitionState& state, ShardIndex id) {
  const ShardDemand& shard = state.demand.shards[id.index()];
  return absl::StrCat(ComeFrom(state, SharesOf(state.demand, shard.newest)), ": ",
                      StandIn(state, shard.wishes));
}

v1::ShardDemand DescribeDemand(const PartitionState& state, ShardIndex id, TimePoint now) {
  const DemandRules& rules = state.demand.rules;
  const ShardDemand& shard = state.demand.shards[id.index()];
  const RegionShares shares = SharesOf(state.demand, shard.newest);
  v1::ShardDemand out;
  for (const RegionShare& share : shares) {
    v1::ShardDemand::Region& region = *out.add_regions();
    region.set_region(NameOfRegion(state, share.region));
    region.set_share(share.share);
    region.set_replicas_serving(ServingIn(state, id, share.region));
    for (const allocator::RegionWish& wish : shard.wishes) {
      if (wish.region == share.region) region.set_replicas_wished(wish.replicas);
    }
  }
  const double counted = CountedRequests(state.demand, shard, now);
  const double needed = RequestsNeeded(state.tables.shard(id).wanted);
  out.set_requests(counted);
  out.set_requests_needed(needed);
  out.set_recommend_only(rules.recommend);
  const RegionWishes better = PlaceByDemand(state, id, shares);
  if (counted < needed) {
    out.set_state("Unknown");
    out.set_message(WhatIsMissing(state, shard, counted, needed));
  } else if (shard.shifting_since != kNever) {
    const Duration left = shard.shifting_since + rules.after - now;
    out.set_state("Shifting");
    out.set_message(absl::StrFormat("%s: %s, if that lasts for %.0f s more",
                                    ComeFrom(state, shares), StandIn(state, better),
                                    std::max(0.0, InSeconds(left))));
  } else {
    out.set_state("Steady");
    out.set_message(absl::StrCat(ComeFrom(state, shares), ": ",
                                 StandIn(state, rules.recommend ? better : shard.wishes)));
  }
  if (rules.recommend) {
    out.set_message(absl::StrCat(out.message(), " (nothing is done: mode RECOMMEND)"));
  }
  return out;
}

bool IsPreferredByDemand(const PartitionState& state, ShardIndex id) {
  return state.demand.rules.on && IsPlacedByDemand(state.demand.shards[id.index()]);
}

std::string PreferredRegionOf(const PartitionState& state, size_t map_index) {
  const ShardIndex id = state.map_order[map_index];
  if (!IsPreferredByDemand(state, id)) return state.layout[map_index].preferred_region;
  return NameOfRegion(state, state.demand.shards[id.index()].wishes.front().region);
}

}  // namespace shardmanager::orchestrator
