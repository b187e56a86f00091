#include "server/held/held_queue.h"

#include <condition_variable>
#include <utility>

#include "runtime/clock.h"

namespace shardmanager::server {
namespace {

void Erase(std::deque<std::shared_ptr<HeldRequest>>& queue, const HeldRequest& request) {
  std::erase_if(queue, [&](const auto& other) { return other.get() == &request; });
}

// A thread that waits.
class WaitingThread final : public HeldRequest {
 public:
  // False: its turn has not come by `until`. `lock` is the queue's.
  bool Wait(std::unique_lock<std::mutex>& lock, TimePoint until) {
    return turn_.wait_for(lock, until - MonotonicNow(), [this] { return has_turn_; });
  }

 private:
  void Wake() override {
    has_turn_ = true;
    turn_.notify_one();
  }

  std::condition_variable turn_;
  bool has_turn_ = false;
};

}  // namespace

bool HeldQueue::HasTurn(const Admitted& held) const {
  return held.held_at->changes_ != held.held_since || (held.lapsed_at && lease_decided_());
}

bool HeldQueue::AwaitTurn(const Admitted& held, TimePoint until) {
  const auto thread = std::make_shared<WaitingThread>();
  const Queued queued = Enqueue(held, thread);
  if (queued != Queued::kWaits) return queued == Queued::kHasTurn;
  std::unique_lock lock(mutex_);
  if (thread->Wait(lock, until)) return true;
  TakeOut(*thread);
  return false;
}

HeldQueue::Queued HeldQueue::Enqueue(const Admitted& held,
                                     const std::shared_ptr<HeldRequest>& request) {
  std::lock_guard lock(mutex_);
  if (HasTurn(held)) return Queued::kHasTurn;
  if (held_ == kMostHeld) return Queued::kTooMany;
  ++held_;
  request->line_ = held.held_at;
  held.held_at->requests_.push_back(request);
  if (held.lapsed_at) for_lease_.push_back(request);
  return Queued::kWaits;
}

bool HeldQueue::Leave(HeldRequest& request) {
  std::lock_guard lock(mutex_);
  if (request.line_ == nullptr) return false;
  TakeOut(request);
  return true;
}

void HeldQueue::TakeOut(HeldRequest& request) {
  --held_;
  Erase(for_lease_, request);
  Erase(std::exchange(request.line_, nullptr)->requests_, request);
}

void HeldQueue::Changed(HeldLine& line) {
  ++line.changes_;
  const auto woken = std::exchange(line.requests_, {});
  held_ -= woken.size();
  for (const auto& request : woken) request->line_ = nullptr;
  std::erase_if(for_lease_, [](const auto& other) { return other->line_ == nullptr; });
  for (const auto& request : woken) request->Wake();
}

void HeldQueue::LeaseDecided() {
  const auto woken = std::exchange(for_lease_, {});
  for (const auto& request : woken) TakeOut(*request);
  for (const auto& request : woken) request->Wake();
}

}  // namespace shardmanager::server
