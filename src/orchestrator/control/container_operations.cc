#include "orchestrator/control/container_operations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/requests.h"
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
  const auto driver = FindToLookAt(apps, app);
  if (!driver.ok()) return driver.status();
  return (*driver)->tasks();
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

std::string OperationsUnread(const PartitionDriver& app, const std::string& path) {
  if (app.tasks() == nullptr || app.tasks()->problem().ok()) return "";
  return absl::StrCat(
      "no container operation is approved: the record of those that were cannot be read (",
      std::string(app.tasks()->problem().message()), "). It is at ", path,
      "; without it, nobody knows which servers are about to stop");
}

absl::StatusOr<v1::SupplyMapResponse> TakeMap(const LedApps& apps, const std::string& app,
                                              SuppliedMap map, TimePoint now) {
  const auto driver = FindToLookAt(apps, app);
  if (!driver.ok()) return driver.status();
  const PartitionState& state = *(*driver)->state();
  if (!Mirrors(state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "app ", Quoted(app), " has no orchestrator of its own, so it supplies no map: ",
        "its spec does not say orchestrator: application"));
  }
  if (state.deleting) {
    return absl::FailedPreconditionError(absl::StrCat("app ", Quoted(app), " is being deleted"));
  }
  const Supply& known = state.supply;
  if (!IsNewer(map, known)) {
    return absl::AbortedError(absl::StrCat("a newer map was taken before: supplier_life ",
                                           known.life, ", sequence ", known.sequence, "; found ",
                                           map.life, ", ", map.sequence));
  }
  const bool follows = known.known && map.life == known.life && map.sequence == known.sequence + 1;
  if (map.unchanged && !follows) {
    return absl::AbortedError("the map before is not known here: send it whole");
  }
  if (absl::Status fit = FillRolesIn(state.spec.replication().strategy(), map); !fit.ok()) {
    return fit;
  }
  (*driver)->Hear(MapSupplied{std::move(map)});
  return DescribeRequests(state, now);
}

}  // namespace shardmanager::orchestrator
