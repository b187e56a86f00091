// Shards that lack replicas: which of them the next plan looks at, and which wait for a change, as
// the last plan found no place for them. An event costs what it changes, however many shards wait.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/allocator.h"
#include "base/dense_id.h"
#include "base/time.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

// For which shards without a place a change may have made one.
enum class Help {
  kRoom,  // a server holds less than before: for shards that lacked only room
  kAny,
};

class MissingShards {
 public:
  // Tick() is to be called so often. Of shards without a place, those that something may have
  // helped are tried again at the next tick; all are tried again from time to time: after kTick,
  // then each time after twice as long, up to kMostPause. Those that lack only room wait as long in
  // between when there may be some, for loads that are reported fall all the time; until one of
  // the shards finds its place.
  static constexpr Duration kTick = Seconds(5);
  static constexpr Duration kMostPause = Seconds(60);

  // ---- to be planned ----

  // The next plan is to look at the shard.
  void Add(ShardIndex shard) { next_.push_back(shard); }
  // The first plan after FleetGathered() is to look at the shard.
  void AwaitFleet(ShardIndex shard) { first_.push_back(shard); }
  void FleetGathered();
  // All shards for the next plan. There may be repeats, and shards that have what they lacked.
  std::vector<ShardIndex> TakeNext() { return std::exchange(next_, {}); }
  // The plan that is being made looks at these shards.
  void SetPlanned(std::vector<ShardIndex> shards) { planned_ = std::move(shards); }
  std::vector<ShardIndex> TakePlanned() { return std::exchange(planned_, {}); }

  // ---- without a place ----

  // The plan found no place for the shard. True: that, or the reason, is new.
  bool Park(ShardIndex shard, allocator::SkipReason reason, TimePoint now);
  // The shard has what it lacked.
  void Forget(ShardIndex shard);
  void ForgetAll() { parked_.clear(), count_ = {}; }
  // Why the last plan that looked at the shard found no place for it; null: it found one.
  const allocator::SkipReason* Find(ShardIndex shard) const;
  // No plan looks at the shard before something changes, or time passes.
  bool Waits(ShardIndex shard) const;
  // How many shards have no place.
  size_t waiting() const { return parked_.size(); }
  // For this reason.
  size_t count(allocator::SkipReason reason) const { return count_[Index(reason)]; }
  // Latest time of the next plan for shards that wait.
  TimePoint retry_by(TimePoint now) const { return std::max(retry_at_, now) + kTick; }

  // What the plan found of the shard holds no more. (Add() is up to the caller.)
  void Release(ShardIndex shard);
  // The next plan looks at the shard, if it waits; at all that wait.
  void Retry(ShardIndex shard);
  void RetryAll();

  void MayHelp(Help help) { (help == Help::kAny ? any_helped_ : room_helped_) = true; }
  void Tick(TimePoint now);

 private:
  static constexpr size_t kReasons = static_cast<size_t>(allocator::SkipReason::kAvoided) + 1;
  struct Parked {
    allocator::SkipReason reason;
    bool waits;
  };
  static size_t Index(allocator::SkipReason reason) { return static_cast<size_t>(reason); }

  std::vector<ShardIndex> next_;
  std::vector<ShardIndex> first_;
  std::vector<ShardIndex> planned_;
  absl::flat_hash_map<ShardIndex, Parked> parked_;
  std::array<size_t, kReasons> count_{};
  bool room_helped_ = false;
  bool any_helped_ = false;
  Duration pause_ = kTick;
  TimePoint retry_at_ = TimePoint::min();
  Duration room_pause_ = kTick;
  TimePoint room_retry_at_ = TimePoint::min();
};

}  // namespace shardmanager::orchestrator
