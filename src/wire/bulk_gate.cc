#include "wire/bulk_gate.h"

#include <algorithm>

namespace shardmanager::wire {

bool BulkGate::Enter(Key who, TimePoint now, std::function<void()> ready) {
  std::lock_guard lock(mutex_);
  if (const auto found = sending_.find(who); found != sending_.end()) {
    found->second = now;
    return true;
  }
  if (waiting_.empty() && sending_.size() < limits_.streams) {
    sending_.emplace(who, now);
    return true;
  }
  const bool known = std::any_of(waiting_.begin(), waiting_.end(),
                                 [&](const Waiter& waiter) { return waiter.who == who; });
  if (!known) waiting_.push_back({who, std::move(ready)});
  return false;
}

void BulkGate::Leave(Key who) {
  std::lock_guard lock(mutex_);
  const auto found = sending_.find(who);
  if (found == sending_.end()) {
    std::erase_if(waiting_, [&](const Waiter& waiter) { return waiter.who == who; });
    return;
  }
  const TimePoint now = found->second;
  sending_.erase(found);
  Admit(now);
}

void BulkGate::ExpelStalled(TimePoint now) {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  absl::erase_if(sending_, [&](const auto& entry) { return now - entry.second >= limits_.stall; });
  Admit(now);
}

void BulkGate::Admit(TimePoint now) {
  while (!waiting_.empty() && sending_.size() < limits_.streams) {
    sending_.emplace(waiting_.front().who, now);
    post_(std::move(waiting_.front().ready));
    waiting_.pop_front();
  }
}

size_t BulkGate::sending() const {
  std::lock_guard lock(mutex_);
  return sending_.size();
}

size_t BulkGate::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace shardmanager::wire
