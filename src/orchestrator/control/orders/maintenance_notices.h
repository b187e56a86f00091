// Notices of maintenances, as operators give them and as they are stored: with the specs of the
// apps that have servers there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/orders/spec_edits.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// The notice is given, in place of one of the same id. An app that had notice of that one and has
// no server in the new scope has notice no more; notices that have been over for an hour are
// forgotten. NOT_FOUND: no app has a server there. RESOURCE_EXHAUSTED: an app has notice of as many
// as it may. Otherwise as EditSpecs().
absl::StatusOr<SpecEdits> GiveNotice(const LedApps& apps, const v1::Maintenance& notice,
                                     int64_t now_ms);
// NOT_FOUND: no app has notice of it. Otherwise as EditSpecs().
absl::StatusOr<SpecEdits> TakeNoticeBack(const LedApps& apps, const std::string& id);

// Of the maintenances of which apps have notice; ascending by start, then by id and app. `app`,
// `id`: only these, unless they are empty.
std::vector<v1::MaintenanceStatus> DescribeNotices(const LedApps& apps, TimePoint now,
                                                   const std::string& app, const std::string& id);

}  // namespace shardmanager::orchestrator
