#include "orchestrator/control/maintenance_notices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/maintenance.h"
#include "model/text.h"
#include "orchestrator/control/drain_scopes.h"
#include "orchestrator/describe/maintenances.h"

namespace shardmanager::orchestrator {
namespace {

constexpr int64_t kKeptMs = 3'600'000;

template <typename Goes>
bool TakeOut(v1::StoredSpec& stored, Goes goes) {
  auto& notices = *stored.mutable_maintenances();
  const auto kept = std::remove_if(notices.begin(), notices.end(), goes);
  const bool any = kept != notices.end();
  notices.erase(kept, notices.end());
  return any;
}

bool TakeOutId(const std::string& id, v1::StoredSpec& stored) {
  return TakeOut(stored, [&](const v1::Maintenance& other) { return other.id() == id; });
}

absl::Status Put(const v1::Maintenance& notice, int64_t now_ms, v1::StoredSpec& stored) {
  TakeOut(stored, [&](const v1::Maintenance& other) { return other.end_ms() + kKeptMs < now_ms; });
  if (stored.maintenances_size() >= kMostMaintenances) {
    return absl::ResourceExhaustedError(
        absl::StrCat("app \"", stored.spec().name(), "\" has notice of ", kMostMaintenances,
                     " maintenances, which is the most: cancel one that does not take place"));
  }
  *stored.add_maintenances() = notice;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NoticeChange> GiveNotice(const LedApps& apps, const v1::Maintenance& notice,
                                        int64_t now_ms) {
  NoticeChange change;
  std::set<std::string> known;
  for (const auto& [name, driver] : apps.drivers()) {
    if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) return may;
    if (driver->state() == nullptr || driver->spec().stored().deleting()) continue;
    AddKnownScopes(*driver->state(), notice.scope(), known);
    v1::StoredSpec stored = driver->spec().stored();
    const bool had = TakeOutId(notice.id(), stored);
    v1::DrainedApp counted = CountCovered(name, *driver->state(), notice.scope());
    if (counted.servers() == 0 && !had) continue;
    if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return may;
    if (counted.servers() > 0) {
      if (absl::Status put = Put(notice, now_ms, stored); !put.ok()) return put;
      change.apps.push_back(std::move(counted));
    }
    change.specs.push_back({std::move(stored), driver->spec().version()});
  }
  if (change.apps.empty()) return NoSuchScope(notice.scope(), known);
  return change;
}

absl::StatusOr<NoticeChange> TakeNoticeBack(const LedApps& apps, const std::string& id) {
  NoticeChange change;
  std::set<std::string> known;
  for (const auto& [name, driver] : apps.drivers()) {
    if (absl::Status may = MayKnowServers(name, *driver); !may.ok()) return may;
    if (driver->state() == nullptr) continue;
    v1::StoredSpec without = driver->spec().stored();
    for (const v1::Maintenance& notice : without.maintenances()) {
      known.insert(notice.id());
      if (notice.id() != id) continue;
      change.apps.push_back(CountCovered(name, *driver->state(), notice.scope()));
    }
    if (!TakeOutId(id, without)) continue;
    if (absl::Status may = MayChangeSpec(*driver); !may.ok()) return may;
    change.specs.push_back({std::move(without), driver->spec().version()});
  }
  if (!change.specs.empty()) return change;
  return absl::NotFoundError(absl::StrCat("no maintenance ", Quoted(id), "; there are: ",
                                          known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

std::vector<v1::MaintenanceStatus> DescribeNotices(const LedApps& apps, TimePoint now,
                                                   const std::string& app, const std::string& id) {
  std::vector<v1::MaintenanceStatus> all;
  for (const auto& [name, driver] : apps.drivers()) {
    if ((!app.empty() && app != name) || driver->state() == nullptr) continue;
    for (auto& status : DescribeMaintenances(*driver->state(), now, id)) {
      status.set_app(name);
      all.push_back(std::move(status));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.maintenance().start_ms(), a.maintenance().id()) <
           std::pair(b.maintenance().start_ms(), b.maintenance().id());
  });
  return all;
}

}  // namespace shardmanager::orchestrator
