#include "orchestrator/core/switchovers_under_way.h"

#include "model/map_reach.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Between two planned changes of a shard's primary. The old primary sends requests on, and who
// gets them must be the primary still, as nobody sends them on twice: so clients have to know
// the new one, and what was on its way must have come, before there is another.
constexpr Duration kSwitchoverPause = kClientsReturnWithin + Seconds(1);

}  // namespace

void SwitchoversUnderWay::Begin(ShardIndex id) {
  state_.switchovers.under_way.insert(id);
  const ReplicaIndex next = BestSecondary(state_, id, /*in_step=*/true);
  if (next.valid()) state_.switchovers.to[id] = state_.tables.replica(next).server;
}

void SwitchoversUnderWay::BeginPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = true;
  agenda_.SetTimer(kSwitchoverPause, TimerKind::kPrimarySettled, id.index());
}

void SwitchoversUnderWay::EndPause(ShardIndex id) {
  state_.tables.shard(id).primary_is_new = false;
  state_.switchovers.sent_to.erase(id);
  agenda_.MarkDirty(id);
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (CauseOfMove(state_, replica.server) == Cause::kDrain) agenda_.LookAtBalance();
  });
}

void SwitchoversUnderWay::End(ShardIndex id) {
  bool demoting = false;
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    demoting |= replica.phase == Phase::kDemoting;
  });
  if (demoting) return;
  if (state_.switchovers.under_way.erase(id) == 0) return;
  state_.switchovers.to.erase(id);
  BeginPause(id);
  WakeWaiter();
}

void SwitchoversUnderWay::WakeWaiter() {
  if (!state_.switchovers.waiters.empty()) agenda_.MarkDirty(*state_.switchovers.waiters.begin());
}

void SwitchoversUnderWay::BalancePrimaries() {
  if (!state_.replication.both_roles()) return;
  std::vector<uint32_t> count(state_.tables.server_count());
  for (uint32_t i = 0; i < count.size(); ++i) {
    count[i] = state_.tables.server(ServerIndex(i)).primaries;
  }
  for (const auto& [id, to] : state_.switchovers.to) {  // as if those were done
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (!primary.valid()) continue;
    --count[state_.tables.replica(primary).server.index()];
    ++count[to.index()];
  }
  size_t room = state_.moves.budgets.limits(Cause::kBalance).total;
  for (ShardIndex id : state_.map_order) {
    const ReplicaIndex primary = PrimaryOf(state_, id);
    if (room <= state_.switchovers.under_way.size() || !primary.valid() ||
        state_.switchovers.to.contains(id)) {
      continue;
    }
    // It is looked at again: EndPause, kMoveAgain.
    if (state_.tables.shard(id).primary_is_new || !MayMove(state_, id)) continue;
    if (StaysPut(state_, id)) continue;
    const ServerIndex from = state_.tables.replica(primary).server;
    const ReplicaIndex best = BestSecondary(state_, id, /*in_step=*/true);
    if (!best.valid()) continue;
    const ServerIndex to = state_.tables.replica(best).server;
    const bool nearer = state_.tables.server(from).region == state_.tables.shard(id).region &&
                        state_.tables.server(to).region != state_.tables.shard(id).region;
    if (nearer || state_.tables.server(to).sheds_primaries ||
        state_.tables.server(to).planned.closed || count[from.index()] < count[to.index()] + 2) {
      continue;
    }
    --count[from.index()];
    ++count[to.index()];
    --room;
    state_.switchovers.to[id] = to;
    agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
