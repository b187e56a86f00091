// What the leases of application servers need of ZooKeeper's sessions, and whether the time-outs
// that ZooKeeper granted give it. ZooKeeper grants what is asked for within minSessionTimeout
// (2 x tickTime unless it is set) and maxSessionTimeout (20 x tickTime unless it is set).
#pragma once

#include <algorithm>

#include "absl/status/status.h"
#include "base/lease.h"
#include "base/time.h"

namespace shardmanager {

// As the cell's config has them.
struct SessionTerms {
  Duration timeout;  // what servers ask for
  Duration tick;     // ZooKeeper's tickTime

  friend bool operator==(const SessionTerms&, const SessionTerms&) = default;
};

// Renewals go out at least this often, and at least every tick.
constexpr int kRenewalsPerTimeout = 6;
constexpr Duration RenewalInterval(const SessionTerms& terms) {
  return std::min<Duration>(terms.tick, terms.timeout / kRenewalsPerTimeout);
}

// FAILED_PRECONDITION: the granted time-out is not the one that was asked for, or its leases
// lapse between two renewals. Says what was asked for, what was granted, and what to set.
absl::Status CheckGranted(const SessionTerms& terms, Duration granted);

// The shortest session that ZooKeeper has to grant if its tickTime is the cell's.
constexpr Duration ShortestSession(Duration tick) { return 2 * tick; }

// FAILED_PRECONDITION: asked for ShortestSession(), ZooKeeper granted a longer one, so its
// tickTime is larger than the cell's, and a lease could outlive its session.
absl::Status CheckTick(Duration tick, Duration granted);

}  // namespace shardmanager
