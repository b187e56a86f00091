#include "server/gate_keeper.h"

#include "base/defect.h"
#include "runtime/logging.h"

namespace shardmanager::server {

void GateKeeper::Do(const OpenShard& action) {
  const Successor* primary = action.primary ? &*action.primary : nullptr;
  gates_.Open(action.grant.shard, action.grant.role, action.grant.epoch, primary);
  LogDebug("serving {} as {}, epoch {}", action.grant.shard.value(), ToString(action.grant.role),
           action.grant.epoch.value());
}

void GateKeeper::ReportDrainedIfPlanted(const ShardId& shard) {
  if (Planted(Defect::kDropWithoutDraining)) drained_(shard);
}

void GateKeeper::Do(const CloseShard& action) {
  gates_.Close(action.shard);
  ReportDrainedIfPlanted(action.shard);
}

void GateKeeper::Do(const PauseShard& action) {
  gates_.Pause(action.shard);
  ReportDrainedIfPlanted(action.shard);
}

void GateKeeper::Do(const HoldShard& action) {
  gates_.Hold(action.shard);
  ReportDrainedIfPlanted(action.shard);
}

void GateKeeper::Do(const AwaitForwarded& action) {
  const Grant& grant = action.grant;
  if (Planted(Defect::kServesWhilePreparing)) {
    return gates_.Open(grant.shard, grant.role, grant.epoch);
  }
  gates_.AwaitForwarded(grant.shard, grant.role, grant.epoch, action.old_owner);
}

void GateKeeper::Do(const OpenForwarded& action) {
  const Grant& grant = action.grant;
  gates_.OpenForwarded(grant.shard, grant.role, grant.epoch, action.old_owner);
  LogDebug("serving what {} forwards of {}, epoch {}", action.old_owner, grant.shard.value(),
           grant.epoch.value());
}

void GateKeeper::Do(const ForwardShard& action) {
  gates_.Forward(action.shard, action.to);
  LogDebug("forwarding {} to {}", action.shard.value(), action.to.server);
}

}  // namespace shardmanager::server
