#include "orchestrator/control/orders/region_orders.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/region_preferences.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {
namespace {

std::set<std::string> RegionsWithServers(const PartitionState& state) {
  std::set<std::string> regions;
  for (const ServerIndex id : state.tables.servers()) {
    const Server& server = state.tables.server(id);
    if (server.state == ServerState::kLive) regions.insert(server.location.fault_domain.region);
  }
  return regions;
}

}  // namespace

absl::Status Prefer(const PartitionState& state, const v1::PreferRegionsRequest& request,
                    int64_t now_ms, v1::StoredSpec& stored, v1::PreferRegionsResponse& response) {
  if (Mirrors(state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("app \"", request.app(),
                     "\" has an orchestrator of its own, which decides where shards are"));
  }
  if (request.preferences().empty() && !request.replace()) {
    return absl::InvalidArgumentError(
        "preferences: found nothing; allowed: one or more, or replace, which takes all back");
  }
  auto change = ChangePreferences(stored.spec(), stored.preferences(), request.preferences(),
                                  request.replace());
  if (!change.ok()) return change.status();
  stored.clear_preferences();
  if (!change->stored.regions().empty()) {
    *stored.mutable_preferences() = std::move(change->stored);
    stored.mutable_preferences()->set_who(request.who());
    stored.mutable_preferences()->set_since_ms(now_ms);
  }
  response.set_changed(change->changed);
  response.set_unchanged(change->unchanged);
  const std::set<std::string> live = RegionsWithServers(state);
  std::set<std::string> without;
  for (const v1::ShardPreference& entry : request.preferences()) {
    if (!entry.region().empty() && !live.contains(entry.region())) without.insert(entry.region());
  }
  response.mutable_regions_without_servers()->Assign(without.begin(), without.end());
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
