#include "tests/simulation/cell/process.h"

#include <utility>

#include "base/check.h"

namespace shardmanager::simulation {

namespace {
constexpr int64_t kMillion = 1'000'000;
}  // namespace

const Process* Process::current_ = nullptr;

TimePoint Process::ToLocal(TimePoint true_time) const {
  const int64_t t = true_time.time_since_epoch().count();
  return TimePoint(Duration(t + t / kMillion * drift_ppm_ + t % kMillion * drift_ppm_ / kMillion) +
                   offset_);
}

// Rounded up, so that a timer never fires before its local time.
TimePoint Process::ToTrue(TimePoint local) const {
  if (local == kNever) return kNever;
  const auto t = static_cast<__int128>((local - offset_).time_since_epoch().count());
  auto true_time =
      TimePoint(Duration(static_cast<int64_t>(t * kMillion / (kMillion + drift_ppm_))));
  while (ToLocal(true_time) < local) true_time += Duration(1);
  return true_time;
}

void Process::Run(const std::function<void()>& task) {
  if (!alive_) return;
  if (paused_ || !waiting_.empty()) {
    waiting_.push_back(task);
    return;
  }
  const Within within(*this);
  task();
}

void Process::RunAfter(Duration delay, std::function<void()> task) {
  schedule_.After(delay, [self = shared_from_this(), task = std::move(task)] { self->Run(task); });
}

void Process::Resume() {
  paused_ = false;
  while (alive_ && !paused_ && !waiting_.empty()) {
    const std::function<void()> task = std::move(waiting_.front());
    waiting_.pop_front();
    const Within within(*this);
    task();
  }
}

void Process::Kill() {
  alive_ = false;
  waiting_.clear();
}

TimePoint Process::CurrentNow() {
  SM_CHECK(current_ != nullptr, "a clock is read outside of every process");
  return current_->LocalNow();
}

void SimExecutor::Post(Task task) {
  ready_.push_back(std::move(task));
  Arm();
}

void SimExecutor::PostAt(TimePoint when, Task task) {
  process_->schedule().At(process_->ToTrue(when), [this, alive = std::weak_ptr<int>(alive_),
                                                   task = std::move(task)]() mutable {
    if (!alive.expired()) Post(std::move(task));
  });
}

void SimExecutor::Then(Task task) {
  if (ready_.empty()) return task();
  ready_.back() = [last = std::move(ready_.back()), task = std::move(task)]() mutable {
    last();
    task();
  };
}

void SimExecutor::Arm() {
  if (std::exchange(armed_, true)) return;
  const Duration delay(static_cast<int64_t>(random_.Below(slowness_.count() + 1)));
  process_->RunAfter(delay, [this, alive = std::weak_ptr<int>(alive_)] {
    if (!alive.expired()) RunFirst();
  });
}

void SimExecutor::RunFirst() {
  armed_ = false;
  if (ready_.empty()) return;
  const Task task = std::move(ready_.front());
  ready_.pop_front();
  if (!ready_.empty()) Arm();
  task();
}

void SimExecutor::RunThere(const Task& task) {
  const Process::Within within(*process_);
  while (!ready_.empty()) {
    const Task first = std::move(ready_.front());
    ready_.pop_front();
    first();
  }
  task();
}

void SimExecutor::Stop() {
  alive_ = std::make_shared<int>();
  armed_ = true;  // and so for ever: later tasks wait in vain
  ready_.clear();
}

}  // namespace shardmanager::simulation
