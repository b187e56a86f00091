// Orders to split and merge shards: the applications are asked, then the order is stored.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/event_log.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// What it needs of the process that leads.
struct ReshapeContext {
  LedApps& apps;
  EventLog& events;
  // May anything be changed now? Asked again when the applications have answered.
  std::function<absl::Status()> may_change;
  Wanted wanted;
};

// Replies when the order is durable, or why there is none.
void AskAndOrderReshape(const ReshapeContext& context, const v1::ReshapeShardsRequest& request,
                        std::function<void(absl::StatusOr<v1::ReshapeShardsResponse>)> reply);

}  // namespace shardmanager::orchestrator
