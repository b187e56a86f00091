// Asks the store for sessions with a cell's time-outs, and compares what it grants.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"
#include "model/session_terms.h"
#include "runtime/executor.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {

SessionTerms TermsOf(const v1::CellConfig& config);

// On the executor's thread, where it is made and destroyed, too.
class SessionCheck {
 public:
  using Done = std::function<void(absl::Status)>;

  // Opens one session as application servers ask for, and the shortest one that the cell's
  // tick allows; they end when both have been granted. Waits for the store as long as it takes.
  // `done` comes once, from the executor, and may destroy the check. Errors:
  // FAILED_PRECONDITION, as CheckGranted() and, with `trust_min_timeout`, CheckTick().
  SessionCheck(CoordinationStoreFactory& stores, Executor& executor, const SessionTerms& terms,
               bool trust_min_timeout, Done done);
  ~SessionCheck();

 private:
  struct Probe {
    std::unique_ptr<CoordinationStore> session;
    std::optional<Duration> granted;
  };

  void Ask(CoordinationStoreFactory& stores, Duration timeout);
  void OnGranted(Probe& probe);

  Executor& executor_;
  const SessionTerms terms_;
  const bool trust_min_timeout_;
  Done done_;                  // empty: it was called
  std::vector<Probe> probes_;  // of the servers' time-out, and of the shortest
  const std::shared_ptr<void> alive_ = std::make_shared<char>();
};

}  // namespace shardmanager
