// How close the lease came to its end, and what that did to requests, as Prometheus reads it. By
// hand: the server library links no metrics library, as applications have their own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "base/time.h"

namespace shardmanager::server {

// Thread-safe.
class LeaseMeter {
 public:
  // A renewal came when so much of the lease was left. Zero or less: it had lapsed.
  void Renewed(Duration left);
  // A request waited for the renewal of a lapsed lease; was refused for want of a lease.
  void Held() { ++held_; }
  void Refused() { ++refused_; }

  // Text exposition format. `remaining`: of the lease, now.
  std::string Text(Duration remaining) const;

 private:
  // Upper bounds of the histogram's buckets, in milliseconds; one more has no bound.
  static constexpr std::array<int64_t, 9> kBoundsMs = {0,     100,   250,    500,   1'000,
                                                       2'500, 5'000, 10'000, 30'000};

  std::array<std::atomic<uint64_t>, kBoundsMs.size() + 1> renewals_{};
  std::atomic<int64_t> left_us_{0};  // sum
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace shardmanager::server
