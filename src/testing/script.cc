#include "testing/script.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "model/command_kind.h"
#include "model/proto_values.h"

namespace shardmanager::testing_internal {
namespace {

template <typename Replica>
void CheckTransition(const Replica* before, const std::optional<Replica>& after) {
  const Phase from = before == nullptr ? Phase::kAbsent : before->phase;
  const Phase to = after ? after->phase : Phase::kAbsent;
  RoleChange role_change = RoleChange::kNone;
  if (before != nullptr && after && before->role != after->role) {
    role_change = after->role == Role::kPrimary ? RoleChange::kPromote : RoleChange::kDemote;
  }
  if (from == to && role_change == RoleChange::kNone) return;  // another epoch
  SM_CHECK(FindTransition(from, to, role_change) != nullptr, "no such transition of a replica");
}

absl::Status NotThere(const ShardId& shard, const ServerName& server) {
  return absl::NotFoundError(
      absl::StrCat("shard ", shard.value(), " is not assigned to ", server.value()));
}

}  // namespace

absl::StatusOr<CommandTarget> Script::Live(const ServerName& server) {
  const auto life = cell_.LifeOf(server);
  if (life) return CommandTarget{server.value(), life->endpoint, life->incarnation};
  return absl::NotFoundError(absl::StrCat(
      server.value(), " has no live session: has it started, and is it in reach of the store?"));
}

absl::Status Script::InTurn(const ShardId& shard, const Order& order) {
  {
    std::lock_guard lock(mutex_);
    if (!busy_.insert(shard).second) {
      return absl::FailedPreconditionError(
          absl::StrCat("another order of shard ", shard.value(), " is under way"));
    }
  }
  absl::Status status = order();
  std::lock_guard lock(mutex_);
  busy_.erase(shard);
  return status;
}

// ---- orders ----

absl::Status Script::Assign(const ShardId& shard, const ServerName& server, Role role) {
  return InTurn(shard, [&] { return AssignInTurn(shard, server, role); });
}

absl::Status Script::AssignInTurn(const ShardId& shard, const ServerName& server, Role role) {
  if (const auto live = Live(server); !live.ok()) return live.status();
  const auto there = Get(shard, server);
  if (there && there->role == role && there->phase == Phase::kGranted)
    return Command(shard, server);
  if (there) {
    return absl::FailedPreconditionError(
        absl::StrCat("shard ", shard.value(), " is at ", server.value(),
                     " already, in another role or in the middle of a move"));
  }
  Changes changes{{server, Replica{role, NextEpoch(), Phase::kGranted}}};
  for (const ServerName& primary : PrimariesOf(shard)) {
    if (role != Role::kPrimary) break;
    if (Live(primary).ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("shard ", shard.value(), " has its primary at ", primary.value(),
                       ", which is live: Move() it, or ExpireSession() first"));
    }
    Lose(shard, primary);
    changes[primary] = std::nullopt;
  }
  if (absl::Status s = Write(shard, changes); !s.ok()) return s;
  return Command(shard, server);
}

absl::Status Script::Regrant(const ShardId& shard, const ServerName& server) {
  return InTurn(shard, [&] {
    auto there = Get(shard, server);
    if (!there || there->phase != Phase::kGranted) return NotThere(shard, server);
    there->epoch = NextEpoch();
    if (absl::Status s = Write(shard, {{server, there}}); !s.ok()) return s;
    return Command(shard, server);
  });
}

absl::Status Script::Drop(const ShardId& shard, const ServerName& server) {
  return InTurn(shard, [&] { return DropInTurn(shard, server); });
}

absl::Status Script::DropInTurn(const ShardId& shard, const ServerName& server) {
  auto there = Get(shard, server);
  if (!there) return NotThere(shard, server);
  there->phase = Phase::kDropping;
  if (absl::Status s = Write(shard, {{server, there}}); !s.ok()) return s;
  if (absl::Status s = Command(shard, server); !s.ok()) return s;
  return Write(shard, {{server, std::nullopt}});
}

