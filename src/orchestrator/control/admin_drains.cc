// Drains: what operators ask of the controller to be emptied (admin.proto). They are kept
// beside the spec of each app that they concern, in one record.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/drain.h"
#include "model/text.h"
#include "orchestrator/control/controller.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {
namespace {

// Of those that are known, whether they live now or not.
v1::DrainedApp CountCovered(const std::string& app, const PartitionState& state,
                            const v1::DrainScope& scope) {
  const Tables& tables = state.tables;
  v1::DrainedApp counted;
  counted.set_app(app);
  for (uint32_t i = 0; i < tables.server_count(); ++i) {
    const ServerIndex id(i);
    const Server& server = tables.server(id);
    if (!Covers(scope, tables.name(id), server.fault_domain)) continue;
    counted.set_servers(counted.servers() + 1);
    counted.set_replicas(counted.replicas() + static_cast<uint32_t>(server.replicas.size()));
  }
  return counted;
}

// What could have been meant: the servers, or the domains of that level.
void AddKnown(const PartitionState& state, const v1::DrainScope& scope,
              std::set<std::string>& known) {
  const Tables& tables = state.tables;
  for (uint32_t i = 0; i < tables.server_count(); ++i) {
    const FaultDomain& at = tables.server(ServerIndex(i)).fault_domain;
    v1::DrainScope same_level;
    if (!scope.has_domain()) {
      same_level.set_server(tables.name(ServerIndex(i)));
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

// An app whose records are still being read may have servers that are meant: nobody knows yet.
absl::Status MayKnowServers(const std::string& app, const PartitionDriver& driver) {
  const PartitionState* state = driver.state();
  if (!driver.problem().ok() || (state != nullptr && state->recovered)) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(
      "nothing was changed: this leader still reads the records of app ", app, "; try again"));
}

// In place of one of the same scope.
void Put(const v1::Drain& drain, v1::StoredSpec& stored) {
  for (v1::Drain& old : *stored.mutable_drains()) {
    if (!SameScope(old.scope(), drain.scope())) continue;
    const int64_t since = old.since_ms();
    old = drain;
    old.set_since_ms(since);
    return;
  }
  *stored.add_drains() = drain;
}

bool TakeOut(const v1::DrainScope& scope, v1::StoredSpec& stored) {
  auto& drains = *stored.mutable_drains();
  const auto found = std::find_if(drains.begin(), drains.end(), [&](const v1::Drain& drain) {
    return SameScope(drain.scope(), scope);
  });
  if (found == drains.end()) return false;
  drains.erase(found);
  return true;
}

}  // namespace

void Controller::Drain(v1::DrainRequest request, Reply<v1::DrainResponse> reply, Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    v1::Drain drain = request.drain();
    if (absl::Status valid = ValidateDrain(drain); !valid.ok()) return reply(valid);
    if (!request.app().empty() && FindApp(request.app()) == nullptr) {
      return reply(NoSuchApp(request.app()));
    }
    drain.set_since_ms(WallMilliseconds());
    v1::DrainResponse response;
    std::set<std::string> known;
    SpecChanges changes;
    for (const auto& [name, driver] : lead_->apps) {
      if (!request.app().empty() && request.app() != name) continue;
      if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) return reply(may);
      if (driver->state() == nullptr || driver->spec().deleting()) continue;
      AddKnown(*driver->state(), drain.scope(), known);
      v1::DrainedApp counted = CountCovered(name, *driver->state(), drain.scope());
      if (counted.servers() == 0) continue;
      if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return reply(may);
      *response.add_apps() = std::move(counted);
      changes.push_back({driver->spec(), driver->spec_version()});
      Put(drain, changes.back().spec);
    }
    if (changes.empty()) return reply(NoSuchScope(drain.scope(), known));
    const auto written = [response, reply](absl::Status status) {
      if (!status.ok()) return reply(status);
      reply(response);
    };
    WriteSpecs(changes, written, wanted);
  });
}

void Controller::Undrain(v1::UndrainRequest request, Reply<v1::UndrainResponse> reply,
                         Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateScope(request.scope()); !valid.ok()) return reply(valid);
    if (!request.app().empty() && FindApp(request.app()) == nullptr) {
      return reply(NoSuchApp(request.app()));
    }
    v1::UndrainResponse response;
    std::set<std::string> known;
    SpecChanges changes;
    for (const auto& [name, driver] : lead_->apps) {
      if (!request.app().empty() && request.app() != name) continue;
      if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) return reply(may);
      if (driver->state() == nullptr) continue;
      for (const v1::Drain& drain : driver->spec().drains()) known.insert(ToString(drain.scope()));
      v1::StoredSpec without = driver->spec();
      if (!TakeOut(request.scope(), without)) continue;
      if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return reply(may);
      *response.add_apps() = CountCovered(name, *driver->state(), request.scope());
      changes.push_back({std::move(without), driver->spec_version()});
    }
    if (changes.empty()) {
      return reply(absl::NotFoundError(
          absl::StrCat("no drain of ", ToString(request.scope()),
                       "; there are: ", known.empty() ? "none" : absl::StrJoin(known, ", "))));
    }
    const auto written = [response, reply](absl::Status status) {
      if (!status.ok()) return reply(status);
      reply(response);
    };
    WriteSpecs(changes, written, wanted);
  });
}

void Controller::WriteSpecs(const SpecChanges& changes, SpecStore::Done done,
                            const Wanted& wanted) {
  struct Progress {
    size_t left;
    absl::Status first_error;
  };
  auto progress = std::make_shared<Progress>(Progress{changes.size(), absl::OkStatus()});
  for (const auto& [spec, base] : changes) {
    const auto written = [progress, done, app = spec.spec().name()](absl::Status status) {
      if (!status.ok() && progress->first_error.ok()) {
        progress->first_error = absl::Status(
            status.code(), absl::StrCat("app ", Quoted(app), ": ", std::string(status.message())));
      }
      if (--progress->left == 0) done(progress->first_error);
    };
    WriteSpec(spec, base, written, wanted);
  }
}

}  // namespace shardmanager::orchestrator
