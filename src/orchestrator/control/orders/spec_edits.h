// Changes of what operators ordered for servers, which is stored with the specs of the apps that
// have servers there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

struct SpecEdits {
  std::vector<LedApps::SpecToWrite> specs;
  std::vector<v1::DrainedApp> apps;  // that operators are told of, ascending by name
};

// What becomes of one app's spec.
struct SpecEdit {
  v1::StoredSpec spec;
  std::optional<v1::DrainedApp> told;  // operators are told of the app
};
// Nothing: the spec stays as it is.
using EditSpec = std::function<absl::StatusOr<std::optional<SpecEdit>>(
    const std::string& app, const PartitionState& state, const v1::StoredSpec& stored)>;

// Of each app whose state is known; of `app` only, unless it is empty. The first error that `edit`
// returns; or UNAVAILABLE, if records of an app are still being read; or FAILED_PRECONDITION, if a
// spec that is to change cannot be read.
absl::StatusOr<SpecEdits> EditSpecs(const LedApps& apps, const std::string& app,
                                    const EditSpec& edit);

// What becomes of the spec of the one app that is meant; or why nothing may change.
using EditOneSpec = std::function<absl::Status(const PartitionDriver& app, v1::StoredSpec& stored)>;

// NOT_FOUND: no such app. UNAVAILABLE, FAILED_PRECONDITION: its spec cannot be read, or it is being
// deleted. Or what `edit` says.
absl::StatusOr<LedApps::SpecToWrite> EditSpecOf(const LedApps& apps, const std::string& app,
                                                const EditOneSpec& edit);

// What the request would change of an app that there is: the outcome and the lines of `response`.
// FAILED_PRECONDITION: the app is being deleted, the change is not possible, or it would lose
// something and is not forced.
absl::Status CompareToApply(const v1::StoredSpec& stored, const v1::ApplyAppRequest& request,
                            v1::ApplyAppResponse& response);

// In the place of a spec that cannot be read: with what operators ordered, as far as it is known.
// Replies when it is durable. Refused unless it is forced: what is stored and cannot be read may
// hold more than what replaces it. REQUIRES: it cannot be read.
void ReplaceDamagedSpec(LedApps& apps, const PartitionDriver& app,
                        const v1::ApplyAppRequest& request,
                        const std::function<void(absl::StatusOr<v1::ApplyAppResponse>)>& reply,
                        const Wanted& wanted);

}  // namespace shardmanager::orchestrator
