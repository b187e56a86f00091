#include "orchestrator/control/spec_edits.h"

#include <utility>

#include "orchestrator/control/drain_scopes.h"

namespace shardmanager::orchestrator {

absl::StatusOr<SpecEdits> EditSpecs(const LedApps& apps, const std::string& app,
                                    const EditSpec& edit) {
  SpecEdits edits;
  for (const auto& [name, driver] : apps.drivers()) {
    if (!app.empty() && app != name) continue;
    if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) return may;
    if (driver->state() == nullptr) continue;
    auto edited = edit(name, *driver->state(), driver->spec().stored());
    if (!edited.ok()) return edited.status();
    if (!edited->has_value()) continue;
    if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return may;
    SpecEdit& made = **edited;
    if (made.told) edits.apps.push_back(*std::move(made.told));
    edits.specs.push_back({std::move(made.spec), driver->spec().version()});
  }
  return edits;
}

}  // namespace shardmanager::orchestrator
