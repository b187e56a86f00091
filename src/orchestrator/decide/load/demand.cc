#include "orchestrator/decide/load/demand.h"

#include <algorithm>
#include <cmath>

#include "model/spec/placement.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// By so much more of all requests a region has to lead before the primary goes there.
constexpr double kWorthIt = 0.2;

// Of all requests: so many more have to be served in their region. Of several replicas, half of
// what one of them serves.
double GainNeeded(uint32_t replicas) { return std::min(kWorthIt, 0.5 / std::max(1U, replicas)); }

// If the replicas are equally busy, and as few requests as may be leave their region.
double ServedAtHome(const RegionShares& shares, const RegionWishes& wishes, uint32_t replicas) {
  double served = 0;
  for (const allocator::RegionWish& wish : wishes) {
    for (const RegionShare& share : shares) {
      if (share.region != wish.region) continue;
      served += std::min(share.share, static_cast<double>(wish.replicas) / replicas);
    }
  }
  return served;
}

double ShareOfPrimary(const RegionShares& shares, const RegionWishes& wishes) {
  if (wishes.empty()) return 0;
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const RegionShare& share) {
    return share.region == wishes.front().region;
  });
  return found == shares.end() ? 0 : found->share;
}

bool IsUsable(const ClientDemand& demand, uint32_t region) {
  return std::any_of(demand.regions.begin(), demand.regions.end(),
                     [&](const DemandRegion& r) { return r.number == region && r.usable; });
}

// Replicas in one region. Its loss is not to take all of them, or a majority that the shard cannot
// do without.
uint32_t MostByDemand(const PartitionState& state, uint32_t replicas) {
  const auto& regions = state.demand.regions;
  const auto usable = std::count_if(regions.begin(), regions.end(),
                                    [](const DemandRegion& region) { return region.usable; });
  uint32_t most = MostInOneRegion(state.spec.placement());
  if (usable < 2 || replicas < 2) return most;
  most = std::min(most, state.replication.quorum ? (replicas - 1) / 2 : replicas - 1);
  return std::max(most, 1U);
}

}  // namespace

double LeftOfDemand(const DemandRules& rules, Duration passed) {
  return std::exp2(-2 * InSeconds(passed) / InSeconds(rules.after));
}

RegionShares SharesOf(const ClientDemand& demand, const RequestCounts& counts) {
  RegionShares shares;
  double sum = 0;
  for (const RegionRequests& counted : counts) {
    if (counted.requests <= 0 || !IsUsable(demand, counted.region)) continue;
    shares.push_back({counted.region, counted.requests});
    sum += counted.requests;
  }
  for (RegionShare& share : shares) share.share /= sum;
  std::sort(shares.begin(), shares.end(), [](const RegionShare& a, const RegionShare& b) {
    return a.share != b.share ? a.share > b.share : a.region < b.region;
  });
  return shares;
}

double CountedRequests(const ClientDemand& demand, const ShardDemand& shard, TimePoint now) {
  double sum = 0;
  for (const RegionRequests& counted : shard.newest) {
    if (IsUsable(demand, counted.region)) sum += counted.requests;
  }
  return sum * LeftOfDemand(demand.rules, now - shard.as_of);
}

double RequestsNeeded(uint32_t replicas) { return 1 / std::pow(GainNeeded(replicas), 2); }

RegionWishes PlaceByDemand(const PartitionState& state, ShardIndex id, const RegionShares& shares) {
  const ShardDemand& shard = state.demand.shards[id.index()];
  const uint32_t replicas = state.tables.shard(id).wanted;
  const uint32_t most = MostByDemand(state, replicas);
  const uint32_t own = shard.asked_for_itself ? shard.asked : 0;
  RegionWishes wishes;
  uint32_t placed = 0;
  if (own != 0 && replicas > 0) wishes.push_back({own, ++placed});
  for (const RegionShare& share : shares) {
    if (share.region != own) wishes.push_back({share.region, 0});
  }
  const auto claim = [&](const allocator::RegionWish& wish) {
    const auto found = std::find_if(shares.begin(), shares.end(),
                                    [&](const auto& share) { return share.region == wish.region; });
    if (found == shares.end() || wish.replicas >= most) return 0.0;
    return found->share / (2 * wish.replicas + 1);
  };
  for (; placed < replicas; ++placed) {
    const auto next =
        std::max_element(wishes.begin(), wishes.end(),
                         [&](const auto& a, const auto& b) { return claim(a) < claim(b); });
    if (next == wishes.end() || claim(*next) == 0) break;
    ++next->replicas;
  }
  wishes.erase(std::remove_if(wishes.begin(), wishes.end(),
                              [](const auto& wish) { return wish.replicas == 0; }),
               wishes.end());
  return wishes;
}

bool IsWorthAMove(const PartitionState& state, ShardIndex id, const RegionShares& shares,
                  const RegionWishes& better) {
  const RegionWishes& wishes = state.demand.shards[id.index()].wishes;
  const uint32_t replicas = std::max<uint32_t>(1, state.tables.shard(id).wanted);
  if (ShareOfPrimary(shares, better) >= ShareOfPrimary(shares, wishes) + kWorthIt) return true;
  return ServedAtHome(shares, better, replicas) >=
         ServedAtHome(shares, wishes, replicas) + GainNeeded(replicas);
}

RegionWishes AsItStands(const PartitionState& state, ShardIndex id) {
  RegionWishes stands;
  uint32_t of_primary = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const uint32_t region = state.tables.server(replica.server).region;
    if (replica.phase == Phase::kDropping || region == 0) return;
    if (replica.role == Role::kPrimary) of_primary = region;
    const auto found = std::find_if(stands.begin(), stands.end(),
                                    [&](const auto& wish) { return wish.region == region; });
    if (found == stands.end()) {
      stands.push_back({region, 1});
    } else {
      ++found->replicas;
    }
  });
  std::stable_sort(stands.begin(), stands.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.region == of_primary, a.replicas) >
           std::pair(b.region == of_primary, b.replicas);
  });
  return stands;
}

bool IsPlacedByDemand(const ShardDemand& shard) {
  return !shard.asked_for_itself && !shard.wishes.empty();
}

RegionWishes WishesOf(const PartitionState& state, ShardIndex id) {
  if (state.demand.rules.on && id.index() < state.demand.shards.size()) {
    return state.demand.shards[id.index()].wishes;
  }
  return RegionWishes(state.regions.wishes.begin(), state.regions.wishes.end());
}

}  // namespace shardmanager::orchestrator
