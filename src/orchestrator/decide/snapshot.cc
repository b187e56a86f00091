#include "orchestrator/decide/snapshot.h"

#include <algorithm>

#include "base/defect.h"
#include "orchestrator/decide/census.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/load/demand.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/decide/load/returns.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

allocator::Spread ToSpread(v1::FaultDomainLevel level) {
  switch (level) {
    case v1::RACK:
      return allocator::Spread::kRack;
    case v1::DATACENTER:
      return allocator::Spread::kDatacenter;
    case v1::REGION:
      return allocator::Spread::kRegion;
    default:
      return allocator::Spread::kServer;
  }
}

// REQUIRES: the snapshot lists the server.
std::vector<allocator::ServerInfo>::iterator PositionIn(allocator::Snapshot& snapshot,
                                                        ServerIndex server) {
  return std::lower_bound(
      snapshot.servers.begin(), snapshot.servers.end(), server,
      [](const allocator::ServerInfo& s, ServerIndex id) { return s.server < id; });
}

// It goes as soon as another one serves in its place, or has gone already but for the answer.
bool MakesRoom(const PartitionState& state, const Replica& replica) {
  if (replica.phase == Phase::kDropping) return true;
  if (replica.server == SourceOfMove(state, replica.shard)) return true;
  if (replica.role != Role::kPrimary || replica.phase == Phase::kPreparing) return false;
  return HandoverOf(state, replica.shard).to.valid();
}

// What the snapshot lists is not among the "other" load of its server.
void AddLoads(const PartitionState& state, ShardIndex id, Purpose purpose, const LoadTable& loads,
              allocator::Snapshot& snapshot) {
  const size_t metrics = state.loads.metrics.size();
  std::vector<double> most(metrics, -1);
  state.tables.ForEach(id, [&](ReplicaIndex replica, const Replica& r) {
    for (size_t m = 0; m < metrics; ++m) {
      if (loads.Knows(replica, m)) most[m] = std::max(most[m], loads.Of(replica, m));
    }
    if (state.tables.server(r.server).state != ServerState::kLive) return;
    const bool listed = purpose != Purpose::kBalance || !MakesRoom(state, r);
    const auto row = static_cast<size_t>(PositionIn(snapshot, r.server) - snapshot.servers.begin());
    for (size_t m = 0; m < metrics; ++m) {
      const double load = loads.Of(replica, m);
      double& other = snapshot.other_load[row * metrics + m];
      other = std::max(0.0, other - load);
      if (listed) snapshot.load.push_back(static_cast<float>(load));
    }
  });
  for (size_t m = 0; m < metrics; ++m) {
    snapshot.load.push_back(static_cast<float>(most[m] >= 0 ? most[m] : loads.Mean(m)));
  }
}

// How many replicas servers have that may be given more, and keep them.
struct Counts {
  uint32_t low = UINT32_MAX;
  uint32_t high = 0;
  bool to_be_emptied = false;  // there is a server that has to lose its replicas
  bool differ() const { return low != UINT32_MAX && high >= low + 2; }
};

Counts CountsOf(const PartitionState& state) {
  Counts counts;
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (server.state != ServerState::kLive || TakesNothing(server)) continue;
    const auto count = static_cast<uint32_t>(server.replicas.size());
    if (!Accepts(state, id)) {
      counts.to_be_emptied |= count > 0;
      continue;
    }
    if (IsBarred(state, id)) continue;
    counts.low = std::min(counts.low, count);
    counts.high = std::max(counts.high, count);
  }
  return counts;
}

}  // namespace

bool WorthBalancing(const PartitionState& state) {
  if (state.balance.at_rest) return false;
  if (!state.loads.metrics.empty()) return true;
  const Counts counts = CountsOf(state);
  if (counts.to_be_emptied) return true;
  if (counts.low == UINT32_MAX) return false;
  const bool preferences =
      std::any_of(state.layout.begin(), state.layout.end(),
                  [](const LayoutShard& s) { return !s.preferred_region.empty(); });
  return counts.differ() || preferences || !state.regions.wishes.empty() || state.demand.rules.on ||
         state.spec.replication().replicas() > 1;
}

