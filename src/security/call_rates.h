// How many calls each identity makes: what keeps one from taking a process's time from the others.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "base/time.h"

namespace shardmanager::security {

// A token bucket for each identity: it fills with `per_second`, up to the calls of two seconds.
// Thread-safe.
class CallRates {
 public:
  // `per_second`: 0, no limit.
  explicit CallRates(double per_second) : per_second_(per_second) {}

  // OK: the call is counted. RESOURCE_EXHAUSTED: it has made too many, and says when it may again.
  absl::Status Take(const std::string& who, TimePoint now);

  // Identities that have made calls just now.
  size_t size() const;

 private:
  struct Bucket {
    double calls;  // that it may make now
    TimePoint seen;
  };
  double burst() const { return 2 * per_second_; }
  void ForgetFull(TimePoint now);

  const double per_second_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Bucket> buckets_;
  TimePoint forgot_at_{};
};

}  // namespace shardmanager::security
