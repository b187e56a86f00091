// From one shard's state to its next step.
#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "orchestrator/partition.h"
#include "orchestrator/record_size.h"

namespace shardmanager::orchestrator {

void Partition::Look(ShardIndex id) {
  Decide(id);
  if (!change_.empty()) WantWrite(id);

  Shard& shard = tables_.shard(id);
  if (!shard.in_batch && change_.empty()) intents_.erase(id);  // they came too late
  bool lacks = false;
  if (!shard.in_batch && change_.empty() && shard.wanted > 0 && !HeldBack(id)) {
    const Census census = Count(id);
    lacks = census.healthy < shard.wanted;
    const bool failover = lacks && !census.lost.empty();
    if (failover && (FailoversLeft(id) == 0 || !AnyServerTakesFailovers())) {
      AwaitFailover(id);
      lacks = false;
    }
  }
  if (lacks && !std::exchange(shard.missing, true)) missing_.Add(id);
  if (!lacks) {
    shard.missing = false;
    missing_.Forget(id);
    if (!failed_at_.empty() && change_.empty()) ForgetFailedMove(id);
  }
  Command(id);
}

// Asks servers for what durable phases demand of them.
void Partition::Command(ShardIndex id) {
  tables_.ForEach(id, [&](ReplicaIndex, Replica& replica) {
    const Server& server = tables_.server(replica.server);
    if (replica.in_write || replica.contact != Contact::kIdle) return;
    if (server.state != ServerState::kLive || !server.reported) return;
    if (server.record_unread || server.life_unread) return;
    const auto kind = Demand(replica);
    if (!kind) return;
    if (*kind == CommandKind::kDrop && (StillForwards(replica) || StillMember(replica))) return;
    Outbox command{replica.server, *kind, {replica.shard, replica.role, replica.epoch}, {}};
    if (replica.phase == Phase::kDemoting) {
      command.grant.role = Role::kSecondary;
      if (ReplicaIndex next = BestSecondary(id, /*in_step=*/true); next.valid()) {
        command.other = tables_.replica(next).server;
      }
    } else if (replica.phase == Phase::kGranted && replica.role == Role::kPrimary &&
               HasBothRoles()) {
      if (!IsCurrent(replica)) return;  // it came back in another life: roles.cc decides
      if (AwaitsUnreadMembers()) return;
      command.grant.members = MembersInGrant(id);
      command.grant.members_version = NextEpoch().value();
    }
    if (*kind == CommandKind::kPrepareAdd || *kind == CommandKind::kPrepareDrop) {
      const ReplicaIndex other = OtherOf(replica);
      if (!other.valid()) return;
      command.other = tables_.replica(other).server;
      command.grant.next_epoch = tables_.replica(other).epoch;
    }
    outbox_.push_back(command);
    replica.contact = Contact::kAsked;
  });
  if (!HasBothRoles()) return;
  if (ReplicaIndex p = PrimaryOf(id); p.valid()) TellMembers(id, tables_.replica(p));
}

// What the replica's durable state asks of its server.
std::optional<CommandKind> Partition::Demand(const Replica& replica) const {
  const auto kind = DemandOf(replica.phase);
  return kind == CommandKind::kAdd && replica.turned ? CommandKind::kChangeRole : kind;
}

// Fills change_ with what should be written for the shard now. Changes nothing else (but notes
// who waits for room among changes of primaries).
void Partition::Decide(ShardIndex id) {
  change_.clear();
  if (tables_.shard(id).in_batch || HeldBack(id)) return;
  const bool waited = turn_waiters_.erase(id) > 0;  // TurnPrimary() may put it back
  DecideNextStep(id);
  if (waited && !turn_waiters_.contains(id)) WakeTurnWaiter();
}

void Partition::DecideNextStep(ShardIndex id) {
  const Shard& shard = tables_.shard(id);
  DecideEnds(id);
  if (shard.wanted == 0) return DecideRetirement(id);
  if (change_.empty()) DecideHandover(id);
  if (change_.empty()) DecideToStay(id);
  if (!change_.phases.empty() && HandoverOf(id).to.valid()) return;  // one step at a time
  if (HasBothRoles() && change_.empty()) DecideRoles(id);
  if (HasBothRoles() && !change_.empty()) return;

  if (change_.empty()) DecideOvertaken(id);
  if (change_.empty()) DecideElsewhere(id);

  Census census = Count(id);
  DecideReturn(id, census);
  DecidePlacement(id, census);
  if (census.reserved.valid()) {
    if (!census.primary_right) {
      change_.phases.push_back({census.reserved, Phase::kGranted});
    } else if (!census.moving) {
      // Nothing makes way for it: the move was called off.
      change_.phases.push_back({census.reserved, Phase::kAbsent});
    }
  }
  if (census.healthy >= shard.wanted) {
    for (ReplicaIndex lost : census.lost) {
      const Replica& replica = tables_.replica(lost);
      // Whoever takes its role over is told of as one that may lack something: see roles.cc.
      if (HasBothRoles() && replica.role == Role::kPrimary) continue;
      if (IsEnding(lost) || !MayLeave(replica)) continue;
      change_.phases.push_back({lost, Phase::kAbsent});
    }
  }
  DecideSurplus(id, census);
}

// Replicas whose time is over whatever else happens.
void Partition::DecideEnds(ShardIndex id) {
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Server& server = tables_.server(replica.server);
    switch (replica.phase) {
      case Phase::kDropping:
        if (replica.contact == Contact::kDone || IsGone(server)) {
          change_.phases.push_back({r, Phase::kAbsent});
        }
        break;
      case Phase::kReserved:
        if (server.state != ServerState::kLive) change_.phases.push_back({r, Phase::kAbsent});
        break;
      case Phase::kGranted:
      case Phase::kPreparing:
      case Phase::kForwarding:
      case Phase::kDemoting: {
        // A change of strategy: there is no such role any more.
        const bool wanted = replica.role == Role::kPrimary ? HasPrimaries() : HasSecondaries();
        if (!wanted) change_.phases.push_back({r, Phase::kDropping});
        break;
      }
      case Phase::kAbsent:
        break;
    }
  });
}

