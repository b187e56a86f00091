#include "orchestrator/decide/rights.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "orchestrator/decide/handover.h"
#include "orchestrator/decide/keys/replacements.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

void CheckRight(const PartitionState& state, ShardIndex shard, const Change& whole,
                const PhaseChange& change) {
  const Replica& replica = state.tables.replica(change.replica);
  if (change.member_life && change.to == replica.phase && change.role_change == RoleChange::kNone)
    return;
  const PhaseTransition* rule = FindTransition(replica.phase, change.to, change.role_change);
  SM_CHECK(rule != nullptr, "no such transition of a replica");
  if (rule->proof == Proof::kNoOtherPrimary) {
    const Role role = change.role_change == RoleChange::kPromote ? Role::kPrimary : replica.role;
    CheckPrimaryRight(state, shard, whole, change.replica, role);
  }
  if (rule->proof == Proof::kServesOn) {
    SM_CHECK(IsCalledOff(state, replica),
             "it was told to let go, and has not said that it serves on");
    state.tables.ForEach(shard, [&](ReplicaIndex id, const Replica& other) {
      const bool idle = other.phase == Phase::kPreparing || other.phase == Phase::kReserved;
      SM_CHECK(id == change.replica || other.role != Role::kPrimary || idle,
               "a second replica has the right to serve as primary");
    });
  }
  if (change.replaced) return;  // CheckHandedOn
  if (rule->proof == Proof::kStopped) {
    // A server that is not live is checked again by the write itself.
    const bool stops = replica.phase == Phase::kDropping || replica.phase == Phase::kDemoting;
    const bool confirmed = stops && replica.contact == Contact::kDone;
    SM_CHECK(confirmed || state.tables.server(replica.server).state != ServerState::kLive,
             "a replica is removed before it has stopped");
  }
}

// A change gives the right to serve a shard as primary to one replica at most.
void CheckOneGrant(const PartitionState& state, const Change& change) {
  std::vector<ShardIndex> granted;  // invalid: the one that is changed
  for (const PhaseChange& c : change.phases) {
    const Replica& replica = state.tables.replica(c.replica);
    const bool primary = replica.role == Role::kPrimary && c.role_change != RoleChange::kDemote;
    const bool comes = replica.phase == Phase::kReserved || replica.phase == Phase::kPreparing;
    const bool begins = primary && comes && c.to == Phase::kGranted;
    if (c.role_change == RoleChange::kPromote || begins) granted.emplace_back();
  }
  for (const NewReplica& fresh : change.news) {
    const bool granted_now = fresh.role == Role::kPrimary && fresh.phase == Phase::kGranted;
    if (granted_now) granted.push_back(fresh.shard);
  }
  std::sort(granted.begin(), granted.end());
  SM_CHECK(std::adjacent_find(granted.begin(), granted.end()) == granted.end(),
           "two replicas would be granted the shard as primary at once");
}

}  // namespace

void CheckRights(const PartitionState& state, ShardIndex shard, const Change& change) {
  CheckOneGrant(state, change);
  CheckHandedOn(state, change);
  for (const PhaseChange& c : change.phases) CheckRight(state, shard, change, c);
}

void CheckPrimaryRight(const PartitionState& state, ShardIndex shard, const Change& change,
                       ReplicaIndex granted, Role role) {
  if (role != Role::kPrimary) return;
  state.tables.ForEach(shard, [&](ReplicaIndex id, const Replica& other) {
    if (id == granted || other.role != Role::kPrimary) return;
    const bool ends =
        std::any_of(change.phases.begin(), change.phases.end(), [&](const PhaseChange& c) {
          return c.replica == id &&
                 (c.to == Phase::kAbsent || c.role_change == RoleChange::kDemote);
        });
    SM_CHECK(!MayProcess(other) || ends, "two replicas would have the right to serve as primary");
  });
}

}  // namespace shardmanager::orchestrator
