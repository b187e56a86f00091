// Until when a process of the control plane may take what it knows for true.
#pragma once

#include "base/defect.h"
#include "base/lease.h"
#include "base/time.h"
#include "model/session_terms.h"

namespace shardmanager::orchestrator {

// A leader whose connection to the store breaks is not told that its session has ended and that
// another process was elected: only its own clock can tell it. Fenced writes (LeaderFence) keep it
// from doing harm; the lease keeps it from telling operators and clients what was true once.
// A process whose lease has lapsed keeps its state: if its session turns out to live, the next
// renewal goes through, and it goes on where it was.
class LeadLease {
 public:
  // The process starts: it has no lease, and silence counts from here.
  void Begin(TimePoint now) { heard_ = now; }
  // Another session takes the place of the last one.
  void NewSession(TimePoint asked_at) {
    begin_.OnEnd();
    begin_.OnSession(asked_at);
  }
  // The store answered a renewal: a write, and a read behind it. False: a later one is to prove
  // it, sent more than half a tick from now, and the lease ends sooner until then.
  bool Renewed(TimePoint sent_at, TimePoint now, const SessionTerms& granted) {
    heard_ = sent_at;
    const TimePoint begin = begin_.OnRenewed(sent_at, now, granted.tick);
    until_ = LeaseUntil(begin, granted.timeout, granted.tick);
    return begin == sent_at;
  }
  bool Holds(TimePoint now) const { return now < until_ || Planted(Defect::kLeadsWithoutALease); }
  TimePoint until() const { return until_; }
  Duration SilentFor(TimePoint now) const { return now - heard_; }

 private:
  LeaseBegin begin_;
  TimePoint heard_{};
  TimePoint until_ = TimePoint::min();
};

}  // namespace shardmanager::orchestrator
