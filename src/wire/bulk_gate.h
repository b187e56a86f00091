// Who may send large messages (whole maps, large changes) now.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"

namespace shardmanager::wire {

struct BulkLimits {
  // Larger messages than this are large.
  size_t message_bytes = 64 << 10;
  // Subscribers that are sent large messages at the same time. Each has one message under way, so
  // this also bounds the bytes: 32 of about 1 MB (FeedLimits::message_bytes).
  size_t streams = 32;
  // A subscriber that has not taken a message for so long makes room for another one.
  Duration stall = Seconds(2);
};

// Admits up to BulkLimits::streams at a time, the others in the order in which they came. When all
// subscribers of a publisher come back at the same time, the first ones have their map soon, and
// small messages do not wait behind thousands of maps. Thread-safe.
class BulkGate {
 public:
  using Key = const void*;
  using Post = std::function<void(std::function<void()>)>;

  // `post` runs a task later, on a thread of its own.
  BulkGate(BulkLimits limits, Post post) : limits_(limits), post_(std::move(post)) {}

  bool IsLarge(size_t bytes) const { return bytes > limits_.message_bytes; }

  // True: `who` may send a large message now. False: it waits; `ready` is posted when its turn
  // comes, and it then asks again.
  bool Enter(Key who, TimePoint now, std::function<void()> ready);
  // `who` has no more large messages to send, or has gone. It may have never entered.
  void Leave(Key who);
  // Those that have not asked again since `stall` ago lose their turn.
  void ExpelStalled(TimePoint now);

  size_t sending() const;
  size_t waiting() const;

 private:
  // REQUIRES: mutex_ held.
  void Admit(TimePoint now);

  const BulkLimits limits_;
  const Post post_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<Key, TimePoint> sending_;  // when it was last heard of
  struct Waiter {
    Key who;
    std::function<void()> ready;
  };
  std::deque<Waiter> waiting_;
};

}  // namespace shardmanager::wire
