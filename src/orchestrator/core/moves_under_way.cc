#include "orchestrator/core/moves_under_way.h"

#include <algorithm>

#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kLeastWoken = 64;  // shards, where no failover is under way

}  // namespace

void MovesUnderWay::Settle(ReplicaIndex id) {
  Replica& replica = state_.tables.replica(id);
  if (std::exchange(replica.settled, true)) return;
  state_.moves.budgets.Give(replica);
  if (IsMove(replica.cause)) {
    if (state_.moves.budgets.under_way(replica.cause) == 0) agenda_.LookAtBalance();
    // A plan that was made meanwhile found the budget of its servers used up.
    state_.balance.at_rest = false;
  }
  if (replica.cause == Cause::kFailover) {
    if (--state_.tables.server(replica.origin).failover_pending == 0) {
      publication_.FailoverFinished(replica.origin);
    }
    state_.missing.MayHelp(Help::kAny);  // its target may take the next one
    NextFailover();
  }
}

void MovesUnderWay::NoteLeft(ShardIndex shard, ServerIndex server) {
  if (const auto begun = state_.moves.begun.find(shard);
      begun != state_.moves.begun.end() && begun->second.serves && begun->second.from == server) {
    state_.moves.begun.erase(begun);
  }
  state_.tables.ForEach(shard, [&](ReplicaIndex, Replica& replica) {
    if (replica.origin != server || !std::exchange(replica.follows_loads, false)) return;
    state_.moves.left.Left(shard, server, state_.now);
  });
}

void MovesUnderWay::RecoverMoves() {
  for (uint32_t i = 0; i < state_.tables.shard_count(); ++i) {
    const Handover handover = HandoverOf(state_, ShardIndex(i));
    const bool prepares = handover.to.valid();
    const ReplicaIndex old_owner = prepares ? handover.from : handover.last;
    const ReplicaIndex new_owner = prepares ? handover.to : handover.from;
    if (!old_owner.valid() || !new_owner.valid()) continue;
    Replica& to = state_.tables.replica(new_owner);
    // Nothing comes of it.
    if (state_.tables.server(to.server).state != ServerState::kLive) continue;
    to.origin = state_.tables.replica(old_owner).server;
    to.cause = CauseOfMove(state_, to.origin);
    to.settled = false;
    state_.moves.budgets.Take(to);
  }
}

void MovesUnderWay::AwaitFailover(ShardIndex id) {
  const uint32_t rank = FailoverRank(state_, id);
  const auto [known, fresh] = rank_of_waiter_.try_emplace(id, rank);
  if (!fresh && known->second <= rank) return;
  known->second = rank;
  state_.tables.shard(id).waits_for_budget = true;
  waiters_[rank].push_back(id);
}

// One has ended. After the last one, several that wait are looked at: it may be that those woken
// before had found what they lacked, and used no room. (Not all: there may be very many.)
void MovesUnderWay::NextFailover() {
  WakeFirst();
  WakeIfIdle();
}

void MovesUnderWay::WakeIfIdle() {
  if (state_.moves.budgets.under_way(Cause::kFailover) > 0) return;
  const uint32_t limit = state_.moves.budgets.limits(Cause::kFailover).total;
  for (uint32_t i = 0; i < std::max(kLeastWoken, 2 * limit); ++i) WakeFirst();
}

void MovesUnderWay::WakeWaiters() {
  while (!rank_of_waiter_.empty()) WakeFirst();
}

void MovesUnderWay::WakeFirst() {
  while (!waiters_.empty()) {
    const auto first = waiters_.begin();
    const ShardIndex id = first->second.front();
    const auto waits = rank_of_waiter_.find(id);
    const bool stale = waits == rank_of_waiter_.end() || waits->second != first->first;
    first->second.pop_front();
    if (first->second.empty()) waiters_.erase(first);
    if (stale) continue;
    rank_of_waiter_.erase(waits);
    state_.tables.shard(id).waits_for_budget = false;
    return agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
