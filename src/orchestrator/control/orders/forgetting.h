// Servers that do not come back, when an operator says so.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/change_outcome.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// Replies when it is durable that nobody is told of the server any more, or why it is not so.
// Errors: Admin.ForgetServer.
void OrderForgotten(LedApps& apps, TimePoint now, const v1::ForgetServerRequest& request,
                    const std::function<void(absl::StatusOr<v1::ForgetServerResponse>)>& reply,
                    const Wanted& wanted);

}  // namespace shardmanager::orchestrator
