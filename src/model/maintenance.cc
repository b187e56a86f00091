#include "model/maintenance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/defect.h"
#include "model/drain.h"
#include "model/pause.h"
#include "model/spec/spec_names.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr int64_t kMsPerDay = 86'400'000;
constexpr int64_t kMostAheadMs = 365 * kMsPerDay;
constexpr int64_t kMostLengthMs = 30 * kMsPerDay;
constexpr size_t kMostIdBytes = 63;
// Before the preparations begin: what moves goes elsewhere if there is room.
constexpr Duration kAvoidBefore = Seconds(3'600);

class Problems {
 public:
  void Add(const std::string& path, const std::string& found, const std::string& allowed) {
    lines_.push_back(SpecProblem{path, found, allowed}.ToString());
  }
  void Add(const absl::Status& status) {
    if (!status.ok()) lines_.emplace_back(status.message());
  }
  absl::Status Status() const {
    return lines_.empty() ? absl::OkStatus()
                          : absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
};

void CheckTimes(const v1::Maintenance& notice, int64_t now_ms, Problems& problems) {
  if (notice.start_ms() < 0 || notice.start_ms() > now_ms + kMostAheadMs) {
    return problems.Add("start_ms", TimeText(notice.start_ms()),
                        "a time until " + TimeText(now_ms + kMostAheadMs));
  }
  const int64_t after = std::max(notice.start_ms(), now_ms);
  if (notice.end_ms() > after && notice.end_ms() - notice.start_ms() <= kMostLengthMs) return;
  problems.Add("end_ms", notice.end_ms() == 0 ? "nothing" : TimeText(notice.end_ms()),
               absl::StrCat("a time after ", TimeText(after), ", until ",
                            TimeText(notice.start_ms() + kMostLengthMs)));
}

bool ComesBack(v1::MaintenanceImpact impact) { return impact != v1::MACHINE_LOSS; }

}  // namespace

v1::Maintenance WithDefaults(v1::Maintenance notice, int64_t now_ms) {
  if (notice.start_ms() == 0) notice.set_start_ms(now_ms);
  if (notice.end_ms() == 0 && notice.impact() == v1::MACHINE_LOSS) {
    notice.set_end_ms(notice.start_ms() + kMsPerDay);
  }
  return notice;
}

absl::Status ValidateMaintenance(const v1::Maintenance& notice, int64_t now_ms) {
  Problems problems;
  if (!IsPlainName(notice.id(), kMostIdBytes)) {
    problems.Add("id", Quoted(notice.id()), PlainNameRule(kMostIdBytes));
  }
  problems.Add(ValidateScope(notice.scope()));
  const bool known = v1::MaintenanceImpact_IsValid(notice.impact()) &&
                     notice.impact() != v1::MAINTENANCE_IMPACT_UNSPECIFIED;
  if (!known) {
    problems.Add("impact", EnumLabel(notice.impact()),
                 EnumLabels(*v1::MaintenanceImpact_descriptor()));
  }
  CheckTimes(notice, now_ms, problems);
  problems.Add(ValidateNote("reason", notice.reason()));
  problems.Add(ValidateNote("who", notice.who()));
  return problems.Status();
}

std::string MaintenanceText(const v1::Maintenance& notice) {
  return absl::StrCat("maintenance ", notice.id(),
                      notice.reason().empty() ? "" : absl::StrCat(" (", notice.reason(), ")"));
}

PlannedMaintenance OnClock(const v1::Maintenance& notice, TimePoint now, int64_t now_ms) {
  const auto at = [&](int64_t ms) { return now + Milliseconds(ms - now_ms); };
  return {notice, at(notice.since_ms()), at(notice.start_ms()), at(notice.end_ms())};
}

MaintenanceStage StageOf(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                         TimePoint now) {
  if (now >= maintenance.end) return MaintenanceStage::kOver;
  if (now >= maintenance.start) return MaintenanceStage::kUnderWay;
  return now >= maintenance.start - rules.prepare() ? MaintenanceStage::kPreparing
                                                    : MaintenanceStage::kAhead;
}

Leaving LeavingBefore(const PlannedMaintenance& maintenance, const LeavingRules& rules) {
  return rules.Before(maintenance.notice.impact(), maintenance.end - maintenance.start);
}

ServerOrder OrderAt(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                    TimePoint now) {
  ServerOrder order;
  const MaintenanceStage stage = StageOf(maintenance, rules, now);
  const Leaving leaving = LeavingBefore(maintenance, rules);
  order.avoid =
      stage != MaintenanceStage::kOver && now >= maintenance.start - rules.prepare() - kAvoidBefore;
  order.closed = stage == MaintenanceStage::kPreparing || stage == MaintenanceStage::kUnderWay;
  if (order.closed && !Planted(Defect::kPreparesForNothing)) order.leaving = leaving;
  // (Also when it is over: then a server has failover.delay_ms to come back, as after any loss.
  // Where everything has to leave, nothing waits for the server.)
  const bool begun = stage == MaintenanceStage::kUnderWay || stage == MaintenanceStage::kOver;
  const bool waits = ComesBack(maintenance.notice.impact()) && !rules.Empties(leaving);
  if (begun && waits) order.away_until = maintenance.end;
  return order;
}

TimePoint WarnAt(const PlannedMaintenance& maintenance, const LeavingRules& rules) {
  const Duration noticed = std::max(Duration(0), maintenance.start - maintenance.noticed);
  return maintenance.start - std::min(rules.prepare(), noticed) / 4;
}

TimePoint NextChange(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                     TimePoint now) {
  const TimePoint prepare = maintenance.start - rules.prepare();
  for (const TimePoint moment : {prepare - kAvoidBefore, prepare, WarnAt(maintenance, rules),
                                 maintenance.start, maintenance.end}) {
    if (moment > now) return moment;
  }
  return kNever;
}

}  // namespace shardmanager
