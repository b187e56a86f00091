// One thread and one clock for all test cells of a process. The clock stands still until it is
// told to go on; what is due on the way then runs in the order of its time.
//
// One for all, as the hot path of admission asks a plain function for the time
// (AdmissionTable::Clock).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "runtime/executor.h"

namespace shardmanager::testing_internal {

// Thread-safe. The thread ends with the last reference, which must not go on that thread.
class VirtualLoop : public std::enable_shared_from_this<VirtualLoop> {
 public:
  using Task = Executor::Task;
  // Moves on what is not a task of an executor, up to Now(); returns when it has more to do.
  using Pump = std::function<TimePoint()>;

  static std::shared_ptr<VirtualLoop> Shared();
  static TimePoint Now();

  ~VirtualLoop();

  std::unique_ptr<Executor> NewExecutor();
  // Runs it on the thread, then the pumps, and waits for that.
  // REQUIRES: not called on the thread.
  void Run(const Task& task);
  // Waits until all that is due by then is done, and what follows from it.
  // REQUIRES: as above.
  void Advance(Duration time);

  // Called after each task. The rest on the thread only: in Run().
  using PumpId = uint64_t;
  PumpId AddPump(Pump pump);
  void RemovePump(PumpId id) { pumps_.erase(id); }

 private:
  class LoopExecutor;
  struct Queued {
    uint64_t owner;  // executor; 0: none
    Task task;
  };

  VirtualLoop();
  void Post(uint64_t owner, TimePoint when, Task task);
  // Destroys what the executor has posted, waits for what runs, and takes nothing more.
  void Forget(uint64_t owner);
  void Loop();
  // When there is something to do.
  TimePoint Next() const;
  void RunPumps();

  mutable std::mutex mutex_;
  std::condition_variable wake_;                            // of the thread
  std::condition_variable changed_;                         // something was done
  std::map<std::pair<TimePoint, uint64_t>, Queued> queue_;  // by time and order
  uint64_t last_order_ = 0;
  uint64_t last_owner_ = 0;
  std::set<uint64_t> owners_;  // that may post
  bool running_ = false;
  uint64_t running_owner_ = 0;
  TimePoint goal_;  // the clock may go on so far
  TimePoint pump_at_ = kNever;
  bool stopping_ = false;

  std::map<PumpId, Pump> pumps_;  // the thread's own
  PumpId last_pump_ = 0;

  std::thread thread_;
};

}  // namespace shardmanager::testing_internal
