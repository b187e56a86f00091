// Whether this process leads the cell, and whether it can prove it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "coordination/election.h"
#include "coordination/store.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/lead_lease.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/executor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// Stands for election in each session that has joined the cell, and keeps the lease of this
// process: what it knows is certain while the store answers (lead_lease.h). Runs on the executor's
// thread, where the callbacks come, too.
class Leadership {
 public:
  struct Callbacks {
    std::function<void(LeaderEpoch epoch)> elected;
    // This process does not lead any more: what belongs to its lead must go now. May come when it
    // did not lead.
    std::function<void()> ended;
    // As Controller::on_touch and on_leader.
    std::function<void(bool in_touch)> touch;
    std::function<void(const std::string& other_leader)> leader;
  };

  // All must outlive it.
  Leadership(CellSession& session, Executor& executor, EventLog& events, Callbacks callbacks);

  // The process starts; `self`: who it is, and where others reach it.
  void Start(const v1::LeaderRecord& self);
  // Goes on for as long as the process runs, whatever becomes of its sessions.
  void Beat();
  // The session has joined the cell.
  void Stand();
  // The store is reached again: what waited for the connection was meant to be sent long ago.
  void RenewAnew();
  // This process is known not to lead any more. Does nothing if it did not.
  void Lose(const std::string& why);
  // Another session takes the place of the last one.
  void NewSession();
  // Ends the lead and the candidacy.
  void End();

  // Set while this process leads, as far as it knows.
  const std::optional<LeaderEpoch>& epoch() const { return epoch_; }
  // Who leads, as far as it is known.
  const std::optional<v1::LeaderRecord>& leader() const { return leader_; }
  // It leads, and its lease runs. Thread-safe.
  bool proven() const { return proven_; }
  bool InTouch() const { return lease_.Holds(executor_.Now()); }
  Duration SilentFor() const { return lease_.SilentFor(executor_.Now()); }
  const std::string& process() const { return self_.process(); }
  // UNAVAILABLE: why InTouch() is false.
  absl::Status OutOfTouch() const;
  // FAILED_PRECONDITION: another process leads; UNAVAILABLE: nobody is known to.
  absl::Status NotLeading() const;
  // Begins `what` when the store answers and is connected; at once if this process does not lead,
  // and at `until` in any case. As requests to a server do, what operators ask for waits for a
  // renewal of the lease.
  void OnceInTouch(TimePoint until, std::function<void()> what);

 private:
  struct Held {
    TimePoint until;
    std::function<void()> begin;
  };

  void OnElected(LeaderEpoch epoch);
  void OnObserved(std::optional<v1::LeaderRecord> leader);
  void EndLead();
  void BeatAt(TimePoint when);
  void Renew();
  void OnRenewed(TimePoint sent_at, const absl::StatusOr<Node>& holder);
  void LookAtLease();

  CellSession& session_;
  Executor& executor_;
  EventLog& events_;
  const Callbacks callbacks_;

  v1::LeaderRecord self_;
  std::unique_ptr<LeaderElection> election_;
  std::optional<LeaderEpoch> epoch_;
  std::optional<v1::LeaderRecord> leader_;
  LeadLease lease_;
  std::vector<Held> held_;
  uint64_t beats_ = 0;     // counts beats: the newest one that was planned is made
  uint64_t renewals_ = 0;  // counts renewals: answers of others than the newest are ignored
  bool renewing_ = false;  // one renewal at a time is out
  bool in_touch_ = false;  // as the callback was told
  std::atomic<bool> proven_{false};
};

}  // namespace shardmanager::orchestrator
