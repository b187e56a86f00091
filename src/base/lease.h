// The one rule for leases on the coordination store: the session of a server or of a
// leader must end after its lease does.
#pragma once

#include "base/defect.h"
#include "base/time.h"

namespace shardmanager {

// How long a lease lasts from its begin on. `timeout`: of the session, as granted. The margin is
// one `tick` (ZooKeeper's tickTime) that the begin may be ahead of what the store's leader knows,
// one to spare, and 1% for clocks that drift.
constexpr Duration LeaseLength(Duration timeout, Duration tick) {
  return timeout - 2 * tick - timeout / 100;
}

// Until when a process may rely on its session. `from`: the store's leader heard of the session
// then, or at most one tick before.
inline TimePoint LeaseUntil(TimePoint from, Duration timeout, Duration tick) {
  if (Planted(Defect::kNoLeaseMargin)) return from + timeout;
  return from + LeaseLength(timeout, tick);
}

}  // namespace shardmanager
