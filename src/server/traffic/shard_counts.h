// What one shard's requests came to since they were last told, counted where they are admitted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "model/traffic/request_times.h"

namespace shardmanager::server {

// Thread-safe: a relaxed addition for each request, on a cache line that its admission writes
// anyway.
class ShardCounts {
 public:
  static constexpr uint64_t kOneInIsTimed = 16;

  struct Told {
    uint64_t requests = 0;
    uint64_t errors = 0;
    RequestTimes times{};
  };

  // A request was admitted. True: measure how long it takes.
  bool Admitted() { return requests_.fetch_add(1, std::memory_order_relaxed) % kOneInIsTimed == 0; }
  void Failed() { errors_.fetch_add(1, std::memory_order_relaxed); }
  void Took(Duration time) { times_[TimeClassOf(time)].fetch_add(1, std::memory_order_relaxed); }

  // Those since the last call. From one thread at a time.
  Told Take() {
    Told told;
    const uint64_t requests = requests_.load(std::memory_order_relaxed);
    told.requests = requests - told_;
    told_ = requests;
    if (told.requests == 0 && !open_) return told;
    open_ = told.requests > 0;  // what was admitted may end after this
    told.errors = errors_.exchange(0, std::memory_order_relaxed);
    for (size_t i = 0; i < kTimeClasses; ++i) {
      told.times[i] = times_[i].exchange(0, std::memory_order_relaxed);
    }
    return told;
  }

 private:
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> errors_{0};
  std::array<std::atomic<uint32_t>, kTimeClasses> times_{};
  uint64_t told_ = 0;
  bool open_ = false;  // the last answer told of requests
};

}  // namespace shardmanager::server
