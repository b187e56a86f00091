#include "orchestrator/control/container_operations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/shell/partition_driver.h"

namespace shardmanager::orchestrator {
namespace {

// Calls f(name, tasks) for the app, or for all apps if `app` is empty. NOT_FOUND: no such app.
template <typename F>
absl::Status ForEachApp(const LedApps& apps, const std::string& app, F f) {
  if (!app.empty() && apps.Find(app) == nullptr) return apps.NoSuch(app);
  for (const auto& [name, driver] : apps.drivers()) {
    const bool wanted = app.empty() || app == name;
    if (wanted && driver->tasks() != nullptr) f(name, *driver->tasks());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AppTasks*> TasksOf(const LedApps& apps, const std::string& app) {
  const PartitionDriver* driver = apps.Find(app);
  if (driver == nullptr) return apps.NoSuch(app);
  if (absl::Status may = MayLookAt(app, *driver); !may.ok()) return may;
  return driver->tasks();
}

absl::StatusOr<v1::GetOperationsResponse> FindOperations(const LedApps& apps,
                                                         const v1::GetOperationsRequest& request,
                                                         TimePoint now) {
  v1::GetOperationsResponse response;
  const auto add = [&](const std::string& name, const AppTasks& tasks) {
    for (v1::OperationStatus& status : tasks.Describe(request.id(), now)) {
      status.set_app(name);
      *response.add_operations() = std::move(status);
    }
  };
  if (absl::Status found = ForEachApp(apps, request.app(), add); !found.ok()) return found;
  if (!request.id().empty() && response.operations().empty()) {
    return absl::NotFoundError(absl::StrCat("no operation ", Quoted(request.id())));
  }
  return response;
}

absl::StatusOr<v1::GetRolloutsResponse> FindRollouts(const LedApps& apps,
                                                     const v1::GetRolloutsRequest& request,
                                                     TimePoint now) {
  v1::GetRolloutsResponse response;
  const auto add = [&](const std::string& name, const AppTasks& tasks) {
    for (v1::RolloutStatus& status : tasks.DescribeRollouts(now)) {
      status.set_app(name);
      *response.add_rollouts() = std::move(status);
    }
  };
  if (absl::Status found = ForEachApp(apps, request.app(), add); !found.ok()) return found;
  return response;
}

}  // namespace shardmanager::orchestrator
