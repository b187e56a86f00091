// Which servers a drain is of, and where it is noted.
#pragma once

#include <set>
#include <string>

#include "absl/status/status.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/partition_driver.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// The servers of the app that the scope covers, and the replicas there: of all that are known,
// whether they live now or not.
v1::DrainedApp CountCovered(const std::string& app, const PartitionState& state,
                            const v1::DrainScope& scope);
// What could have been meant by `scope`: the servers, or the domains of that level.
void AddKnownScopes(const PartitionState& state, const v1::DrainScope& scope,
                    std::set<std::string>& known);
// NOT_FOUND: none of the apps has a server there.
absl::Status NoSuchScope(const v1::DrainScope& scope, const std::set<std::string>& known);
// UNAVAILABLE: the app's records are still being read, and it may have servers that are meant.
absl::Status MayKnowServers(const std::string& app, const PartitionDriver& driver);
// The same for what names one app, or "" for all, of which those that are known count. UNAVAILABLE
// also: the app decides itself where its replicas are, and has not said yet which servers it has.
absl::Status MayNameServers(const LedApps& apps, const std::string& app);

// The one of that scope, or null.
const v1::Drain* FindDrain(const v1::DrainScope& scope, const v1::StoredSpec& stored);
// In place of one of the same scope, whose time it keeps.
void PutDrain(const v1::Drain& drain, v1::StoredSpec& stored);
// False: there is none of that scope.
bool TakeOutDrain(const v1::DrainScope& scope, v1::StoredSpec& stored);

}  // namespace shardmanager::orchestrator
