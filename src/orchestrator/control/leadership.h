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

  // Call it once, first. `self`: the name of this process, and the endpoint where others reach it.
  void Start(const v1::LeaderRecord& self);
  // Renews the lease now, and then at every heartbeat until the process ends, over all its
  // sessions; tells what has changed by then, and begins the held calls whose time has come.
  void Beat();
  // Call it when the session has joined the cell: stands for election in it.
  void Stand();
  // Call it when the store is reached again: sends a renewal now, and ignores the answer to the one
  // that waited for the connection, because that one counts from when it was meant to be sent.
  void RenewAnew();
  // Call it when this process is known not to lead any more, and say why. Does nothing if it did
  // not lead.
  void Lose(const std::string& why);
  // Call it when a new session replaces the last one.
  void NewSession();
  // Ends the lead and the candidacy.
  void End();

  // Set while this process leads, as far as it knows.
  const std::optional<LeaderEpoch>& epoch() const { return epoch_; }
  // The process that leads, as far as this one knows.
  const std::optional<v1::LeaderRecord>& leader() const { return leader_; }
  // This process leads, and its lease runs. Thread-safe.
  bool proven() const { return proven_; }
  bool InTouch() const { return lease_.Holds(executor_.Now()); }
  Duration SilentFor() const { return lease_.SilentFor(executor_.Now()); }
  // For how long this process has led; 0: it does not lead.
  Duration LedFor() const { return epoch_ ? executor_.Now() - elected_at_ : Duration(0); }
  const std::string& process() const { return self_.process(); }
  // UNAVAILABLE: why InTouch() is false.
  absl::Status OutOfTouch() const;
  // FAILED_PRECONDITION: another process leads; UNAVAILABLE: nobody is known to.
  absl::Status NotLeading() const;
  // Calls `what` now if the lease holds and the store is connected, or if this process does not
  // lead. Otherwise looks again after each renewal and heartbeat, and calls it as soon as one of
  // these is true or `until` has passed. Never calls it once the process stops.
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
  TimePoint elected_at_{};
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
