// One call to a sharded service: what to do after each attempt.
//
// Rules:
//  1. A refused or unsent attempt was not processed: always tried again.
//  2. After an attempt that may have been processed, only an idempotent request is.
//  3. Nothing outlives the deadline of the call.
//  4. Between attempts it waits 1 ms, growing to 50 ms, but never longer than until
//     the map names other servers for the shard.
//  5. An answer of the application, also an error, ends the call.
//  6. When the app's calls have used up what they may try again (RetryBudget), it waits 0.5 to 1 s
//     instead, or until the map names other servers.
//  7. A read may be hedged: when an attempt has no answer after `hedge_after`, and the budget
//     allows one more, another replica is asked as well; once in a call. The first good answer
//     ends the call. Whatever else one of the two comes to counts only when both have ended.
//  8. A cancelled call makes no further attempt. An answer that comes all the same is its answer.
#pragma once

#include <cstdint>
#include <optional>

#include "base/random.h"
#include "base/time.h"
#include "router/retry_budget.h"

namespace shardmanager::router {

// How an attempt ended.
enum class AttemptEnd {
  kAnswered,    // the application answered: OK, or a status about the request
  kErred,       // the application answered that it cannot serve
  kRefused,     // the server refused it, unprocessed
  kUnsent,      // no connection to the server: nothing was sent
  kBroken,      // sent, then the connection broke
  kTimedOut,    // sent, and no answer by the attempt's deadline
  kSuperseded,  // given up: the map no longer names that server, or nobody waits for it any more
};

inline bool IsAnswer(AttemptEnd end) {
  return end == AttemptEnd::kAnswered || end == AttemptEnd::kErred;
}

class CallMachine {
 public:
  struct Call {
    TimePoint begin;
    TimePoint deadline;
    bool idempotent = false;
    uint64_t seed = 0;              // of the jitter
    RetryBudget* budget = nullptr;  // of the app; null: any number of attempts
    Duration hedge_after{0};        // zero: never. REQUIRES: a read
  };

  enum class Next {
    kFinish,           // with the status of an attempt that was answered
    kAttempt,          // now
    kWaitThenAttempt,  // until `until`, or until the shard's servers change
    kFailDeadline,     // DEADLINE_EXCEEDED
    kFailAmbiguous,    // UNAVAILABLE: it may have been processed
    kFailCancelled,    // CANCELLED
    kAwaitOther,       // nothing now: the other attempt is under way
  };
  struct Step {
    Next next;
    TimePoint until = kNever;
  };

  explicit CallMachine(const Call& call) : call_(call), random_(call.seed) {}

  // How long an attempt that begins now may take. An idempotent one gets a quarter of
  // what is left, then half, then all, so that a hung server does not cost the call.
  TimePoint AttemptDeadline(TimePoint now) const;

  Step OnAttemptEnd(TimePoint now, AttemptEnd end);
  // There is nobody to send to: no map yet, or no server serves the shard.
  Step OnNobody(TimePoint now) const;
  // What OnAttemptEnd or OnNobody said to wait for came (a change, or the time). Also begins the
  // call.
  Step OnWaited(TimePoint now) const;

  // When an attempt that begins now and has no answer is to be hedged; kNever: it is not.
  TimePoint HedgeAt(TimePoint now) const;
  // That time has come, and another replica may answer. True: ask it now; both are under way.
  bool OnHedgeDue(TimePoint now);

  // No Step follows of itself: end the attempts under way, or the wait.
  void OnCancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  uint64_t attempts() const { return attempts_; }
  // How often it waited for longer, by rule 6.
  uint64_t held_back() const { return held_back_; }

 private:
  Step OnRoundEnd(TimePoint now, AttemptEnd end);
  Step WaitForBackoff(TimePoint now);

  const Call call_;
  Random random_;
  uint64_t attempts_ = 0;
  uint64_t rounds_ = 0;  // attempts and their hedges
  bool hedged_ = false;
  bool both_under_way_ = false;
  std::optional<AttemptEnd> ended_first_;  // of two
  bool cancelled_ = false;
  uint64_t waits_ = 0;
  uint64_t held_back_ = 0;
};

}  // namespace shardmanager::router
