// The rules for leases on the coordination store: the session of a server or of a
// leader must end after its lease does.
#pragma once

#include <algorithm>
#include <optional>

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

// From when on a lease runs. That a renewal was answered does not mean that the store's leader has
// heard of the session: a sync or a write goes through the leader but touches no session there. A
// touch is told with the next answer of our follower to the leader's ping, every half tick; a
// follower that is cut off before takes it along. What was answered more than half a tick before a
// later renewal was sent, which was answered in its turn, has been told: a ping lies between. So a
// lease begins when its renewal was sent, but at most one tick after the newest one that is proven.
// Renewals that come every tick lose nothing by it; the first one after a pause does not trust
// itself. Checked as a model: tests/model_checking/lease.pml.
class LeaseBegin {
 public:
  // A session was made that had been asked for then. That counts as proven: it cannot be older.
  void OnSession(TimePoint asked_at) { proven_ = std::max(proven_, asked_at); }
  // The session is over, and whatever was to be proven.
  void OnEnd() { unproven_.reset(); }
  // A renewal was answered. When its lease begins; before `sent_at`, the next one can prove it
  // if it is sent more than half a tick later.
  TimePoint OnRenewed(TimePoint sent_at, TimePoint answered_at, Duration tick) {
    if (Planted(Defect::kLeaseFromSendTime)) return sent_at;
    if (unproven_ && unproven_->answered_at + tick / 2 < sent_at) {
      proven_ = unproven_->sent_at;
      unproven_.reset();
    }
    if (!unproven_) unproven_ = {sent_at, answered_at};
    return std::min(sent_at, proven_ + tick);
  }

 private:
  struct Renewal {
    TimePoint sent_at;
    TimePoint answered_at;
  };
  TimePoint proven_{};
  std::optional<Renewal> unproven_;  // the oldest one
};

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
