// The rules for leases on the coordination store: the session of a server or of a
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

// Until when it may at most, having sent a write then that was answered: most of the store's
// servers had elected nobody else when they made the write, so a leader whom they elect later gives
// the session its whole time-out from then on. Answers to reads and syncs do not show that: a
// leader that was deposed and does not know gives them, too.
constexpr TimePoint LeaseUntilByWrite(TimePoint written, Duration timeout) {
  return written + timeout - timeout / 100;
}

// So much older than a renewal may the write be: the renewal's own lease ends so much sooner.
constexpr Duration LongestWithoutWrite(Duration tick) { return 2 * tick; }

}  // namespace shardmanager
