#include "orchestrator/core/mass_failures.h"

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/failover.h"

namespace shardmanager::orchestrator {

void MassFailures::Adopt() {
  MassFailure& mass = state_.mass_failure;
  losses_until_look_ = 0;
  mass.rules = state_.deleting ? MassFailureRules() : MassFailureOf(state_.spec.failover());
  if (!mass.on) return;
  if (!mass.rules.on) {
    return Turn(false, state_.deleting ? "the app is deleted"
                                       : "the spec has no failover.mass_failure any more");
  }
  Turn(true, "");  // with other limits
}

void MassFailures::Look() {
  const MassFailure& mass = state_.mass_failure;
  if (!mass.rules.on) return;
  const LostServers count = CountLost(state_);
  if (!mass.on && count.lost >= mass.rules.Least(count.all)) {
    state_.mass_failure.since = state_.now;
    Turn(true, absl::StrCat(count.lost, " of ", count.all, " servers are lost"));
  } else if (mass.on && count.lost == 0) {
    Turn(false, "no lost server has replicas that are to be restored");
  }
  if (!mass.on) losses_until_look_ = mass.rules.Least(count.all) - count.lost;
}

void MassFailures::LookAfterLoss() {
  if (state_.mass_failure.on) return;  // the next Look() finds its end
  if (losses_until_look_ > 1) {
    --losses_until_look_;
  } else {
    Look();
  }
}

void MassFailures::Turn(bool on, const std::string& why) {
  MassFailure& mass = state_.mass_failure;
  mass.on = on;
  state_.moves.budgets.CapFailovers(on ? mass.rules.max_concurrent : 0);
  if (!why.empty()) {
    agenda_.AddNote(on ? NoteKind::kMassFailure : NoteKind::kMassFailureOver, ServerIndex(),
                    ShardIndex(), why);
  }
  state_.moves.Forget([&](ShardIndex, ServerIndex from) { return HoldsMove(state_, from); });
  for (const ServerIndex id : state_.tables.servers()) {
    if (state_.tables.server(id).state == ServerState::kLive) continue;
    fleet_.UpdateFailover(id);
    agenda_.MarkServerDirty(id);
  }
  moves_.WakeWaiters();
  agenda_.LookForPlaces();
}

}  // namespace shardmanager::orchestrator
