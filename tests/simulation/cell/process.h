// One life of one simulated process: a clock that is a little wrong, and tasks that
// wait while it is paused and vanish when it is killed.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/random.h"
#include "base/time.h"
#include "runtime/executor.h"
#include "tests/simulation/cell/schedule.h"

namespace shardmanager::simulation {

class Process : public std::enable_shared_from_this<Process> {
 public:
  // `drift_ppm`: how much faster than true time its clock runs.
  Process(Schedule& schedule, std::string host, int64_t drift_ppm, Duration offset)
      : schedule_(schedule), host_(std::move(host)), drift_ppm_(drift_ppm), offset_(offset) {}

  const std::string& host() const { return host_; }
  Schedule& schedule() { return schedule_; }
  bool alive() const { return alive_; }
  bool paused() const { return paused_; }
  bool running() const { return alive_ && !paused_; }

  TimePoint LocalNow() const { return ToLocal(schedule_.now()); }
  TimePoint ToLocal(TimePoint true_time) const;
  TimePoint ToTrue(TimePoint local) const;
  // The time of day as this machine has it, up to a quarter of a second off.
  int64_t WallMs() const { return schedule_.WallMs() + offset_ / Milliseconds(1) % 500 - 250; }

  // Runs the task in this process: now, or when it goes on, or never.
  void Run(const std::function<void()>& task);
  // The same, a while later.
  void RunAfter(Duration delay, std::function<void()> task);

  void Pause() { paused_ = true; }
  // What waited runs, in order, from now on.
  void Resume();
  void Kill();

  // Of the process whose task runs now: the clock of code that asks for one.
  static TimePoint CurrentNow();
  // Makes a process the current one, for looks from outside.
  class Within {
   public:
    explicit Within(const Process& process) : before_(current_) { current_ = &process; }
    ~Within() { current_ = before_; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    const Process* before_;
  };

 private:
  static const Process* current_;

  Schedule& schedule_;
  const std::string host_;
  const int64_t drift_ppm_;
  const Duration offset_;
  bool alive_ = true;
  bool paused_ = false;
  std::deque<std::function<void()>> waiting_;
};

// A thread of a process.
class SimExecutor final : public Executor {
 public:
  // Each task takes up to `slowness` until it runs.
  SimExecutor(std::shared_ptr<Process> process, Random& random, Duration slowness)
      : process_(std::move(process)), random_(random), slowness_(slowness) {}
  ~SimExecutor() override { SimExecutor::Stop(); }

  void Post(Task task) override;
  void PostAt(TimePoint when, Task task) override;
  // At the instant at which what was posted last has run.
  void Then(Task task);
  // Runs what was posted before, and the task, at once.
  void RunThere(const Task& task) override;
  void Stop() override;
  TimePoint Now() const override { return process_->LocalNow(); }

 private:
  void Arm();
  void RunFirst();

  const std::shared_ptr<Process> process_;
  Random& random_;
  const Duration slowness_;
  std::deque<Task> ready_;
  bool armed_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace shardmanager::simulation
