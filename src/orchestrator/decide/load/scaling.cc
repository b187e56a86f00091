#include "orchestrator/decide/load/scaling.h"

#include <algorithm>
#include <cmath>

#include "base/defect.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Of the load that each replica is to have (ShardScaler::ShareLoad): what is known after two
// reports.
Duration UntilReported(const PartitionState& state) {
  return 2 * Milliseconds(state.spec.moves().collect_interval_ms());
}

struct Carried {
  uint32_t replicas = 0;  // that serve
  uint32_t known = 0;     // of those
  double sum = 0;         // of the known ones
};

Carried CarriedBy(const PartitionState& state, ShardIndex id) {
  Carried carried;
  const size_t metric = state.scaling.rules.metric;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (!Serves(state, replica)) return;
    ++carried.replicas;
    if (!state.loads.reported.Knows(r, metric)) return;
    ++carried.known;
    carried.sum += state.loads.reported.Of(r, metric);
  });
  return carried;
}

uint8_t Needed(const ScalingRules& rules, double total) {
  // (What is exactly enough does not ask for one more because of how it is rounded.)
  const double exact = std::ceil(total / rules.target - 1e-9);
  return static_cast<uint8_t>(std::clamp<double>(exact, rules.least, rules.most));
}

// Replicas that do not serve yet, or not any more, are taken to carry nothing where more are asked
// for, and all that one is to carry where fewer are: Kubernetes' rule for pods that are not ready.
ScaleState Judge(const PartitionState& state, ShardIndex id, const Carried& carried, double total) {
  const ScalingRules& rules = state.scaling.rules;
  const uint32_t wanted = state.tables.shard(id).wanted;
  const uint32_t missing = wanted - std::min(wanted, carried.replicas);
  if (total > rules.upper * wanted) {
    if (wanted >= rules.most) return ScaleState::kAtMost;
    const bool no_room = state.now < state.scaling.shards[id.index()].no_room_until;
    return no_room ? ScaleState::kNoRoom : ScaleState::kTooFew;
  }
  const double most = total + missing * rules.target;
  const bool fewer_do = wanted > rules.least && most <= rules.lower * (wanted - 1);
  return fewer_do ? ScaleState::kTooMany : ScaleState::kSteady;
}

}  // namespace

ScaleNeed NeedOf(const PartitionState& state, ShardIndex id) {
  const Carried carried = CarriedBy(state, id);
  if (carried.known == 0) return {};
  const double load = carried.sum / carried.known;
  const double total = load * carried.replicas;
  ScaleNeed need{.needed = Needed(state.scaling.rules, total),
                 .load = static_cast<float>(load),
                 .total = static_cast<float>(total)};
  if (StaysPut(state, id) || HeldBack(state, id)) {
    need.state = ScaleState::kHeld;
  } else if (IsSettling(state, id)) {
    need.state = ScaleState::kSettling;
  } else {
    need.state = Judge(state, id, carried, total);
  }
  return need;
}

bool IsSettling(const PartitionState& state, ShardIndex id) {
  const ScaledShard& shard = state.scaling.shards[id.index()];
  const bool whole = shard.last_whole > shard.last_broken;
  return whole ? state.now < shard.last_broken + UntilReported(state)
               : state.now < shard.last_whole + kSettlesFor;
}

bool LacksTheLeast(const PartitionState& state, ShardIndex id) {
  if (state.missing.Find(id) == nullptr) return false;
  uint32_t held = 0;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    held += replica.phase != Phase::kDropping && !IsGivenUp(state.tables.server(replica.server));
  });
  return held < LeastReplicas(state, id);
}

bool HoldsUpADrain(const PartitionState& state, ShardIndex id) {
  if (state.tables.shard(id).wanted <= state.scaling.rules.least) return false;
  bool leaves = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    leaves |= replica.phase == Phase::kGranted && !Accepts(state, replica.server);
  });
  if (!leaves) return false;
  for (const ServerIndex server : state.tables.servers()) {
    const bool holds = state.tables.FindReplica(id, server).valid();
    if (!holds && TakesReplicas(state, server)) return false;
  }
  return true;
}

bool IsWhole(const PartitionState& state, ShardIndex id) {
  uint32_t replicas = 0;
  bool all_serve = true;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    ++replicas;
    all_serve &= ServesClients(state, replica) && !replica.in_write;
  });
  return all_serve && replicas == state.tables.shard(id).wanted;
}

bool LacksRoomToScale(const PartitionState& state, ShardIndex id) {
  if (state.tables.shard(id).wanted <= state.scaling.rules.least || !state.missing.Waits(id)) {
    return false;
  }
  const allocator::SkipReason why = *state.missing.Find(id);
  bool may_come_back = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const Server& server = state.tables.server(replica.server);
    may_come_back |=
        server.state != ServerState::kLive && state.now < server.lost_at + kNoRoomPause;
  });
  return !may_come_back && (why == allocator::SkipReason::kNoCapacity ||
                            why == allocator::SkipReason::kNoFaultDomain);
}

uint8_t MoreReplicas(const ScalingRules& rules, uint32_t wanted, uint32_t needed) {
  return static_cast<uint8_t>(
      std::min(std::max(needed, wanted + 1), std::min(2 * wanted, rules.most)));
}

uint32_t LeastReplicas(const PartitionState& state, ShardIndex id) {
  const uint32_t wanted = state.tables.shard(id).wanted;
  return state.scaling.rules.on ? std::min(wanted, state.scaling.rules.least) : wanted;
}

}  // namespace shardmanager::orchestrator
