// What follows when a change of a primary begins and ends. Who it is to be: decide/roles.h.
#include "orchestrator/decide/roles.h"

#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "model/map_reach.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// Between two planned changes of a shard's primary. The old primary sends requests on, and who
// gets them must be the primary still, as nobody sends them on twice: so clients have to know
// the new one, and what was on its way must have come, before there is another.
constexpr Duration kTurnPause = kClientsReturnWithin + Seconds(1);

}  // namespace

// The change is being written. Who is to be the next one stays the same to its end.
void Partition::BeginTurn(ShardIndex id) {
  state_.turns.under_way.insert(id);
  const ReplicaIndex next = BestSecondary(state_, id, /*in_step=*/true);
  if (next.valid()) state_.turns.to[id] = state_.tables.replica(next).server;
}

// Another server is its primary, as planned.
void Partition::BeginTurnPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = true;
  SetTimer(kTurnPause, TimerKind::kTurnAgain, id.index());
}

// A shard whose server is to be emptied does not wait for the next periodic look at the balance.
void Partition::EndTurnPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = false;
  state_.turns.sent_to.erase(id);
  MarkDirty(id);
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    balance_soon_ |= CauseOfMove(state_, replica.server) == Cause::kDrain;
  });
}

// After a write of the shard: the change is over when nobody is being demoted.
void Partition::EndTurn(ShardIndex id) {
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

// Whoever waits first for room is looked at: it takes it, waits on, or wakes the next one.
void Partition::WakeTurnWaiter() {
  if (!state_.turns.waiters.empty()) MarkDirty(*state_.turns.waiters.begin());
}

// Evens out how many primaries servers have, where no replica needs to move for it. A few at
// a time; it is called again when these are done.
void Partition::BalancePrimaries() {
  if (!HasBothRoles(state_)) return;
  std::vector<uint32_t> count(state_.tables.server_count());
  for (uint32_t i = 0; i < count.size(); ++i)
    count[i] = state_.tables.server(ServerIndex(i)).primaries;
  for (const auto& [id, to] : state_.turns.to) {  // as if those were done
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (!primary.valid()) continue;
    --count[state_.tables.replica(primary).server.index()];
    ++count[to.index()];
  }
  size_t room = state_.moves.budgets.limits(Cause::kBalance).total;
  for (ShardIndex id : state_.map_order) {
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (room <= state_.turns.under_way.size() || !primary.valid() || state_.turns.to.contains(id))
      continue;
    // It is looked at again: EndTurnPause, kMoveAgain.
    if (state_.tables.shard(id).primary_is_new || !MayMove(state_, id)) continue;
    const ServerIndex from = state_.tables.replica(primary).server;
    const ReplicaIndex best = BestSecondary(state_, id, /*in_step=*/true);
    if (!best.valid()) continue;
    const ServerIndex to = state_.tables.replica(best).server;
    const bool nearer = state_.tables.server(from).region == state_.tables.shard(id).region &&
                        state_.tables.server(to).region != state_.tables.shard(id).region;
    if (nearer || state_.tables.server(to).sheds_primaries ||
        count[from.index()] < count[to.index()] + 2)
      continue;
    --count[from.index()];
    ++count[to.index()];
    --room;
    state_.turns.to[id] = to;
    MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
