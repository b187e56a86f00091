#include "orchestrator/decide/maintenance_hits.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "model/spec/availability.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// The replica, or its role, has to leave its server.
bool HasToLeave(const PartitionState& state, const Leaving& leaving, const Replica& replica) {
  if (state.leaving.Empties(leaving)) return true;
  return state.replication.both_roles() && leaving.primaries && replica.role == Role::kPrimary;
}

// Calls f(ServerIndex) for each server in its scope.
template <typename F>
void ForEachServer(const PartitionState& state, const PlannedMaintenance& maintenance, F f) {
  for (const ServerIndex id : state.tables.servers()) {
    if (IsIn(state, maintenance, id)) f(id);
  }
}

class Finder {
 public:
  Finder(const PartitionState& state, const PlannedMaintenance& maintenance)
      : state_(state),
        maintenance_(maintenance),
        leaving_(LeavingBefore(maintenance, state.leaving)) {}

  std::vector<MaintenanceHit> Find() {
    ForEachServer(state_, maintenance_, [&](ServerIndex id) {
      for (const ReplicaIndex r : state_.tables.server(id).replicas) {
        Look(id, state_.tables.replica(r));
      }
    });
    std::vector<MaintenanceHit> hits;
    for (auto& [shard, hit] : hits_) hits.push_back(std::move(hit));
    return hits;
  }

 private:
  void Look(ServerIndex id, const Replica& replica) {
    const ShardIndex shard = replica.shard;
    if (state_.tables.shard(shard).wanted == 0) return;  // it is to go anyway
    if (HasToLeave(state_, leaving_, replica)) {
      const bool role = !state_.leaving.Empties(leaving_);
      hits_[shard] = {shard, id,
                      absl::StrCat(role ? "its primary is still on " : "a replica is still on ",
                                   state_.tables.name(id))};
      return;
    }
    if (hits_.contains(shard)) return;
    const auto [available, fewest] = Elsewhere(shard);
    if (available >= fewest) return;
    hits_[shard] = {shard, ServerIndex(),
                    absl::StrCat("elsewhere ", Counted(available, "replica"), " of at least ",
                                 fewest, " serve")};
  }

  // Replicas that serve outside of the scope, and how many there have to be.
  std::pair<uint32_t, uint32_t> Elsewhere(ShardIndex shard) const {
    uint32_t available = 0;
    state_.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
      available += ServesClients(state_, replica) && !IsIn(state_, maintenance_, replica.server);
    });
    const uint32_t wanted = state_.tables.shard(shard).wanted;
    const uint32_t most = MostUnavailable(state_.spec.availability().max_unavailable_replicas(),
                                          wanted, state_.replication.quorum);
    return {available, wanted - most};
  }

  const PartitionState& state_;
  const PlannedMaintenance& maintenance_;
  const Leaving leaving_;
  std::map<ShardIndex, MaintenanceHit> hits_;
};

}  // namespace

std::vector<MaintenanceHit> HitsOf(const PartitionState& state,
                                   const PlannedMaintenance& maintenance) {
  return Finder(state, maintenance).Find();
}

size_t LeftToLeave(const PartitionState& state, const PlannedMaintenance& maintenance) {
  const Leaving leaving = LeavingBefore(maintenance, state.leaving);
  size_t left = 0;
  ForEachServer(state, maintenance, [&](ServerIndex id) {
    for (const ReplicaIndex r : state.tables.server(id).replicas) {
      left += HasToLeave(state, leaving, state.tables.replica(r));
    }
  });
  return left;
}

}  // namespace shardmanager::orchestrator
