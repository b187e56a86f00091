#include "testing/virtual_loop.h"

#include <algorithm>
#include <atomic>
#include <future>

namespace shardmanager::testing_internal {
namespace {

// Microseconds. Never goes back, also from one test to the next.
std::atomic<int64_t>& Clock() {
  static std::atomic<int64_t> now{Seconds(1'000'000).count()};
  return now;
}

}  // namespace

// ---- executors ----

class VirtualLoop::LoopExecutor final : public Executor {
 public:
  LoopExecutor(std::shared_ptr<VirtualLoop> loop, uint64_t id) : loop_(std::move(loop)), id_(id) {}
  ~LoopExecutor() override { LoopExecutor::Stop(); }

  void Post(Task task) override { PostAt(TimePoint{}, std::move(task)); }
  void PostAt(TimePoint when, Task task) override { loop_->Post(id_, when, std::move(task)); }
  void RunThere(const Task& task) override {
    std::promise<void> done;
    Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void Stop() override { loop_->Forget(id_); }
  TimePoint Now() const override { return VirtualLoop::Now(); }

 private:
  const std::shared_ptr<VirtualLoop> loop_;
  const uint64_t id_;
};

// ---- the loop ----

std::shared_ptr<VirtualLoop> VirtualLoop::Shared() {
  static std::mutex mutex;
  static std::weak_ptr<VirtualLoop> shared;
  std::lock_guard lock(mutex);
  std::shared_ptr<VirtualLoop> loop = shared.lock();
  if (loop == nullptr) {
    loop.reset(new VirtualLoop);
    shared = loop;
  }
  return loop;
}

TimePoint VirtualLoop::Now() { return TimePoint(Duration(Clock().load())); }

VirtualLoop::VirtualLoop() : goal_(Now()), thread_([this] { Loop(); }) {}

VirtualLoop::~VirtualLoop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::unique_ptr<Executor> VirtualLoop::NewExecutor() {
  std::lock_guard lock(mutex_);
  owners_.insert(++last_owner_);
  return std::make_unique<LoopExecutor>(shared_from_this(), last_owner_);
}

void VirtualLoop::Post(uint64_t owner, TimePoint when, Task task) {
  {
    std::lock_guard lock(mutex_);
    if (owner != 0 && !owners_.contains(owner)) return;
    queue_.emplace(std::pair(std::max(when, Now()), ++last_order_), Queued{owner, std::move(task)});
  }
  wake_.notify_one();
}

void VirtualLoop::Forget(uint64_t owner) {
  std::vector<Task> forgotten;  // what they hold dies outside the lock
  std::unique_lock lock(mutex_);
  owners_.erase(owner);
  for (auto it = queue_.begin(); it != queue_.end();) {
    if (it->second.owner != owner) {
      ++it;
      continue;
    }
    forgotten.push_back(std::move(it->second.task));
    it = queue_.erase(it);
  }
  changed_.wait(lock, [&] { return running_owner_ != owner; });
  lock.unlock();
}

void VirtualLoop::Run(const Task& task) {
  std::promise<void> done;
  Post(0, TimePoint{}, [&] {
    task();
    RunPumps();
    done.set_value();
  });
  done.get_future().wait();
}

void VirtualLoop::Advance(Duration time) {
  std::unique_lock lock(mutex_);
  goal_ += time;
  const TimePoint goal = goal_;
  wake_.notify_one();
  changed_.wait(lock, [&] { return Now() >= goal && !running_ && Next() > Now(); });
}

VirtualLoop::PumpId VirtualLoop::AddPump(Pump pump) {
  pumps_.emplace(++last_pump_, std::move(pump));
  return last_pump_;
}

void VirtualLoop::RunPumps() {
  TimePoint next = kNever;
  for (const auto& [id, pump] : pumps_) next = std::min(next, pump());
  std::lock_guard lock(mutex_);
  pump_at_ = next;
}

TimePoint VirtualLoop::Next() const {
  return queue_.empty() ? pump_at_ : std::min(queue_.begin()->first.first, pump_at_);
}

void VirtualLoop::Loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const TimePoint next = Next();
    const TimePoint now = std::max(Now(), std::min(next, goal_));
    Clock() = now.time_since_epoch().count();
    if (next > now) {
      changed_.notify_all();
      wake_.wait(lock);
      continue;
    }
    Queued queued{0, [] {}};
    if (!queue_.empty() && queue_.begin()->first.first <= now) {
      queued = std::move(queue_.begin()->second);
      queue_.erase(queue_.begin());
    }
    running_ = true;
    running_owner_ = queued.owner;
    lock.unlock();
    queued.task();
    queued.task = nullptr;  // its captures die outside the lock
    RunPumps();
    lock.lock();
    running_ = false;
    running_owner_ = 0;
    changed_.notify_all();
  }
}

}  // namespace shardmanager::testing_internal
