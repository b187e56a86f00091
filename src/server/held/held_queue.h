// The queue of what is held: threads, and requests that wait without one, first come, first served.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/time.h"
#include "server/held/admitted.h"

namespace shardmanager::server {

// One that is held.
class HeldRequest {
 public:
  virtual ~HeldRequest() = default;

 private:
  friend class HeldQueue;
  // Its turn has come, and it is out of the queue. Called under the mutex: to be passed on, no
  // more.
  virtual void Wake() = 0;

  HeldLine* line_ = nullptr;  // where it stands; null: it does not
};

// Those that are held at one shard.
class HeldLine {
 public:
  // Of the shard, so far.
  uint64_t changes() const { return changes_; }

 private:
  friend class HeldQueue;
  uint64_t changes_ = 0;
  std::deque<std::shared_ptr<HeldRequest>> requests_;
};

class HeldQueue {
 public:
  static constexpr size_t kMostHeld = 1'024;  // of both kinds, of all shards

  // `mutex` guards the lines. `lease_decided` tells, under it, whether nothing waits for a lease
  // any longer: it is valid, or its session has ended.
  HeldQueue(std::mutex& mutex, std::function<bool()> lease_decided)
      : mutex_(mutex), lease_decided_(std::move(lease_decided)) {}

  // Blocks a request that was held until its shard changed, or (`lapsed_at`) until that is decided.
  // False: not by `until`, or too many wait. Admits nothing: ask again.
  bool AwaitTurn(const Admitted& held, TimePoint until);
  // The same without a thread that waits. kWaits: Wake() follows once, perhaps at once, unless the
  // request leaves before.
  enum class Queued : uint8_t { kWaits, kHasTurn, kTooMany };
  Queued Enqueue(const Admitted& held, const std::shared_ptr<HeldRequest>& request);
  // False: it stands in no line; its turn has come, perhaps.
  bool Leave(HeldRequest& request);

  // REQUIRES of these: the mutex is held.
  void Changed(HeldLine& line);
  void LeaseDecided();

 private:
  bool HasTurn(const Admitted& held) const;
  void TakeOut(HeldRequest& request);

  std::mutex& mutex_;
  const std::function<bool()> lease_decided_;
  size_t held_ = 0;
  std::deque<std::shared_ptr<HeldRequest>> for_lease_;  // of them
};

}  // namespace shardmanager::server
