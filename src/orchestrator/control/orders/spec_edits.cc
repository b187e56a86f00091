#include "orchestrator/control/orders/spec_edits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/control/orders/drain_scopes.h"

namespace shardmanager::orchestrator {
namespace {

// May `by` take the place of a spec that cannot be read?
absl::Status MayReplaceDamaged(const PartitionDriver& app, const v1::AppSpec& by, bool force) {
  const DamagedRecord& spec = *DamagedSpec(app);
  const std::string why(spec.why.message());
  if (spec.newer()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "a newer version wrote the stored spec: ", why, ". Run that version and apply it there"));
  }
  if (!spec.kept.ok()) {
    return absl::UnavailableError(absl::StrCat("the stored spec cannot be read (", why,
                                               ") and its bytes are not at ", spec.kept_at,
                                               " yet: ", std::string(spec.kept.message())));
  }
  if (app.spec().has_spec()) {  // the last one that was read
    absl::Status may = CheckReplacement(app.spec().stored().spec(), by);
    if (!may.ok()) return may;
  }
  if (force) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the stored spec cannot be read (", why, "): nobody knows what would change. --force puts ",
      "yours in its place; its bytes stay at ", spec.kept_at));
}

v1::StoredSpec ReplacementOf(const PartitionDriver& app, const v1::AppSpec& spec) {
  v1::StoredSpec stored = app.spec().stored();
  *stored.mutable_spec() = spec;
  stored.set_deleting(false);
  return stored;
}

}  // namespace

absl::StatusOr<SpecEdits> EditSpecs(const LedApps& apps, const std::string& app,
                                    const EditSpec& edit) {
  SpecEdits edits;
  for (const auto& [name, driver] : apps.drivers()) {
    if (!app.empty() && app != name) continue;
    if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) {
      return absl::Status(may.code(), absl::StrCat("nothing was changed: ", may.message()));
    }
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

absl::StatusOr<LedApps::SpecToWrite> EditSpecOf(const LedApps& apps, const std::string& app,
                                                const EditOneSpec& edit) {
  const PartitionDriver* driver = apps.Find(app);
  if (driver == nullptr) return apps.NoSuch(app);
  if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return may;
  LedApps::SpecToWrite change{driver->spec().stored(), driver->spec().version()};
  if (change.spec.deleting()) {
    return absl::FailedPreconditionError(absl::StrCat("app \"", app, "\" is being deleted"));
  }
  if (absl::Status may = edit(*driver, change.spec); !may.ok()) return may;
  return change;
}

absl::Status CompareToApply(const v1::StoredSpec& stored, const v1::ApplyAppRequest& request,
                            v1::ApplyAppResponse& response) {
  if (stored.deleting()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "app \"", request.spec().name(), "\" is being deleted; try again when it is gone"));
  }
  if (absl::Status may = CheckReplacement(stored.spec(), request.spec()); !may.ok()) return may;
  const SpecChange change = CompareSpecs(stored.spec(), request.spec());
  response.set_outcome(change.differences.empty() ? v1::ApplyAppResponse::UNCHANGED
                                                  : v1::ApplyAppResponse::CONFIGURED);
  response.mutable_changes()->Assign(change.differences.begin(), change.differences.end());
  if (change.losses.empty() || request.force()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the change would lose something; nothing was changed. Use --force if that is meant:\n",
      absl::StrJoin(change.losses, "\n")));
}

void ReplaceDamagedSpec(LedApps& apps, const PartitionDriver& app,
                        const v1::ApplyAppRequest& request,
                        const std::function<void(absl::StatusOr<v1::ApplyAppResponse>)>& reply,
                        const Wanted& wanted) {
  if (absl::Status may = MayReplaceDamaged(app, request.spec(), request.force()); !may.ok()) {
    return reply(may);
  }
  const DamagedRecord& damaged = *DamagedSpec(app);
  v1::ApplyAppResponse response;
  response.set_outcome(v1::ApplyAppResponse::CONFIGURED);
  response.add_changes(absl::StrCat(
      "the stored spec, which cannot be read, is replaced; its bytes stay at ", damaged.kept_at));
  if (request.dry_run()) return reply(response);
  const auto written = [reply, response](const absl::Status& status) {
    if (!status.ok()) return reply(status);
    reply(response);
  };
  apps.WriteSpec({ReplacementOf(app, request.spec()), damaged.node.stat.version}, written, wanted);
}

}  // namespace shardmanager::orchestrator
