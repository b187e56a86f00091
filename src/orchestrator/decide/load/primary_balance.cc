#include "orchestrator/decide/load/primary_balance.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Clients notice a change of primary: it is to bring a hundredth of a limit at the least.
constexpr double kLeastGain = 0.01;
constexpr double kRounding = 1e-6;

// The best one off the server. Of those that bring it within its limits, the one that takes least
// with it; else the one that brings it nearest.
std::optional<PrimaryChange> BestChange(const PartitionState& state, const RoleLoads& loads,
                                        const std::vector<bool>& changed, ServerIndex from) {
  std::optional<PrimaryChange> best;
  std::tuple<double, double, ShardIndex, ServerIndex> best_rank;
  for (const ReplicaIndex r : state.tables.server(from).replicas) {
    const ShardIndex id = state.tables.replica(r).shard;
    if (changed[id.index()] || ChangeablePrimary(state, id) != r) continue;
    const Replica& primary = state.tables.replica(r);
    state.tables.ForEach(id, [&](ReplicaIndex next, const Replica& secondary) {
      if (!MayTakeOver(state, primary, secondary)) return;
      const PrimaryChange change{id, r, next};
      const double before = loads.Excess(from) + loads.Excess(secondary.server);
      const double after = loads.ExcessAfter(change);
      if (after > before - kLeastGain || loads.Overloads(change)) return;
      const std::tuple rank(std::max(after, kRounding), loads.Size(change), id, secondary.server);
      if (!best || rank < best_rank) best = change, best_rank = rank;
    });
  }
  return best;
}

}  // namespace

ReplicaIndex ChangeablePrimary(const PartitionState& state, ShardIndex id) {
  const Shard& shard = state.tables.shard(id);
  if (shard.map_index == Shard::kNotInMap || shard.in_batch || shard.primary_is_new) return {};
  if (state.switchovers.to.contains(id) || StaysPut(state, id) || !MayMove(state, id)) return {};
  if (state.replication.quorum && !HasMajority(state, id)) return {};
  const ReplicaIndex primary = PrimaryOf(state, id);
  if (!primary.valid() || TakesNothing(state.tables.server(state.tables.replica(primary).server))) {
    return {};
  }
  return primary;
}

bool MayTakeOver(const PartitionState& state, const Replica& primary, const Replica& secondary) {
  if (secondary.role != Role::kSecondary || secondary.in_write) return false;
  if (!InStep(state, secondary)) return false;
  const Server& from = state.tables.server(primary.server);
  const Server& to = state.tables.server(secondary.server);
  const uint32_t wanted = state.tables.shard(primary.shard).region;
  const bool farther = from.region == wanted && to.region != wanted;
  return !farther && !to.sheds_primaries && !to.planned.closed && !TakesNothing(to);
}

RoleLoads::RoleLoads(const PartitionState& state)
    : state_(state),
      metrics_(state.loads.metrics.size()),
      used_(state.tables.server_count() * metrics_),
      limit_(LoadLimits(state, state.loads.planned, state.loads.capacity)) {
  for (const ServerIndex id : state.tables.servers()) {
    const size_t replicas = state.tables.server(id).replicas.size();
    for (size_t m = 0; m < metrics_; ++m) {
      used_[id.index() * metrics_ + m] = state.loads.planned.OfServer(id, replicas, m);
    }
  }
  for (const auto& [shard, to] : state.switchovers.to) {
    const ReplicaIndex next = state.tables.FindReplica(shard, to);
    ReplicaIndex primary;
    state.tables.ForEach(shard, [&](ReplicaIndex r, const Replica& replica) {
      if (replica.role == Role::kPrimary) primary = r;
    });
    if (next.valid() && primary.valid() && next != primary) Apply({shard, primary, next});
  }
}

std::vector<double> RoleLoads::Difference(const PrimaryChange& change) const {
  std::vector<double> difference(metrics_);
  const LoadTable& planned = state_.loads.planned;
  for (size_t m = 0; m < metrics_; ++m) {
    if (!planned.Knows(change.primary, m) || !planned.Knows(change.next, m)) continue;
    difference[m] = planned.Of(change.primary, m) - planned.Of(change.next, m);
  }
  return difference;
}

void RoleLoads::Apply(const PrimaryChange& change) {
  const std::vector<double> difference = Difference(change);
  for (size_t m = 0; m < metrics_; ++m) {
    used_[ServerOf(change.primary).index() * metrics_ + m] -= difference[m];
    used_[ServerOf(change.next).index() * metrics_ + m] += difference[m];
  }
}

double RoleLoads::ExcessWith(ServerIndex server, const std::vector<double>& more,
                             double sign) const {
  double excess = 0;
  for (size_t m = 0; m < metrics_; ++m) {
    const size_t at = server.index() * metrics_ + m;
    if (limit_[at] <= 0) continue;
    const double used = used_[at] + (more.empty() ? 0 : sign * more[m]);
    excess += std::max(0.0, used / limit_[at] - 1);
  }
  return excess;
}

bool RoleLoads::Overloads(const PrimaryChange& change) const {
  const std::vector<double> difference = Difference(change);
  const ServerIndex from = ServerOf(change.primary);
  const ServerIndex to = ServerOf(change.next);
  return ExcessWith(from, difference, -1) > Excess(from) + kRounding ||
         ExcessWith(to, difference, 1) > Excess(to) + kRounding;
}

double RoleLoads::ExcessAfter(const PrimaryChange& change) const {
  const std::vector<double> difference = Difference(change);
  return ExcessWith(ServerOf(change.primary), difference, -1) +
         ExcessWith(ServerOf(change.next), difference, 1);
}

double RoleLoads::Size(const PrimaryChange& change) const {
  const std::vector<double> difference = Difference(change);
  double size = 0;
  for (size_t m = 0; m < metrics_; ++m) {
    const double limit = limit_[ServerOf(change.primary).index() * metrics_ + m];
    if (limit > 0) size += std::max(0.0, difference[m]) / limit;
  }
  return size;
}

std::vector<PrimaryChange> ChangesForLoad(const PartitionState& state, size_t most) {
  std::vector<PrimaryChange> changes;
  RoleLoads loads(state);
  std::vector<std::pair<double, ServerIndex>> beyond;  // the worst first
  for (const ServerIndex id : state.tables.servers()) {
    if (state.tables.server(id).state != ServerState::kLive) continue;
    if (loads.Excess(id) >= kLeastGain) beyond.emplace_back(-loads.Excess(id), id);
  }
  std::sort(beyond.begin(), beyond.end());
  std::vector<bool> changed(state.tables.shard_count());
  for (const auto& [excess, from] : beyond) {
    while (changes.size() < most && loads.Excess(from) > 0) {
      const std::optional<PrimaryChange> best = BestChange(state, loads, changed, from);
      if (!best) break;
      loads.Apply(*best);
      changed[best->shard.index()] = true;
      changes.push_back(*best);
    }
  }
  return changes;
}

}  // namespace shardmanager::orchestrator
