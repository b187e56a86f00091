#include "router/calls/async_calls.h"

#include <utility>
#include <vector>

#include "router/calls/async_call.h"

namespace shardmanager::router_internal {

void AsyncCalls::Start() {
  if (threads_.load(std::memory_order_acquire) != nullptr) return;
  std::lock_guard lock(mutex_);
  if (owned_threads_ != nullptr) return;
  owned_threads_ = std::make_unique<Threads>();
  threads_.store(owned_threads_.get(), std::memory_order_release);
}

void AsyncCalls::Begin(std::shared_ptr<AsyncCall> call) {
  Start();
  std::unique_lock lock(mutex_);
  const bool stopping = stopping_;
  calls_.emplace(call.get(), call);
  lock.unlock();
  if (stopping) call->Cancel();
  call->Begin();
}

void AsyncCalls::End(AsyncCall* call) {
  std::shared_ptr<AsyncCall> ended;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  ended = std::move(found->second);
  calls_.erase(found);
  if (calls_.empty()) none_.notify_all();
}

void AsyncCalls::StopAll() {
  std::vector<std::shared_ptr<AsyncCall>> calls;
  std::unique_lock lock(mutex_);
  stopping_ = true;
  for (const auto& [key, call] : calls_) calls.push_back(call);
  lock.unlock();
  for (const auto& call : calls) call->Cancel();
  calls.clear();
  lock.lock();
  none_.wait(lock, [this] { return calls_.empty(); });
  lock.unlock();
  if (owned_threads_ != nullptr) owned_threads_->timers.Stop();
}

void AsyncCalls::Dispose(std::unique_ptr<wire::ServerChannel> channel) {
  Threads* threads = threads_.load(std::memory_order_acquire);
  if (threads == nullptr) return;
  threads->timers.Post([held = std::shared_ptr<wire::ServerChannel>(std::move(channel))] {});
}

}  // namespace shardmanager::router_internal
