// What the conformance suite needs of a store beyond its port: progress and faults.
// MemoryHarness and ZookeeperHarness provide it.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordination/store.h"

namespace shardmanager {

// Long enough never to expire by accident on a busy machine.
inline constexpr std::chrono::milliseconds kLongTimeout{20'000};
// For sessions that are to expire.
inline constexpr std::chrono::milliseconds kShortTimeout{600};

// Collects what callbacks say, in order. Thread-safe.
class EventLog {
 public:
  explicit EventLog(std::function<void()> on_add) : on_add_(std::move(on_add)) {}

  void Add(std::string event) {
    {
      std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    on_add_();
  }
  std::vector<std::string> events() const {
    std::lock_guard lock(mutex_);
    return events_;
  }
  size_t Count(const std::string& event) const {
    std::lock_guard lock(mutex_);
    return std::count(events_.begin(), events_.end(), event);
  }

 private:
  const std::function<void()> on_add_;
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

class StoreHarness {
 public:
  virtual ~StoreHarness() = default;

  // A session whose link can be broken. `on_state` as in SessionOptions.
  virtual std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) = 0;
  // Lets things happen until `done`. False if that does not come to be.
  virtual bool Await(const std::function<bool()>& done) = 0;
  // To be called after whatever `done` may depend on. From any thread.
  virtual void Notify() = 0;

  // The session's connection breaks and cannot be made again until Reconnect.
  virtual void Disconnect(CoordinationStore& session) = 0;
  virtual void Reconnect(CoordinationStore& session) = 0;
  // The store expires the session; its client is connected again, and so told.
  virtual void Expire(CoordinationStore& session) = 0;
  // Requests reach the store; answers do not come back. Until Reconnect.
  virtual void SwallowAnswers(CoordinationStore& session) = 0;
  // The store is down for all.
  virtual void StopStore() = 0;
  virtual void StartStore() = 0;
};

// What one callback will say. Copies share it.
template <typename T>
class Answer {
 public:
  explicit Answer(StoreHarness& harness) : harness_(&harness) {}

  void Set(T value) {
    {
      std::lock_guard lock(state_->mutex);
      state_->value = std::move(value);
    }
    harness_->Notify();
  }
  auto callback() {
    return [self = *this](T value) mutable { self.Set(std::move(value)); };
  }
  std::optional<T> value() const {
    std::lock_guard lock(state_->mutex);
    return state_->value;
  }
  bool has_value() const { return value().has_value(); }

 private:
  struct State {
    std::mutex mutex;
    std::optional<T> value;
  };
  StoreHarness* harness_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace shardmanager
