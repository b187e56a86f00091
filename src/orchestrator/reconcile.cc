// From one shard's state to its next step.
#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "orchestrator/decide/census.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/members.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/partition.h"
#include "orchestrator/record_size.h"

namespace shardmanager::orchestrator {

void Partition::Look(ShardIndex id) {
  const Change change = Decide(id);
  if (!change.empty()) agenda_.WantWrite(id);

  Shard& shard = state_.tables.shard(id);
  const bool at_rest = !shard.in_batch && change.empty();
  if (at_rest) state_.moves.intents.erase(id);  // they came too late
  bool lacks = false;
  if (at_rest && shard.wanted > 0 && !HeldBack(state_, id)) {
    const Census census = Count(state_, change, id);
    lacks = census.healthy < shard.wanted;
    const bool failover = lacks && !census.lost.empty();
    if (failover && (FailoversLeft(state_, id) == 0 || !AnyServerTakesFailovers(state_))) {
      AwaitFailover(id);
      lacks = false;
    }
  }
  if (lacks && !std::exchange(shard.missing, true)) state_.missing.Add(id);
  if (!lacks) {
    shard.missing = false;
    state_.missing.Forget(id);
    if (!state_.failures.failed_at.empty() && change.empty()) failed_shards_.ForgetFailedMove(id);
  }
  Command(id);
}

// Asks servers for what durable phases demand of them.
void Partition::Command(ShardIndex id) {
  state_.tables.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    const Server& server = state_.tables.server(replica.server);
    if (replica.in_write || replica.contact != Contact::kIdle) return;
    if (server.state != ServerState::kLive || !server.reported) return;
    if (server.record_unread || server.life_unread) return;
    const auto kind = Demand(replica);
    if (!kind) return;
    if (*kind == CommandKind::kDrop &&
        (StillForwards(state_, replica) || StillMember(state_, replica)))
      return;
    Outbox command{replica.server, *kind, {replica.shard, replica.role, replica.epoch}, {}};
    if (replica.phase == Phase::kDemoting) {
      command.grant.role = Role::kSecondary;
      if (ReplicaIndex next = BestSecondary(state_, id, /*in_step=*/true); next.valid()) {
        command.other = state_.tables.replica(next).server;
      }
    } else if (replica.phase == Phase::kGranted && replica.role == Role::kPrimary &&
               HasBothRoles(state_)) {
      if (!IsCurrent(state_, replica)) return;  // it came back in another life: decide/roles.h
      if (AwaitsUnreadMembers(state_)) return;
      command.grant.members = members_.MembersInGrant(id);
      command.grant.members_version = agenda_.NextEpoch().value();
    }
    if (*kind == CommandKind::kPrepareAdd || *kind == CommandKind::kPrepareDrop) {
      const ReplicaIndex other = OtherOf(state_, replica);
      if (!other.valid()) return;
      command.other = state_.tables.replica(other).server;
      command.grant.next_epoch = state_.tables.replica(other).epoch;
    }
    agenda_.Send(command);
    replica.contact = Contact::kAsked;
  });
  if (!HasBothRoles(state_)) return;
  if (ReplicaIndex p = PrimaryOf(state_, id); p.valid())
    members_.TellMembers(id, state_.tables.replica(p));
}

// What should be written for the shard now. Changes nothing but who waits for room among changes of
// primaries.
Change Partition::Decide(ShardIndex id) {
  if (state_.tables.shard(id).in_batch || HeldBack(state_, id)) return {};
  const bool waited = state_.turns.waiters.erase(id) > 0;
  Change change = NextStep(state_, id);
  if (change.waits_for_turn) {
    state_.turns.waiters.insert(id);
  } else if (waited) {
    turns_.WakeTurnWaiter();
  }
  return change;
}

// Until NextFailover.
void Partition::AwaitFailover(ShardIndex id) {
  if (std::exchange(state_.tables.shard(id).waits_for_budget, true)) return;
  budget_waiters_.push_back(id);
}

// One has ended. After the last one, all that wait are looked at: it may be that those woken
// before had found what they lacked, and used no room.
void Partition::NextFailover() {
  size_t woken = state_.moves.budgets.under_way(Cause::kFailover) == 0 ? budget_waiters_.size() : 1;
  for (; woken > 0 && !budget_waiters_.empty(); --woken) {
    const ShardIndex id = budget_waiters_.front();
    budget_waiters_.pop_front();
    state_.tables.shard(id).waits_for_budget = false;
    agenda_.MarkDirty(id);
  }
}

}  // namespace shardmanager::orchestrator
