// The threads on which the application's AddShard and DropShard run.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

namespace shardmanager::server {

// Thread-safe. The destructor waits for the tasks that run and drops the rest.
class HandlerPool {
 public:
  explicit HandlerPool(int threads);
  ~HandlerPool();

  void Run(std::function<void()> task);
  // Waits for the tasks that run; later ones are dropped. Idempotent.
  void Stop();

 private:
  void Loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::queue<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace shardmanager::server
