// Notices of planned events that nobody can refuse: Maintenance in types.proto. Pure; the one place
// that knows the rules written there.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "base/time.h"
#include "model/leaving_rules.h"
#include "model/server_order.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

inline constexpr int kMostMaintenances = 100;  // of one app
// One that is over is still shown for so long, and then forgotten.
inline constexpr Duration kMaintenanceShown = Seconds(3'600);

// With its defaults. `now_ms`: since 1970.
v1::Maintenance WithDefaults(v1::Maintenance notice, int64_t now_ms);
// INVALID_ARGUMENT, one problem a line, in the words of "<path>: found <x>; allowed: <y>".
// REQUIRES: `notice` has its defaults.
absl::Status ValidateMaintenance(const v1::Maintenance& notice, int64_t now_ms);
// "maintenance change-4711 (replace the switch of rack r7)".
std::string MaintenanceText(const v1::Maintenance& notice);

// A notice, with its moments on the clock of the process that leads.
struct PlannedMaintenance {
  v1::Maintenance notice;
  TimePoint noticed{};  // notice was given
  TimePoint start{};
  TimePoint end{};
};
// `now` and `now_ms` are the same moment.
PlannedMaintenance OnClock(const v1::Maintenance& notice, TimePoint now, int64_t now_ms);

enum class MaintenanceStage : uint8_t {
  kAhead,
  kPreparing,  // what has to leave its servers is being moved away
  kUnderWay,
  kOver,
};
MaintenanceStage StageOf(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                         TimePoint now);

// What leaves its servers before it begins.
Leaving LeavingBefore(const PlannedMaintenance& maintenance, const LeavingRules& rules);
// What it asks for each server in its scope at that moment; `server` is not set.
ServerOrder OrderAt(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                    TimePoint now);
// When one of the two changes, or it is time to warn that it is not prepared for; kNever: not any
// more.
TimePoint NextChange(const PlannedMaintenance& maintenance, const LeavingRules& rules,
                     TimePoint now);
// The last quarter of the time for preparations begins: what has not left by then may not make it.
// With late notice there is less time, or none.
TimePoint WarnAt(const PlannedMaintenance& maintenance, const LeavingRules& rules);

}  // namespace shardmanager
