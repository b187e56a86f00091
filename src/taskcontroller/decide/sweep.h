// Which operations are over, whatever else is decided.
#pragma once

#include <vector>

#include "base/time.h"
#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"

namespace shardmanager::taskcontroller {

enum class Ending : uint8_t {
  kGoesOn,
  kFinished,  // its manager says so, or it is seen to be over
  kGone,      // its manager does not want it any more, or is silent, or the server has a new life
  kLapsed,    // it was approved, and not begun in time
  kStalled,   // what has to leave the server does not: others may try
};

// What drains is given so long to get on with it before another operation gets its turn.
inline constexpr Duration kStalled = Seconds(120);

// It is still the operation that was agreed to: the id was not used for another one.
bool IsSame(const OperationInfo& held, const OperationInfo& reported);

Ending EndingOf(const OperationKey& key, const HeldOperation& operation, const Policy& policy,
                const ReportBook& reports, const FleetView& view, TimePoint now);

}  // namespace shardmanager::taskcontroller
