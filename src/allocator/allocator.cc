// A small allocator: it keeps the hard rules (capacity, spread) and evens out
// replica counts. Greedy; every move makes things strictly better, so repeated
// solving comes to rest.
#include "allocator/allocator.h"

#include <algorithm>

#include "allocator/fleet.h"

namespace shardmanager::allocator {
namespace {

// One run of the allocator.
class Solver {
 public:
  Solver(const Snapshot& snapshot, const Options& options)
      : snapshot_(snapshot), options_(options), fleet_(snapshot), shards_(snapshot.shards) {}

  Plan Run() {
    PlaceMissing();
    if (options_.mode == Mode::kPeriodic) {
      IndexByServer();
      moves_of_.assign(snapshot_.servers.size(), 0);
      RepairRegions();
      Balance();
    }
    return std::move(plan_);
  }

 private:
  bool Step() { return ++plan_.steps <= options_.step_budget; }

  // ---- missing replicas ----
  void PlaceMissing() {
    for (size_t i = 0; i < shards_.size(); ++i) {
      while (shards_[i].replicas.size() < shards_[i].wanted_replicas && Step()) {
        if (!PlaceOne(i)) break;
      }
    }
  }

  bool PlaceOne(size_t i) {
    ShardInfo& shard = shards_[i];
    const Slot slot = ChooseTarget(shard);
    if (slot == Fleet::kNone) {
      plan_.skipped.push_back({shard.shard, WhyNot(shard)});
      return false;
    }
    const ServerIndex to = fleet_.info(slot).server;
    plan_.moves.push_back(
        {shard.shard, ServerIndex(), to, shard.new_role, MoveReason::kPlaceMissing});
    shard.replicas.push_back({to, shard.new_role, /*movable=*/false});
    fleet_.Add(slot);
    return true;
  }

  // The least full server of the preferred region, else of the region that has the
  // fewest of the shard's replicas.
  Slot ChooseTarget(const ShardInfo& shard) {
    if (const auto* preferred = fleet_.region(shard.preferred_region)) {
      const Slot slot = FirstFeasible(shard, *preferred);
      if (slot != Fleet::kNone) return slot;
    }
    Slot best = Fleet::kNone;
    std::pair<size_t, uint32_t> best_key;
    for (const auto& [region, servers] : fleet_.regions()) {
      const Slot slot = FirstFeasible(shard, servers);
      if (slot == Fleet::kNone) continue;
      const std::pair<size_t, uint32_t> key{ReplicasIn(shard, region), fleet_.count(slot)};
      if (best == Fleet::kNone || key < best_key) {
        best = slot;
        best_key = key;
      }
    }
    return best;
  }

  Slot FirstFeasible(const ShardInfo& shard, const Fleet::ByCount& servers) {
    for (const auto& [count, slot] : servers) {
      if (!Step()) break;
      if (fleet_.HasRoom(slot) && KeepsSpread(shard, slot, ServerIndex())) return slot;
    }
    return Fleet::kNone;
  }

  size_t ReplicasIn(const ShardInfo& shard, uint32_t region) const {
    return static_cast<size_t>(
        std::count_if(shard.replicas.begin(), shard.replicas.end(), [&](const ReplicaInfo& r) {
          const Slot slot = fleet_.SlotOf(r.server);
          return slot != Fleet::kNone && fleet_.info(slot).region == region;
        }));
  }

  // May a replica of the shard stand on `slot` once the one on `leaving` has gone?
  bool KeepsSpread(const ShardInfo& shard, Slot slot, ServerIndex leaving) const {
    const ServerInfo& target = fleet_.info(slot);
    for (const ReplicaInfo& replica : shard.replicas) {
      if (replica.server == target.server) return false;
      if (replica.server == leaving) continue;
      const Slot other = fleet_.SlotOf(replica.server);
      if (other != Fleet::kNone &&
          DomainOf(fleet_.info(other), snapshot_.spread) == DomainOf(target, snapshot_.spread)) {
        return false;
      }
    }
    return true;
  }

  SkipReason WhyNot(const ShardInfo& shard) const {
    if (fleet_.all().empty()) return SkipReason::kNoServers;
    const bool room = std::any_of(fleet_.all().begin(), fleet_.all().end(),
                                  [&](const auto& entry) { return fleet_.HasRoom(entry.second); });
    if (!room) return SkipReason::kNoCapacity;
    return shard.replicas.empty() ? SkipReason::kNoCapacity : SkipReason::kNoFaultDomain;
  }

