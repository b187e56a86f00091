#include "orchestrator/core/role_turns.h"

#include "model/map_reach.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Between two planned changes of a shard's primary. The old primary sends requests on, and who
// gets them must be the primary still, as nobody sends them on twice: so clients have to know
// the new one, and what was on its way must have come, before there is another.
constexpr Duration kTurnPause = kClientsReturnWithin + Seconds(1);

}  // namespace

void RoleTurns::BeginTurn(ShardIndex id) {
  state_.turns.under_way.insert(id);
  const ReplicaIndex next = BestSecondary(state_, id, /*in_step=*/true);
  if (next.valid()) state_.turns.to[id] = state_.tables.replica(next).server;
}

void RoleTurns::BeginTurnPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = true;
  agenda_.SetTimer(kTurnPause, TimerKind::kTurnAgain, id.index());
}

void RoleTurns::EndTurnPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = false;
  state_.turns.sent_to.erase(id);
  agenda_.MarkDirty(id);
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (CauseOfMove(state_, replica.server) == Cause::kDrain) agenda_.LookAtBalance();
  });
}

void RoleTurns::EndTurn(ShardIndex id) {
  bool demoting = false;
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    demoting |= replica.phase == Phase::kDemoting;
  });
  if (demoting) return;
  if (state_.turns.under_way.erase(id) == 0) return;
  state_.turns.to.erase(id);
  BeginTurnPause(id);
  WakeTurnWaiter();
}

void RoleTurns::WakeTurnWaiter() {
  if (!state_.turns.waiters.empty()) agenda_.MarkDirty(*state_.turns.waiters.begin());
}

void RoleTurns::BalancePrimaries() {
  if (!state_.replication.both_roles()) return;
  std::vector<uint32_t> count(state_.tables.server_count());
  for (uint32_t i = 0; i < count.size(); ++i) {
    count[i] = state_.tables.server(ServerIndex(i)).primaries;
  }
  for (const auto& [id, to] : state_.turns.to) {  // as if those were done
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (!primary.valid()) continue;
    --count[state_.tables.replica(primary).server.index()];
    ++count[to.index()];
  }
  size_t room = state_.moves.budgets.limits(Cause::kBalance).total;
  for (ShardIndex id : state_.map_order) {
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (room <= state_.turns.under_way.size() || !primary.valid() || state_.turns.to.contains(id)) {
      continue;
    }
    // It is looked at again: EndTurnPause, kMoveAgain.
    if (state_.tables.shard(id).primary_is_new || !MayMove(state_, id)) continue;
    const ServerIndex from = state_.tables.replica(primary).server;
    const ReplicaIndex best = BestSecondary(state_, id, /*in_step=*/true);
    if (!best.valid()) continue;
    const ServerIndex to = state_.tables.replica(best).server;
    const bool nearer = state_.tables.server(from).region == state_.tables.shard(id).region &&
                        state_.tables.server(to).region != state_.tables.shard(id).region;
    if (nearer || state_.tables.server(to).sheds_primaries ||
        count[from.index()] < count[to.index()] + 2) {
      continue;
    }
    --count[from.index()];
    ++count[to.index()];
    --room;
    state_.turns.to[id] = to;
    agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
