#include "orchestrator/core/switchovers_under_way.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "model/map_reach.h"
#include "orchestrator/decide/load/primary_balance.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Between two planned changes of a shard's primary. The old primary sends requests on, and who
// gets them must be the primary still, as nobody sends them on twice: so clients have to know
// the new one, and what was on its way must have come, before there is another.
constexpr Duration kSwitchoverPause = kClientsReturnWithin + Seconds(1);

// A server that does not answer keeps a change under way for as long as it lives: replicas wait no
// longer than this for changes that may do without them.
constexpr Duration kReliefPatience = Seconds(30);

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
  const bool last =
      state_.switchovers.for_load.erase(id) > 0 && state_.switchovers.for_load.empty();
  if (last) agenda_.LookAtBalance();
  BeginPause(id);
  WakeWaiter();
}

void SwitchoversUnderWay::WakeWaiter() {
  if (!state_.switchovers.waiters.empty()) agenda_.MarkDirty(*state_.switchovers.waiters.begin());
}

bool SwitchoversUnderWay::RelieveServers() {
  if (!state_.replication.both_roles() || state_.loads.metrics.empty()) return false;
  Switchovers& changes = state_.switchovers;
  absl::erase_if(changes.for_load, [&](ShardIndex id) {
    if (changes.under_way.contains(id)) return false;
    changes.to.erase(id);  // it could not begin: it is decided anew
    return true;
  });
  const size_t most = state_.moves.budgets.limits(Cause::kBalance).total;
  const size_t room = most - std::min(most, changes.under_way.size());
  for (const PrimaryChange& change : ChangesForLoad(state_, room)) {
    const ServerIndex from = state_.tables.replica(change.primary).server;
    const ServerIndex to = state_.tables.replica(change.next).server;
    changes.to[change.shard] = to;
    changes.for_load.insert(change.shard);
    agenda_.MarkDirty(change.shard);
    agenda_.AddNote(NoteKind::kPrimaryPassesOn, to, change.shard,
                    absl::StrCat("from ", state_.tables.name(from),
                                 ", which is beyond its limits: no data moves"));
    changes.for_load_until = state_.now + kReliefPatience;
  }
  return !changes.for_load.empty() && state_.now < changes.for_load_until;
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
  RoleLoads loads(state_);
  size_t room = state_.moves.budgets.limits(Cause::kBalance).total;
  for (ShardIndex id : state_.map_order) {
    if (room <= state_.switchovers.under_way.size()) return;
    // What may not change now is looked at again: EndPause, kMoveAgain.
    const ReplicaIndex primary = ChangeablePrimary(state_, id);
    if (!primary.valid()) continue;
    const ReplicaIndex best = BestSecondary(state_, id, /*in_step=*/true);
    if (!best.valid()) continue;
    const Replica& from = state_.tables.replica(primary);
    const Replica& to = state_.tables.replica(best);
    const bool uneven = count[from.server.index()] >= count[to.server.index()] + 2;
    const PrimaryChange change{id, primary, best};
    if (!uneven || !MayTakeOver(state_, from, to) || loads.Overloads(change)) continue;
    --count[from.server.index()];
    ++count[to.server.index()];
    --room;
    loads.Apply(change);
    state_.switchovers.to[id] = to.server;
    agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
