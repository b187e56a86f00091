#include "server/handler_pool.h"

#include <algorithm>
#include <utility>

namespace shardmanager::server {

HandlerPool::HandlerPool(int threads) : most_(static_cast<size_t>(std::max(1, threads))) {}

HandlerPool::~HandlerPool() { Stop(); }

bool HandlerPool::Run(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    tasks_.push(std::move(task));
    if (tasks_.size() > free_ && threads_.size() < most_) {
      threads_.emplace_back([this] { Loop(); });
    }
  }
  wake_.notify_one();
  return true;
}

void HandlerPool::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Join();
}

void HandlerPool::Finish() {
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  while (Join()) {  // a task may have given it another one, which started another thread
  }
  Stop();
}

bool HandlerPool::Join() {
  wake_.notify_all();
  std::vector<std::thread> threads;
  {
    std::lock_guard lock(mutex_);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  return !threads.empty();
}

void HandlerPool::Loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++free_;
    wake_.wait(lock, [this] { return stopping_ || finishing_ || !tasks_.empty(); });
    --free_;
    if (stopping_ || tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

HandlerPools::HandlerPools(int threads) {
  for (auto& pool : pools_) pool = std::make_unique<HandlerPool>(threads);
}

void HandlerPools::Run(Lane lane, std::function<void()> task) {
  pools_[static_cast<size_t>(lane)]->Run(std::move(task));
}

void HandlerPools::Stop() {
  for (const auto& pool : pools_) pool->Stop();
}

}  // namespace shardmanager::server
