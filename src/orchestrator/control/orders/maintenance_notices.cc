#include "orchestrator/control/orders/maintenance_notices.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/maintenance.h"
#include "model/text.h"
#include "orchestrator/control/orders/drain_scopes.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/maintenances.h"

namespace shardmanager::orchestrator {
namespace {

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
  constexpr int64_t kShownMs = kMaintenanceShown / Milliseconds(1);
  TakeOut(stored, [&](const v1::Maintenance& other) { return other.end_ms() + kShownMs < now_ms; });
  if (stored.maintenances_size() >= kMostMaintenances) {
    return absl::ResourceExhaustedError(
        absl::StrCat("app \"", stored.spec().name(), "\" has notice of ", kMostMaintenances,
                     " maintenances, which is the most: cancel one that does not take place"));
  }
  *stored.add_maintenances() = notice;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SpecEdits> GiveNotice(const LedApps& apps, const v1::Maintenance& notice,
                                     int64_t now_ms) {
  using Edit = std::optional<SpecEdit>;
  std::set<std::string> known;
  auto edits = EditSpecs(apps, "",
                         [&](const std::string& app, const PartitionState& state,
                             const v1::StoredSpec& stored) -> absl::StatusOr<Edit> {
                           if (stored.deleting()) return Edit();
                           AddKnownScopes(state, notice.scope(), known);
                           SpecEdit edit{.spec = stored};
                           const bool had = TakeOutId(notice.id(), edit.spec);
                           const v1::DrainedApp counted = CountCovered(app, state, notice.scope());
                           // (Where no server is known yet, it is there when they are.)
                           if (counted.servers() == 0 && !KnowsNoServerYet(state)) {
                             return had ? Edit(std::move(edit)) : Edit();
                           }
                           if (absl::Status put = Put(notice, now_ms, edit.spec); !put.ok())
                             return put;
                           edit.told = counted;
                           return Edit(std::move(edit));
                         });
  if (edits.ok() && edits->apps.empty()) return NoSuchScope(notice.scope(), known);
  return edits;
}

absl::StatusOr<SpecEdits> TakeNoticeBack(const LedApps& apps, const std::string& id) {
  std::set<std::string> known;
  auto edits = EditSpecs(
      apps, "",
      [&](const std::string& app, const PartitionState& state, const v1::StoredSpec& stored) {
        std::optional<SpecEdit> edit;
        for (const v1::Maintenance& notice : stored.maintenances()) {
          known.insert(notice.id());
          if (notice.id() == id) edit = SpecEdit{stored, CountCovered(app, state, notice.scope())};
        }
        if (edit) TakeOutId(id, edit->spec);
        return edit;
      });
  if (!edits.ok() || !edits->specs.empty()) return edits;
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
