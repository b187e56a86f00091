// This process's session with the store, and how it joins the cell in it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/paths.h"
#include "coordination/session_check.h"
#include "coordination/store.h"
#include "orchestrator/control/controller_options.h"
#include "runtime/executor.h"
#include "runtime/logging.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// When the store ends a session, another one is opened. Leases are computed from the time-outs of
// the cell, so each session is compared with them: when it joins, and whenever the store is reached
// again. Runs on the executor's thread, where the callbacks come, too.
class CellSession {
 public:
  struct Callbacks {
    // A new session is about to replace the last one: destroy what uses the store of the last one.
    std::function<void()> replaced;
    // The session has joined the cell: cell() is what is stored.
    std::function<void()> joined;
    // The store is reached again, and the session has survived.
    std::function<void()> reached_again;
    // The store has ended the session; replaced() follows.
    std::function<void()> expired;
    // This process cannot be part of the cell, for example because the store grants session
    // time-outs that do not fit the cell's leases.
    std::function<void(const absl::Status& why)> fatal;
  };

  // All must outlive it.
  CellSession(const ControllerOptions& options, CoordinationStoreFactory& stores,
              Executor& executor, Callbacks callbacks);

  // Opens a session, which replaces the last one.
  void Open();
  // Ends the session, so that a standby takes over at once. No callback comes any more.
  void Close();
  // Frees the store's client. REQUIRES: Close() was called, and the executor has stopped.
  void Free() { store_.reset(); }

  // REQUIRES: Open() was called.
  CoordinationStore& store() const { return *store_; }
  bool connected() const {
    return store_ != nullptr && store_->state() == SessionState::kConnected;
  }
  bool joined() const { return joined_; }
  bool closed() const { return closed_; }
  // As stored; before joining, as in the options.
  const v1::CellConfig& cell() const { return joined_ ? cell_ : options_.cell; }
  const Paths& paths() const { return paths_; }
  // The time of day, in milliseconds since 1970.
  int64_t WallMs() const;
  // For how long the process has been part of the cell in this session; 0: it is not.
  Duration AgeAt(TimePoint now) const { return joined_ ? now - joined_at_ : Duration(0); }
  // The number of the session. Answers to what was asked in an earlier one must be ignored.
  uint64_t number() const { return number_; }
  bool IsCurrent(uint64_t session) const { return session == number_ && !closed_; }
  // Calls `what` in half a second, unless the session has ended or was replaced by then.
  void TryLater(std::function<void()> what);

 private:
  void OnState(uint64_t session, SessionState state);
  void JoinCell();
  void CheckSessions(const SessionTerms& terms, std::function<void(absl::Status)> done);
  void CheckAgain();
  void MakeCell(const SessionTerms& checked);
  void OnCell(absl::StatusOr<v1::CellConfig> config);
  void GiveUp(const char* what, const absl::Status& why);

  const ControllerOptions& options_;
  CoordinationStoreFactory& stores_;
  Executor& executor_;
  const Callbacks callbacks_;
  const Paths paths_;

  uint64_t number_ = 0;
  bool closed_ = false;
  bool joined_ = false;
  TimePoint joined_at_{};
  std::chrono::milliseconds timeout_;  // what sessions are asked for
  std::unique_ptr<CoordinationStore> store_;
  std::unique_ptr<SessionCheck> check_;  // while joining, and after each reconnection
  v1::CellConfig cell_;
  Repeater unreachable_;
};

}  // namespace shardmanager::orchestrator