// The shard is not in the spec any more.
void Partition::DecideRetirement(ShardIndex id) {
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (IsEnding(r)) return;
    if (replica.phase == Phase::kDropping) return;
    const bool reserved = replica.phase == Phase::kReserved;
    change_.phases.push_back({r, reserved ? Phase::kAbsent : Phase::kDropping});
  });
}

Partition::Census Partition::Count(ShardIndex id) const {
  Census census;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const bool hands_over =
        replica.phase == Phase::kPreparing || replica.phase == Phase::kForwarding;
    census.primary_right |= hands_over;
    if (IsEnding(r)) {
      census.moving |= replica.phase == Phase::kGranted;  // on its way to dropping
      census.primary_right |= replica.phase == Phase::kGranted && replica.role == Role::kPrimary;
      return;
    }
    const bool given_up = IsGivenUp(tables_.server(replica.server));
    if (replica.phase == Phase::kReserved) {
      census.reserved = r;
      ++census.healthy;
    } else if (replica.phase == Phase::kDropping) {
      census.moving = true;
      census.primary_right |= replica.role == Role::kPrimary;
    } else if (replica.phase == Phase::kDemoting) {
      census.moving = true;
      census.primary_right = true;
      census.healthy += !given_up;
    } else if (hands_over) {  // the old owner counts, as long as it is there
      census.moving = true;
      census.healthy += replica.phase == Phase::kForwarding;
    } else if (replica.phase == Phase::kGranted && given_up) {
      census.lost.push_back(r);
    } else if (replica.phase == Phase::kGranted) {
      ++census.healthy;
      census.serving += HasBothRoles() ? InStep(replica) : Serves(replica);
      census.primary_right |= replica.role == Role::kPrimary;
    }
  });
  return census;
}

// Uses what a plan proposed for the shard, as far as it still makes sense.
void Partition::DecidePlacement(ShardIndex id, Census& census) {
  auto it = intents_.find(id);
  if (it == intents_.end()) return;
  const Shard& shard = tables_.shard(id);
  const size_t room = FailoversLeft(id);
  if (!census.lost.empty() && room == 0) return;
  size_t repaired = 0;
  for (const Intent& intent : it->second) {
    if (!CanBeTarget(id, intent.to) || IsGettingNew(intent.to)) continue;
    if (intent.from.valid()) {
      DecideMove(id, intent, census);
      continue;
    }
    if (census.healthy >= shard.wanted) continue;
    NewReplica fresh{intent.to, Phase::kGranted, Cause::kPlacement, ServerIndex(),
                     RoleOfNew(id, census)};
    if (repaired < census.lost.size()) {
      if (repaired >= room || !budgets_.Left(Cause::kFailover, intent.to)) continue;
      fresh.cause = Cause::kFailover;
      fresh.origin = tables_.replica(census.lost[repaired++]).server;
    }
    const bool primary = fresh.role == Role::kPrimary;
    if (primary && census.primary_right) fresh.phase = Phase::kReserved;
    if (primary && HasBothRoles()) {
      census.primary_right = true;
      // The one that is lost must not come back as a second one.
      for (ReplicaIndex lost : census.lost) {
        if (tables_.replica(lost).role != Role::kPrimary) continue;
        change_.phases.push_back({lost, Phase::kAbsent});
      }
    }
    change_.news.push_back(fresh);
    ++census.healthy;
  }
}

// Where shards have both, one that nobody could become the primary of begins with it.
Role Partition::RoleOfNew(ShardIndex id, const Census& census) const {
  if (!HasBothRoles()) return HasPrimaries() ? Role::kPrimary : Role::kSecondary;
  bool others = census.primary_right;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool there =
        replica.phase == Phase::kGranted && !IsGivenUp(tables_.server(replica.server));
    others |= there || !MayLeave(replica);
  });
  return others ? Role::kSecondary : Role::kPrimary;
}

