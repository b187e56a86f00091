// The operations that a decision is about, in the order in which they are considered.
#pragma once

#include <vector>

#include "base/time.h"
#include "taskcontroller/decide/away.h"
#include "taskcontroller/decide/delay.h"
#include "taskcontroller/selection/problem.h"
#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/operation.h"
#include "taskcontroller/state/policy.h"
#include "taskcontroller/state/report_book.h"

namespace shardmanager::taskcontroller {

struct Entry {
  OperationKey key;
  OperationInfo info;
  const HeldOperation* held = nullptr;      // null: it is not held
  const WantedOperation* wanted = nullptr;  // null: its manager did not report it to this leader
  ServerIndex server;
  Leaving leaving;
  bool away = false;               // its server counts as away already
  bool urgent = false;             // it goes before those that are not
  std::vector<ShardIndex> shards;  // that lose a replica when it begins
  uint32_t left = 0;               // replicas that have to leave the server first
  ShardIndex pinned;               // one of those, which stays; or invalid
  uint32_t in_transition = 0;      // replicas on it that are neither here nor there
};

// One that is not considered: it waits for something else, or is refused.
struct Excluded {
  OperationKey key;
  Delay delay;
};

struct Docket {
  // Approved ones first, then those that are being prepared, then those that have waited too long
  // or are near their deadline, then the others; each group by deadline, then by age.
  std::vector<Entry> entries;
  std::vector<Excluded> excluded;
};

// `held`: those that go on. Managers that are silent are not considered. REQUIRES: what it is made
// of outlives it.
Docket MakeDocket(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
                  const FleetView& view, const Away& away, TimePoint now);

}  // namespace shardmanager::taskcontroller
