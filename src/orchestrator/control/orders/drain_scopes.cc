#include "orchestrator/control/orders/drain_scopes.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/drain.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {

v1::DrainedApp CountCovered(const std::string& app, const PartitionState& state,
                            const v1::DrainScope& scope) {
  const Tables& tables = state.tables;
  v1::DrainedApp counted;
  counted.set_app(app);
  for (const ServerIndex id : tables.servers()) {
    const Server& server = tables.server(id);
    if (!IsListed(state, server)) continue;
    if (!Covers(scope, tables.name(id), server.location.fault_domain)) continue;
    counted.set_servers(counted.servers() + 1);
    counted.set_replicas(counted.replicas() + static_cast<uint32_t>(server.replicas.size()));
  }
  return counted;
}

void AddKnownScopes(const PartitionState& state, const v1::DrainScope& scope,
                    std::set<std::string>& known) {
  const Tables& tables = state.tables;
  for (const ServerIndex id : tables.servers()) {
    if (!IsListed(state, tables.server(id))) continue;
    const FaultDomain& at = tables.server(id).location.fault_domain;
    v1::DrainScope same_level;
    if (!scope.has_domain()) {
      same_level.set_server(tables.name(id));
    } else if (v1::FaultDomain& domain = *same_level.mutable_domain(); !at.region.empty()) {
      domain.set_region(at.region);
      if (!scope.domain().datacenter().empty()) domain.set_datacenter(at.datacenter);
      if (!scope.domain().rack().empty()) domain.set_rack(at.rack);
    } else {
      continue;
    }
    known.insert(ToString(same_level));
  }
}

absl::Status NoSuchScope(const v1::DrainScope& scope, const std::set<std::string>& known) {
  constexpr size_t kMost = 10;
  const auto end = std::next(known.begin(), static_cast<int>(std::min(kMost, known.size())));
  return absl::NotFoundError(absl::StrCat(
      "no ", ToString(scope),
      "; known: ", known.empty() ? "none" : absl::StrJoin(known.begin(), end, ", "),
      known.size() > kMost ? absl::StrCat(" and ", known.size() - kMost, " more") : ""));
}

absl::Status MayKnowServers(const std::string& app, const PartitionDriver& driver) {
  const PartitionState* state = driver.state();
  if (!driver.problem().ok() || (state != nullptr && state->recovered)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("this leader still reads the records of app ", app,
                                             " and does not know its servers yet; try again"));
}

absl::Status MayNameServers(const LedApps& apps, const std::string& app) {
  const PartitionDriver* driver = app.empty() ? nullptr : apps.Find(app);
  if (driver == nullptr) return absl::OkStatus();
  if (absl::Status may = MayLookAt(app, *driver); !may.ok()) return may;
  if (KnowsNoServerYet(*driver->state())) {
    return absl::UnavailableError(WhyMapIsMissing(*driver->state()));
  }
  return MayKnowServers(app, *driver);
}

const v1::Drain* FindDrain(const v1::DrainScope& scope, const v1::StoredSpec& stored) {
  for (const v1::Drain& drain : stored.drains()) {
    if (SameScope(drain.scope(), scope)) return &drain;
  }
  return nullptr;
}

void PutDrain(const v1::Drain& drain, v1::StoredSpec& stored) {
  for (v1::Drain& old : *stored.mutable_drains()) {
    if (!SameScope(old.scope(), drain.scope())) continue;
    const int64_t since = old.since_ms();
    old = drain;
    old.set_since_ms(since);
    return;
  }
  *stored.add_drains() = drain;
}

bool TakeOutDrain(const v1::DrainScope& scope, v1::StoredSpec& stored) {
  auto& drains = *stored.mutable_drains();
  const auto found = std::find_if(drains.begin(), drains.end(), [&](const v1::Drain& drain) {
    return SameScope(drain.scope(), scope);
  });
  if (found == drains.end()) return false;
  drains.erase(found);
  return true;
}

}  // namespace shardmanager::orchestrator
