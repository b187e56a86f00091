// A move that an operator orders: the allocator's rules are asked first, then the app.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/rules.h"
#include "orchestrator/shell/change_outcome.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// What it needs of the process that leads.
struct MoveContext {
  RulesContext rules;  // its may_answer: may anything be changed now?
  Wanted wanted;
};

// Replies when the move is ordered, or why it is not. Errors: Admin.MoveShard.
void OrderMove(const MoveContext& context, const v1::MoveShardRequest& request,
               std::function<void(absl::StatusOr<v1::MoveShardResponse>)> reply);

// Errors: Admin.LiftQuarantine.
absl::Status OrderQuarantineLifted(LedApps& apps, const v1::LiftQuarantineRequest& request,
                                   const Wanted& wanted);

}  // namespace shardmanager::orchestrator