bool IsUneven(const PartitionState& state) {
  if (state.loads.metrics.empty()) return CountsOf(state).differ();
  const std::vector<float> pressure = Pressure(state, state.loads.planned, state.loads.capacity);
  return std::any_of(pressure.begin(), pressure.end(), [](float p) { return p > 1; });
}

allocator::Snapshot FleetSnapshot(const PartitionState& state, const LoadTable& loads) {
  allocator::Snapshot snapshot;
  snapshot.spread = ToSpread(state.spec.placement().spread());
  for (const v1::SpreadLimit& limit : state.spec.placement().spread_limits()) {
    snapshot.spread_limits.push_back({ToSpread(limit.level()), limit.replicas(), limit.soft()});
  }
  if (!Planted(Defect::kIgnoresRegions)) snapshot.region_wishes = state.regions.wishes;
  for (const v1::Metric& metric : state.spec.metrics()) {
    snapshot.metrics.push_back(
        {.name = metric.name(), .threshold = metric.threshold(), .tolerance = metric.tolerance()});
  }
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (server.state != ServerState::kLive) continue;
    const bool accepts = Accepts(state, id);
    const bool sick = state.failures.quarantine.IsSick(id);
    const auto one_more = static_cast<uint32_t>(server.replicas.size() + 1);  // of a trial
    const uint32_t capacity = TighterCap(ReplicaCapacity(state, id), RecordCapacity(state, id));
    snapshot.servers.push_back({.server = id,
                                .region = server.region,
                                .datacenter = server.datacenter,
                                .rack = server.rack,
                                .capacity = sick ? TighterCap(capacity, one_more) : capacity,
                                .other_replicas = static_cast<uint32_t>(server.replicas.size()),
                                .accepts = TakesReplicas(state, id),
                                .draining = !accepts && !TakesNothing(server),
                                .ordered = server.draining,
                                .moves = state.moves.budgets.under_way(Cause::kBalance, id),
                                .drain_moves = state.moves.budgets.under_way(Cause::kDrain, id)});
    for (size_t m = 0; m < state.loads.metrics.size(); ++m) {
      snapshot.capacity.push_back(MetricCapacity(state, state.loads.capacity, id, m));
      snapshot.other_load.push_back(loads.OfServer(id, server.replicas.size(), m));
    }
  }
  return snapshot;
}

const ServerOrder* OrderThatHoldsBalance(const PartitionState& state) {
  const auto found =
      std::find_if(state.orders.begin(), state.orders.end(), [&](const ServerOrder& order) {
        const ServerIndex id = state.tables.FindServer(order.server);
        const bool lost = id.valid() && IsGone(state.tables.server(id)) &&
                          state.now >= LastResortAt(state, state.tables.server(id));
        return order.closed && !lost && state.now < OverdueAt(state, order);
      });
  return found == state.orders.end() ? nullptr : &*found;
}

void BarAvoided(const PartitionState& state, allocator::Snapshot& snapshot) {
  size_t total = 0;
  size_t leaving = 0;
  size_t staying = 0;  // servers that hold their share in the end
  for (const allocator::ServerInfo& info : snapshot.servers) {
    const Server& server = state.tables.server(info.server);
    total += server.replicas.size();
    if (info.draining) leaving += server.replicas.size();
    staying += info.accepts;
  }
  if (staying == 0) return;
  const size_t fair = (total + staying - 1) / staying;
  size_t room = 0;
  for (const allocator::ServerInfo& info : snapshot.servers) {
    const Server& server = state.tables.server(info.server);
    if (!info.accepts || server.planned.avoided) continue;
    const size_t most = info.capacity == 0 ? fair : std::min<size_t>(fair, info.capacity);
    room += most - std::min(most, server.replicas.size());
  }
  if (room == 0 || room < leaving) return;
  for (allocator::ServerInfo& info : snapshot.servers) {
    info.accepts &= !state.tables.server(info.server).planned.avoided;
  }
}