absl::Status Script::RepeatAll(const ServerName& server) {
  std::map<ShardId, Replica> owed;
  {
    std::lock_guard lock(mutex_);
    owed = std::exchange(lost_[server], {});
    for (const auto& [shard, replica] : assigned_[server]) {
      if (replica.phase == Phase::kGranted) owed[shard] = replica;
    }
  }
  for (const auto& [shard, replica] : owed) {
    if (absl::Status s = Command(shard, replica, server); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// ---- roles ----

absl::Status Script::Promote(const ShardId& shard, const ServerName& server) {
  return InTurn(shard, [&] { return PromoteInTurn(shard, server); });
}

absl::Status Script::PromoteInTurn(const ShardId& shard, const ServerName& server) {
  const auto live = Live(server);
  if (!live.ok()) return live.status();
  auto there = Get(shard, server);
  if (!there || there->phase != Phase::kGranted) return NotThere(shard, server);
  if (there->role != Role::kPrimary) {
    Changes changes;
    for (const ServerName& primary : PrimariesOf(shard)) {
      ShardEpoch epoch;
      if (Live(primary).ok()) {
        if (absl::Status s = Step(shard, primary, &*live); !s.ok()) return s;
        epoch = Get(shard, primary)->epoch;
      } else {
        epoch = NextEpoch();  // it may come back, and is to learn of it
      }
      changes[primary] = Replica{Role::kSecondary, epoch, Phase::kGranted};
    }
    there = Replica{Role::kPrimary, NextEpoch(), Phase::kGranted};
    changes[server] = there;
    if (absl::Status s = Write(shard, changes); !s.ok()) return s;
  }
  return commands_.ChangeRole(*live, ToGrant(shard, *there), nullptr);
}

absl::Status Script::Demote(const ShardId& shard, const ServerName& server) {
  return InTurn(shard, [&] {
    const auto there = Get(shard, server);
    if (!there || there->role != Role::kPrimary || there->phase != Phase::kGranted) {
      return NotThere(shard, server);
    }
    if (absl::Status s = Step(shard, server, nullptr); !s.ok()) return s;
    const Replica secondary{Role::kSecondary, Get(shard, server)->epoch, Phase::kGranted};
    return Write(shard, {{server, secondary}});
  });
}

absl::Status Script::Step(const ShardId& shard, const ServerName& down, const CommandTarget* next) {
  const auto live = Live(down);
  if (!live.ok()) return live.status();
  const Replica before = *Get(shard, down);
  Replica replica{Role::kPrimary, NextEpoch(), Phase::kDemoting};
  if (absl::Status s = Write(shard, {{down, replica}}); !s.ok()) return s;
  absl::Status stepped = Command(shard, down, next);
  if (stepped.ok()) return stepped;
  // Called off. If its server has done that itself, the grant before holds on.
  const bool serves_on = absl::IsAborted(stepped);
  replica = serves_on ? before : Replica{Role::kPrimary, NextEpoch(), Phase::kGranted};
  if (absl::Status s = Write(shard, {{down, replica}}); !s.ok()) return s;
  if (serves_on) return stepped;
  if (absl::Status s = Command(shard, down); !s.ok()) return s;
  return stepped;
}

absl::Status Script::SetMembers(const ShardId& shard, const std::vector<ServerName>& servers) {
  return InTurn(shard, [&] { return SetMembersInTurn(shard, servers); });
}

absl::Status Script::SetMembersInTurn(const ShardId& shard,
                                      const std::vector<ServerName>& servers) {
  const std::vector<ServerName> primaries = PrimariesOf(shard);
  if (primaries.size() != 1) {
    return absl::NotFoundError(absl::StrCat("shard ", shard.value(), " has no primary"));
  }
  const std::set<ServerName> names(servers.begin(), servers.end());
  if (!names.contains(primaries.front())) {
    return absl::FailedPreconditionError(
        absl::StrCat("the primary, ", primaries.front().value(), ", is not among the members"));
  }
  const auto primary = Live(primaries.front());
  if (!primary.ok()) return primary.status();
  v1::ShardMembers members;
  members.set_version(NextEpoch().value());
  for (const ServerName& name : names) {
    const auto live = Live(name);
    if (!live.ok()) return live.status();
    v1::ShardMember* member = members.add_members();
    member->set_server(live->server);
    member->set_endpoint(live->endpoint);
  }
  {
    std::lock_guard lock(mutex_);
    members_[shard] = members;
  }
  return commands_.SetMembers(*primary, ToGrant(shard, *Get(shard, primaries.front())));
}

bool Script::HasBothRoles(const ShardId& shard) {
  std::lock_guard lock(mutex_);
  bool primary = false;
  bool secondary = false;
  for (const auto& [server, replicas] : assigned_) {
    const auto found = replicas.find(shard);
    if (found == replicas.end()) continue;
    (found->second.role == Role::kPrimary ? primary : secondary) = true;
  }
  return primary && secondary;
}

// ---- the handover ----

absl::Status Script::Move(const ShardId& shard, const ServerName& to) {
  return InTurn(shard, [&] { return MoveInTurn(shard, to); });
}

absl::Status Script::MoveInTurn(const ShardId& shard, const ServerName& to) {
  Ends ends{shard, {}, to};
  for (const ServerName& primary : PrimariesOf(shard)) {
    if (primary == to) continue;
    if (!ends.from.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("shard ", shard.value(), " is on its way from ", ends.from.value(), " to ",
                       primary.value(), ": end that Move() first"));
    }
    ends.from = primary;
  }
  if (ends.from.empty()) {
    return absl::NotFoundError(absl::StrCat("shard ", shard.value(),
                                            " has no primary that could be moved to ", to.value()));
  }
  for (const auto step : {&Script::Prepare, &Script::LetGo, &Script::Take}) {
    if (absl::Status s = (this->*step)(ends); !s.ok()) return s;
  }
  if (absl::Status s = Command(shard, ends.from); !s.ok()) return s;
  return Write(shard, {{ends.from, std::nullopt}});
}

// Each of the three does nothing if the shard is past it.
absl::Status Script::Prepare(const Ends& ends) {
  if (Get(ends.shard, ends.from)->phase != Phase::kGranted) return absl::OkStatus();
  const auto live = Live(ends.to);
  if (!live.ok()) return live.status();
  const Replica next{Role::kPrimary, NextEpoch(), Phase::kPreparing};
  if (absl::Status s = Write(ends.shard, {{ends.to, next}}); !s.ok()) return s;
  const CommandTarget old_owner{.server = ends.from.value()};
  absl::Status prepared = Command(ends.shard, ends.to, &old_owner);
  if (prepared.ok()) {
    auto from = Get(ends.shard, ends.from);
    from->phase = Phase::kForwarding;
    return Write(ends.shard, {{ends.from, from}});
  }
  // Called off. It may be at work yet: it is to forget what it prepares.
  if (absl::Status s = DropInTurn(ends.shard, ends.to); !s.ok()) return s;
  return prepared;
}

absl::Status Script::LetGo(const Ends& ends) {
  auto from = Get(ends.shard, ends.from);
  if (from->phase != Phase::kForwarding) return absl::OkStatus();
  const auto old_owner = Live(ends.from);
  const auto new_owner = Live(ends.to);
  for (const auto* live : {&old_owner, &new_owner}) {
    if (!live->ok()) return live->status();
  }
  auto to = Get(ends.shard, ends.to);
  if (absl::Status s = Command(ends.shard, ends.from, &*new_owner); !s.ok()) return s;
  from->phase = Phase::kDropping;
  to->phase = Phase::kGranted;
  return Write(ends.shard, {{ends.from, from}, {ends.to, to}});
}

absl::Status Script::Take(const Ends& ends) { return Command(ends.shard, ends.to); }

absl::Status Script::Command(const ShardId& shard, const ServerName& server,
                             const CommandTarget* other) {
  return Command(shard, *Get(shard, server), server, other);
}

absl::Status Script::Command(const ShardId& shard, const Replica& replica, const ServerName& server,
                             const CommandTarget* other) {
  const auto live = Live(server);
  if (!live.ok()) return live.status();
  v1::ShardGrant grant = ToGrant(shard, replica);
  switch (DemandOf(replica.phase).value()) {
    case CommandKind::kAdd:
      return commands_.Add(*live, grant);
    case CommandKind::kDrop:
      return commands_.Drop(*live, grant);
    case CommandKind::kPrepareAdd:
      return commands_.PrepareAdd(*live, grant, other->server);
    case CommandKind::kPrepareDrop:
      grant.set_next_epoch(Get(shard, ServerName(other->server))->epoch.value());
      return commands_.PrepareDrop(*live, grant, *other);
    case CommandKind::kChangeRole:
      grant.set_role(v1::SECONDARY);  // it is to be demoted
      grant.clear_members();
      return commands_.ChangeRole(*live, grant, other);
    case CommandKind::kSetMembers:
      break;
  }
  SM_CHECK(false, "no phase demands that members are set");
}

v1::ShardGrant Script::ToGrant(const ShardId& shard, const Replica& replica) {
  v1::ShardGrant grant;
  grant.set_shard(shard.value());
  grant.set_role(ToProto(replica.role));
  grant.set_epoch(replica.epoch.value());
  if (replica.role != Role::kPrimary) return grant;
  std::lock_guard lock(mutex_);
  const auto members = members_.find(shard);
  if (members != members_.end()) *grant.mutable_members() = members->second;
  return grant;
}

// ---- what is stored ----

absl::Status Script::Write(const ShardId& shard, const Changes& changes) {
  std::lock_guard lock(mutex_);
  std::vector<v1::AssignmentRecord> records;
  for (const auto& [server, change] : changes) {
    auto& replicas = assigned_[server];
    CheckTransition(replicas.contains(shard) ? &replicas[shard] : nullptr, change);
    if (change) {
      replicas[shard] = *change;
    } else {
      replicas.erase(shard);
    }
    v1::AssignmentRecord& record = records.emplace_back();
    record.set_server(server.value());
    for (const auto& [id, replica] : replicas) {
      v1::AssignedReplica* out = record.add_replicas();
      out->set_shard(id.value());
      out->set_role(ToProto(replica.role));
      out->set_epoch(replica.epoch.value());
      out->set_phase(ToProto(replica.phase));
    }
  }
  return cell_.Assign(records);
}

void Script::Lose(const ShardId& shard, const ServerName& server) {
  std::lock_guard lock(mutex_);
  Replica lost = assigned_[server][shard];
  lost.phase = Phase::kDropping;
  lost_[server][shard] = lost;
}

std::optional<Script::Replica> Script::Get(const ShardId& shard, const ServerName& server) {
  std::lock_guard lock(mutex_);
  const auto replicas = assigned_.find(server);
  if (replicas == assigned_.end()) return std::nullopt;
  const auto found = replicas->second.find(shard);
  return found == replicas->second.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ServerName> Script::PrimariesOf(const ShardId& shard) {
  std::lock_guard lock(mutex_);
  std::vector<ServerName> primaries;
  for (const auto& [server, replicas] : assigned_) {
    const auto found = replicas.find(shard);
    if (found != replicas.end() && found->second.role == Role::kPrimary)
      primaries.push_back(server);
  }
  return primaries;
}

ShardEpoch Script::NextEpoch() {
  std::lock_guard lock(mutex_);
  return ShardEpoch(++last_epoch_);
}

}  // namespace shardmanager::testing_internal