// A primary is handed over, or (in a basic move) the old one stops first. A secondary: the
// new one comes first.
void Partition::DecideMove(ShardIndex id, const Intent& intent, Census& census) {
  const ReplicaIndex from = tables_.FindReplica(id, intent.from);
  const bool at_rest = from.valid() && !IsEnding(from) && !census.moving &&
                       !census.reserved.valid() && census.lost.empty() && change_.news.empty() &&
                       census.healthy == tables_.shard(id).wanted;
  if (!at_rest || tables_.replica(from).phase != Phase::kGranted) return;
  if (TakesNothing(tables_.server(intent.from))) return;  // it could not be told to stop
  const Cause cause = CauseOfMove(intent.from);
  if (!MayMoveTo(id, intent.to) || !MoveBudgetLeft(cause, intent)) return;
  // Where there are both roles, a new secondary comes first, whoever goes.
  const bool primary = tables_.replica(from).role == Role::kPrimary && !HasBothRoles();
  Phase first = Phase::kGranted;
  if (primary && MovesByHandover()) {
    if (tables_.shard(id).primary_is_new) return;  // kTurnAgain
    first = Phase::kPreparing;
    census.moving = true;
  } else if (primary || Planted(Defect::kSurplusFirst)) {
    first = Phase::kReserved;
    change_.phases.push_back({from, Phase::kDropping});
    census.moving = true;
  }
  const Role role = HasSecondaries() ? Role::kSecondary : Role::kPrimary;
  change_.news.push_back({intent.to, first, cause, intent.from, role});
}

// More replicas than wanted, all of them serving: one goes. The source of a move if
// one is under way, else the one on the fullest server.
void Partition::DecideSurplus(ShardIndex id, const Census& census) {
  if (HasBothRoles() && census.healthy > tables_.shard(id).wanted) DecideOutOfStep(id);
  if (!change_.empty()) return;
  if (census.serving <= tables_.shard(id).wanted || census.healthy > census.serving) return;
  auto hint = move_from_.find(id);
  ReplicaIndex victim;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted || !Serves(replica) || IsEnding(r)) return;
    const auto rank = [&](const Replica& x) {
      const bool hinted = hint != move_from_.end() && hint->second == x.server;
      return std::tuple(!hinted, -static_cast<int64_t>(tables_.server(x.server).replicas.size()),
                        x.epoch);
    };
    if (!victim.valid() || rank(replica) < rank(tables_.replica(victim))) victim = r;
  });
  if (!victim.valid()) return;
  if (HasBothRoles() && tables_.replica(victim).role == Role::kPrimary) {
    if (MayMove(id)) TurnPrimary(id, victim);  // then it is the surplus secondary
    return;
  }
  if (!MayLeave(tables_.replica(victim))) return;
  change_.phases.push_back({victim, Phase::kDropping});
}

// Of more replicas that serve than wanted, one that its primary could not bring into step several
// times goes: else the surplus would wait for it for ever. If a move made it, the move has failed.
void Partition::DecideOutOfStep(ShardIndex id) {
  const auto membership = members_.find(id);
  if (membership == members_.end()) return;
  size_t serving = 0;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& replica) { serving += Serves(replica); });
  if (serving <= tables_.shard(id).wanted) return;
  tables_.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    const Membership::Member me{replica.server, tables_.server(replica.server).incarnation};
    const Membership::Failed* failed = membership->second.FindFailed(me);
    const bool goes = failed != nullptr && failed->failures >= kMostFailures &&
                      replica.phase == Phase::kGranted && replica.role == Role::kSecondary;
    if (!goes || !change_.empty() || !MayLeave(replica)) return;
    change_.phases.push_back({.replica = r, .to = Phase::kDropping, .failed = true});
  });
}

bool Partition::IsEnding(ReplicaIndex id) const {
  return std::any_of(change_.phases.begin(), change_.phases.end(), [&](const PhaseChange& c) {
    return c.replica == id && (c.to == Phase::kAbsent || c.to == Phase::kDropping);
  });
}

// Its session has ended, and no write has found that it is back.
bool Partition::IsGone(const Server& server) {
  return server.state != ServerState::kLive && !server.conflicted;
}

bool Partition::IsGivenUp(const Server& server) { return IsGone(server) && server.failing_over; }

bool Partition::CanBeTarget(ShardIndex shard, ServerIndex id) const {
  const Server& server = tables_.server(id);
  return server.state == ServerState::kLive && !server.draining && !TakesNothing(server) &&
         !IsBarred(id) && RecordTakes(id, ReplicaBytes(tables_.name(shard))) &&
         !tables_.FindReplica(shard, id).valid();
}

// By the change so far.
bool Partition::IsGettingNew(ServerIndex id) const {
  return std::any_of(change_.news.begin(), change_.news.end(),
                     [&](const NewReplica& fresh) { return fresh.server == id; });
}

bool Partition::HasPrimaries() const {
  return spec_.replication().strategy() != v1::SECONDARY_ONLY;
}
bool Partition::HasSecondaries() const {
  return spec_.replication().strategy() != v1::PRIMARY_ONLY;
}
bool Partition::HasBothRoles() const {
  return spec_.replication().strategy() == v1::PRIMARY_SECONDARY;
}

}  // namespace shardmanager::orchestrator