void BarUnsteady(const PartitionState& state, allocator::Snapshot& snapshot) {
  const auto steady = [&](const allocator::ServerInfo& info) {
    return state.tables.server(info.server).steadiness.IsSteady(state.now);
  };
  const auto& servers = snapshot.servers;
  const bool others_stay =
      std::any_of(servers.begin(), servers.end(),
                  [&](const allocator::ServerInfo& info) { return info.accepts && steady(info); });
  if (!others_stay) return;
  for (allocator::ServerInfo& info : snapshot.servers) info.accepts &= steady(info);
}

void BarFull(const PartitionState& state, allocator::Snapshot& snapshot) {
  if (!AnyServerTakesFailovers(state)) return;  // room is waited for when the plan is used
  for (allocator::ServerInfo& server : snapshot.servers) {
    server.accepts &= state.moves.budgets.Left(Cause::kFailover, server.server);
  }
}

void AddToSnapshot(const PartitionState& state, ShardIndex id, Purpose purpose,
                   const LoadTable& loads, allocator::Snapshot& snapshot) {
  const Shard& shard = state.tables.shard(id);
  allocator::ShardInfo info{
      .shard = id, .wanted_replicas = shard.wanted, .new_role = state.replication.RoleToAdd()};
  if (shard.region != 0) info.preferred_region = shard.region;
  info.preference_weight = shard.preference_weight;
  if (state.demand.rules.on) {
    const RegionWishes wishes = WishesOf(state, id);
    info.region_wishes.assign(wishes.begin(), wishes.end());
  }
  bool at_rest = !shard.in_batch && !SourceOfMove(state, id).valid() && MayMove(state, id) &&
                 !MovedJustNow(state, id) && !StaysPut(state, id);
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& r) {
    at_rest &= r.phase == Phase::kGranted && !r.in_write;
  });
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& r) {
    const Server& server = state.tables.server(r.server);
    if (server.state != ServerState::kLive) {
      // It counts while it may come back: nothing else takes its place.
      if (r.phase == Phase::kGranted && !IsReplicaGivenUp(state, r) && info.wanted_replicas > 0) {
        --info.wanted_replicas;
      }
      return;
    }
    // Listed below, so not among the "other" replicas of its server.
    --PositionIn(snapshot, r.server)->other_replicas;
    const bool balance = purpose == Purpose::kBalance;
    // What moves counts where it is going. If it counted twice, one too many would follow it.
    if (balance && MakesRoom(state, r)) return;
    const bool extra = r.phase == Phase::kDropping || (r.phase == Phase::kPreparing && !balance);
    if (extra) ++info.wanted_replicas;  // holds a place, does not count
    // What stays on a server during a container operation stays there; likewise on one that comes
    // and goes (BarUnsteady).
    const bool unsteady =
        !server.steadiness.IsSteady(state.now) && !PositionIn(snapshot, r.server)->accepts;
    const bool stays = (server.planned.closed || unsteady) && !server.draining;
    const bool movable = at_rest && !stays && purpose != Purpose::kEmergency &&
                         state.moves.budgets.Left(CauseOfMove(state, r.server), r.server) &&
                         !TakesNothing(server);
    info.replicas.push_back({r.server, r.role, movable});
  });
  for (ServerIndex failed : Avoided(state, id, purpose != Purpose::kEmergency)) {
    if (state.tables.server(failed).state == ServerState::kLive) info.avoided.push_back(failed);
  }
  if (purpose != Purpose::kEmergency) {
    for (ServerIndex left : NoReturnTo(state, id)) {
      if (state.tables.server(left).state == ServerState::kLive) info.left.push_back(left);
    }
  }
  snapshot.shards.push_back(std::move(info));
  if (!state.loads.metrics.empty()) AddLoads(state, id, purpose, loads, snapshot);
}

allocator::Snapshot ExplainSnapshot(const PartitionState& state, ShardIndex shard) {
  allocator::Snapshot snapshot = FleetSnapshot(state, state.loads.reported);
  AddToSnapshot(state, shard, Purpose::kExplain, state.loads.reported, snapshot);
  return snapshot;
}

}  // namespace shardmanager::orchestrator
