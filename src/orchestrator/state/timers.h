// What a partition waits for, by time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "base/time.h"

namespace shardmanager::orchestrator {

enum class TimerKind : uint8_t {
  kFailover,     // of a server: the delay is over
  kServerRetry,  // of a server: commands that did not get through
  kShardRetry,   // of a shard: a command that failed
  kLook,         // of a server: the periodic full look
  kBalance,
  kReplan,  // look again for places that were not found
  kGather,
  kPublish,
  kWriteRetry,
  kRecordRetry,     // of a server: its record was too large
  kMembersRetry,    // of a shard
  kMoveAgain,       // of a shard
  kTrial,           // of a server that is quarantined
  kScale,           // look how many replicas the loads ask for
  kDemand,          // look where requests come from
  kTryElsewhere,    // of a poison shard
  kPrimarySettled,  // of a shard: its primary may change again
  kMaintenance,     // one begins, ends, or is to be prepared for
  kOrderOverdue,    // of a server: an operation there has taken too long
  kSteady,          // of a server: it may be given what others can hold
  kMapDeadline,     // publish even if some server has not reported
  kSkew,            // look which shards and keys are hot
  kMapAge,          // the map that the application supplied may be too old
};

struct Timer {
  TimePoint when;
  uint64_t order;  // grows with each timer that is set
  TimerKind kind;
  uint32_t id;
  friend bool operator>(const Timer& a, const Timer& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }
};

// Due in the order of time; of one time, in the order in which they were set. None can be taken
// back: whoever handles one looks at whether it still matters.
class Timers {
 public:
  void Set(TimePoint when, TimerKind kind, uint32_t id) { queue_.push({when, order_++, kind, id}); }
  // Takes the first one that is due.
  std::optional<Timer> TakeDue(TimePoint now) {
    if (queue_.empty() || queue_.top().when > now) return std::nullopt;
    const Timer timer = queue_.top();
    queue_.pop();
    return timer;
  }
  TimePoint next() const { return queue_.empty() ? kNever : queue_.top().when; }
  // The order of the next one to be set.
  uint64_t order() const { return order_; }
  size_t memory_bytes() const { return queue_.size() * sizeof(Timer); }

 private:
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> queue_;
  uint64_t order_ = 0;
};

}  // namespace shardmanager::orchestrator