  // ---- improvements ----
  void IndexByServer() {
    held_.resize(snapshot_.servers.size());
    for (uint32_t i = 0; i < shards_.size(); ++i) {
      for (const ReplicaInfo& replica : shards_[i].replicas) {
        const Slot slot = fleet_.SlotOf(replica.server);
        if (replica.movable && slot != Fleet::kNone) held_[slot].push_back(i);
      }
    }
  }

  bool BudgetLeft() const {
    return plan_.moves.size() < options_.max_moves && plan_.steps <= options_.step_budget;
  }
  bool BudgetLeft(Slot slot) const { return moves_of_[slot] < options_.max_moves_per_server; }

  void RepairRegions() {
    for (uint32_t i = 0; i < shards_.size() && BudgetLeft(); ++i) {
      const auto* preferred = fleet_.region(shards_[i].preferred_region);
      if (preferred == nullptr || ReplicasIn(shards_[i], shards_[i].preferred_region) > 0) continue;
      for (const ReplicaInfo& replica : shards_[i].replicas) {
        const Slot from = fleet_.SlotOf(replica.server);
        if (!replica.movable || from == Fleet::kNone || !BudgetLeft(from)) continue;
        const Slot to = FirstFeasible(shards_[i], *preferred);
        if (to != Fleet::kNone && BudgetLeft(to)) {
          MoveReplica(i, from, to, MoveReason::kRegionPreference);
        }
        break;
      }
    }
  }

  void Balance() {
    while (BudgetLeft() && BalanceWithin(fleet_.all())) {
    }
    // What the whole fleet cannot even out for preferences, each region may.
    for (const auto& [region, servers] : fleet_.regions()) {
      while (BudgetLeft() && BalanceWithin(servers)) {
      }
    }
  }

  // One move from the fullest server that can give to the emptiest that can take.
  bool BalanceWithin(const Fleet::ByCount& servers) {
    for (auto fullest = servers.rbegin(); fullest != servers.rend(); ++fullest) {
      if (!BudgetLeft(fullest->second)) continue;
      for (const auto& [count, to] : servers) {
        if (count + 2 > fullest->first) break;
        if (!BudgetLeft(to) || !fleet_.HasRoom(to)) continue;
        if (GiveOne(fullest->second, to)) return true;
        if (!Step()) return false;
      }
    }
    return false;
  }

  bool GiveOne(Slot from, Slot to) {
    for (uint32_t i : held_[from]) {
      if (!Step()) return false;
      const ShardInfo& shard = shards_[i];
      const bool leaves_preferred = fleet_.info(from).region == shard.preferred_region &&
                                    fleet_.info(to).region != shard.preferred_region;
      if (leaves_preferred || !KeepsSpread(shard, to, fleet_.info(from).server)) continue;
      MoveReplica(i, from, to, MoveReason::kBalance);
      return true;
    }
    return false;
  }

  void MoveReplica(uint32_t i, Slot from, Slot to, MoveReason reason) {
    const ServerIndex source = fleet_.info(from).server;
    const ServerIndex target = fleet_.info(to).server;
    auto replica = std::find_if(shards_[i].replicas.begin(), shards_[i].replicas.end(),
                                [&](const ReplicaInfo& r) { return r.server == source; });
    plan_.moves.push_back({shards_[i].shard, source, target, replica->role, reason});
    replica->server = target;
    replica->movable = false;
    std::erase(held_[from], i);
    fleet_.Remove(from);
    fleet_.Add(to);
    ++moves_of_[from];
    ++moves_of_[to];
  }

  const Snapshot& snapshot_;
  const Options& options_;
  Fleet fleet_;
  std::vector<ShardInfo> shards_;            // as they are after the plan so far
  std::vector<std::vector<uint32_t>> held_;  // by slot: shards with a movable replica there
  std::vector<uint32_t> moves_of_;           // by slot
  Plan plan_;
};

}  // namespace

std::string_view ToString(MoveReason reason) {
  switch (reason) {
    case MoveReason::kPlaceMissing:
      return "place missing replica";
    case MoveReason::kRegionPreference:
      return "region preference";
    case MoveReason::kBalance:
      return "balance";
    case MoveReason::kSpread:
      return "spread";
  }
  return "unknown";
}

std::string_view ToString(SkipReason reason) {
  switch (reason) {
    case SkipReason::kNoServers:
      return "no live server accepts replicas";
    case SkipReason::kNoCapacity:
      return "every live server is at its capacity";
    case SkipReason::kNoFaultDomain:
      return "no fault domain is left that holds no replica of the shard";
  }
  return "unknown";
}

Plan Solve(const Snapshot& snapshot, const Options& options) {
  return Solver(snapshot, options).Run();
}

}  // namespace shardmanager::allocator
