#include "orchestrator/decide/members.h"

#include <algorithm>
#include <tuple>

#include "base/defect.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

bool Has(const MemberList& list, const Member& member) {
  return std::binary_search(list.begin(), list.end(), member);
}

// It may acknowledge what the members know that it was last told of: until it has said that it
// stopped, and also before it has said to this leader that it serves.
bool MayServeByOldMembers(const PartitionState& state, const Replica& replica) {
  const bool live = state.tables.server(replica.server).state == ServerState::kLive;
  if (replica.role != Role::kPrimary || !live) return false;
  if (replica.phase == Phase::kDemoting) return replica.contact != Contact::kDone;
  return replica.phase == Phase::kGranted && replica.failures == 0 && IsCurrent(state, replica);
}

// As it has said itself, under the grant that it has.
bool GoesByOthers(const PartitionState& state, const Replica& primary, ServerIndex without) {
  const auto found = state.members.find(primary.shard);
  if (found == state.members.end()) return false;
  const ToldMembers& membership = found->second;
  if (!membership.known || membership.epoch != primary.epoch) return false;
  return std::none_of(membership.told.begin(), membership.told.end(),
                      [&](const Member& member) { return member.server == without; });
}

}  // namespace

void DecideMembers(const PartitionState& state, Change& change, ShardIndex id,
                   ReplicaIndex primary) {
  const ToldMembers* membership = nullptr;
  if (const auto found = state.members.find(id); found != state.members.end()) {
    membership = &found->second;
  }
  const bool told = membership != nullptr && membership->known &&
                    membership->contact != Contact::kAsked &&
                    membership->epoch == state.tables.replica(primary).epoch;
  state.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    if (replica.phase != Phase::kGranted || r == primary) return;
    const Server& server = state.tables.server(replica.server);
    if (HasLeft(state, replica)) {
      change.phases.push_back({r, Phase::kGranted, RoleChange::kNone, 0});
    }
    if (replica.member_life != 0 || !told || !Serves(state, replica)) return;
    if (!Has(membership->told, {replica.server, server.incarnation})) return;
    change.phases.push_back({r, Phase::kGranted, RoleChange::kNone, server.life()});
  });
}

MemberList MembersOf(const PartitionState& state, ShardIndex id, const MemberList& told) {
  MemberList list;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    if (replica.phase != Phase::kGranted && replica.phase != Phase::kDemoting) return;
    const Member me{replica.server, state.tables.server(replica.server).incarnation};
    const bool comes = replica.member_life == 0 && Serves(state, replica) && Has(told, me);
    if (replica.role == Role::kPrimary || IsCurrent(state, replica) || comes) list.push_back(me);
  });
  for (const Member& member : state.unread.members.Of(id)) list.push_back(member);
  std::sort(list.begin(), list.end());
  return list;
}

std::optional<Member> NextMember(const PartitionState& state, ShardIndex id,
                                 const ToldMembers& membership) {
  if (state.replication.quorum && !HasMajority(state, id)) return std::nullopt;
  const bool fair = !Planted(Defect::kStarvesMembers);
  std::optional<std::tuple<uint8_t, bool, Member>> next;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool lacks = replica.phase == Phase::kGranted && replica.role == Role::kSecondary &&
                       replica.member_life == 0 && Serves(state, replica) &&
                       !IsCurrent(state, replica);
    if (!lacks) return;
    const Member me{replica.server, state.tables.server(replica.server).incarnation};
    const ToldMembers::Failed* failed = membership.FindFailed(me);
    if (fair && failed != nullptr && state.now < failed->retry_at) return;
    const uint8_t failures = fair && failed != nullptr ? failed->failures : uint8_t{0};
    const std::tuple rank(failures, fair && me == membership.tried_last, me);
    if (!next || rank < *next) next = rank;
  });
  if (!next) return std::nullopt;
  return std::get<Member>(*next);
}

bool HasLeft(const PartitionState& state, const Replica& replica) {
  if (replica.member_life == 0 || state.replication.quorum) return false;
  return IsGone(state.tables.server(replica.server)) || !IsCurrent(state, replica);
}

bool IsAwaitedFormer(const PartitionState& state, const Replica& replica) {
  if (replica.member_life == 0 || state.replication.quorum || Serves(state, replica)) return false;
  const Server& server = state.tables.server(replica.server);
  if (server.state == ServerState::kLive) return !IsInTroubleForLong(state, replica);
  return IsGone(server) && !IsLastResort(state, server);
}

bool RecordNamesFormerLife(const PartitionState& state, ShardIndex id) {
  bool names = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    names |= replica.phase == Phase::kGranted && replica.role == Role::kSecondary &&
             replica.member_life != 0 && !IsCurrent(state, replica);
  });
  return names;
}

bool StillMember(const PartitionState& state, const Replica& replica) {
  const bool leaves = replica.phase == Phase::kDropping && replica.role == Role::kSecondary;
  const bool wanted = state.tables.shard(replica.shard).wanted != 0;
  if (!state.replication.both_roles() || !leaves || !wanted) return false;
  bool counts_on_it = false;
  state.tables.ForEach(replica.shard, [&](ReplicaIndex, const Replica& primary) {
    counts_on_it |=
        MayServeByOldMembers(state, primary) && !GoesByOthers(state, primary, replica.server);
  });
  return counts_on_it;
}

bool MayLeave(const PartitionState& state, const Change& change, const Replica& replica) {
  const bool counts =
      state.replication.both_roles() && state.replication.quorum && replica.member_life != 0;
  if (!counts || Planted(Defect::kForgetsMembers)) return true;
  const bool another =
      std::any_of(change.phases.begin(), change.phases.end(), [&](const PhaseChange& change) {
        const bool ends = change.to == Phase::kAbsent || change.to == Phase::kDropping;
        return ends && state.tables.replica(change.replica).member_life != 0;
      });
  const ReplicaIndex primary = PrimaryOf(state, replica.shard);
  if (another || !primary.valid() || !HasMajority(state, replica.shard)) return false;
  const auto found = state.members.find(replica.shard);
  if (found == state.members.end()) return false;
  const ToldMembers& membership = found->second;
  return membership.known && membership.contact == Contact::kIdle &&
         membership.epoch == state.tables.replica(primary).epoch &&
         membership.told == MembersOf(state, replica.shard, {});
}

}  // namespace shardmanager::orchestrator
