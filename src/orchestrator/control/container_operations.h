// Container operations of all apps, as operators ask for them; and the maps that apps with an
// orchestrator of their own supply.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "model/supplied_map.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/app_tasks.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// The app's task controller. NOT_FOUND: no such app. UNAVAILABLE: its records have not been read.
absl::StatusOr<AppTasks*> TasksOf(const LedApps& apps, const std::string& app);

// NOT_FOUND: no such app, or no such operation.
absl::StatusOr<v1::GetOperationsResponse> FindOperations(const LedApps& apps,
                                                         const v1::GetOperationsRequest& request,
                                                         TimePoint now);
// NOT_FOUND: no such app.
absl::StatusOr<v1::GetRolloutsResponse> FindRollouts(const LedApps& apps,
                                                     const v1::GetRolloutsRequest& request,
                                                     TimePoint now);

// Why no operation of the app is approved, as the record of those that were cannot be read; empty:
// it can. `path`: where the record is.
std::string OperationsUnread(const PartitionDriver& app, const std::string& path);

// The app's own orchestrator hears what is asked of it. Errors: see task_control.proto.
absl::StatusOr<v1::SupplyMapResponse> TakeMap(const LedApps& apps, const std::string& app,
                                              SuppliedMap map, TimePoint now);

}  // namespace shardmanager::orchestrator
