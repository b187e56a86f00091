// The threads on which the application's methods run.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "server/lanes.h"

namespace shardmanager::server {

// Runs up to `threads` tasks at a time, the others in the order in which they came. A thread is
// started when a task finds none free. Thread-safe. The destructor waits for the tasks that run
// and drops the rest.
class HandlerPool {
 public:
  explicit HandlerPool(int threads);
  ~HandlerPool();

  // False: it has stopped, and drops the task.
  bool Run(std::function<void()> task);
  // Waits for the tasks that run; later ones are dropped. Idempotent.
  void Stop();
  // The same, but for the tasks that it was given before, and that these give it.
  void Finish();

 private:
  void Loop();
  // False: there was no thread.
  bool Join();

  const size_t most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::function<void()>> tasks_;
  size_t free_ = 0;  // threads that wait for a task
  bool finishing_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// One pool for each lane, each of as many threads.
class HandlerPools {
 public:
  explicit HandlerPools(int threads);

  void Run(Lane lane, std::function<void()> task);
  // As of each pool.
  void Stop();

 private:
  std::array<std::unique_ptr<HandlerPool>, kLanes> pools_;
};

}  // namespace shardmanager::server
