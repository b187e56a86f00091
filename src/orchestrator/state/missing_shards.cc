#include "orchestrator/state/missing_shards.h"

#include <algorithm>

namespace shardmanager::orchestrator {
namespace {

Duration Longer(Duration pause) { return std::min<Duration>(2 * pause, MissingShards::kMostPause); }

}  // namespace

void MissingShards::FleetGathered() {
  next_.insert(next_.end(), first_.begin(), first_.end());
  first_.clear();
}

bool MissingShards::Park(ShardIndex shard, allocator::SkipReason reason, TimePoint now) {
  const auto [known, fresh] = parked_.try_emplace(shard, Parked{reason, true});
  if (fresh) {
    ++count_[Index(reason)];
    pause_ = room_pause_ = kTick;
    retry_at_ = room_retry_at_ = now;
    return true;
  }
  known->second.waits = true;
  const allocator::SkipReason before = std::exchange(known->second.reason, reason);
  --count_[Index(before)];
  ++count_[Index(reason)];
  return before != reason;
}

void MissingShards::Forget(ShardIndex shard) {
  if (parked_.empty()) return;
  const auto found = parked_.find(shard);
  if (found == parked_.end()) return;
  --count_[Index(found->second.reason)];
  parked_.erase(found);
  room_pause_ = kTick;
  room_retry_at_ = TimePoint::min();
}

const allocator::SkipReason* MissingShards::Find(ShardIndex shard) const {
  const auto found = parked_.find(shard);
  return found == parked_.end() ? nullptr : &found->second.reason;
}

bool MissingShards::Waits(ShardIndex shard) const {
  const auto found = parked_.find(shard);
  return found != parked_.end() && found->second.waits;
}

void MissingShards::Release(ShardIndex shard) {
  if (parked_.empty()) return;
  if (const auto found = parked_.find(shard); found != parked_.end()) found->second.waits = false;
}

void MissingShards::Retry(ShardIndex shard) {
  const auto found = parked_.find(shard);
  if (found == parked_.end() || !std::exchange(found->second.waits, false)) return;
  next_.push_back(shard);
}

void MissingShards::RetryAll() {
  for (auto& [shard, parked] : parked_) {
    if (std::exchange(parked.waits, false)) next_.push_back(shard);
  }
}

void MissingShards::Tick(TimePoint now) {
  const bool any = std::exchange(any_helped_, false);
  if (any) pause_ = room_pause_ = kTick;
  if (any || now >= retry_at_) {
    RetryAll();
    room_helped_ = false;
    retry_at_ = now + pause_;
    room_retry_at_ = now + room_pause_;
    if (!any) pause_ = Longer(pause_);
    return;
  }
  if (!room_helped_ || now < room_retry_at_) return;
  room_helped_ = false;
  if (count(allocator::SkipReason::kNoCapacity) == 0) return;
  room_retry_at_ = now + room_pause_;
  room_pause_ = Longer(room_pause_);
  for (auto& [shard, parked] : parked_) {
    if (parked.reason != allocator::SkipReason::kNoCapacity) continue;
    if (std::exchange(parked.waits, false)) next_.push_back(shard);
  }
}

}  // namespace shardmanager::orchestrator
