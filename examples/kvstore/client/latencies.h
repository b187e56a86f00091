// How long calls took: a histogram, exact to one percent.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvstore {

// Not thread-safe: each client has its own.
class Latencies {
 public:
  using Microseconds = std::chrono::microseconds;

  void Add(Microseconds took) {
    const auto us = static_cast<double>(std::max<int64_t>(took.count(), 1));
    const auto bucket = static_cast<size_t>(std::log(us) / std::log(kStep));
    if (bucket >= counts_.size()) counts_.resize(bucket + 1);
    ++counts_[bucket];
    ++count_;
    longest_ = std::max(longest_, took);
  }
  void Add(const Latencies& other) {
    counts_.resize(std::max(counts_.size(), other.counts_.size()));
    for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    longest_ = std::max(longest_, other.longest_);
  }

  uint64_t count() const { return count_; }
  Microseconds longest() const { return longest_; }
  // So much or less took that part of the calls. Example: At(0.99). Zero when there are none.
  Microseconds At(double part) const {
    const auto wanted = static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_)));
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= wanted && seen > 0) return std::min(End(i), longest_);
    }
    return longest_;
  }

 private:
  static constexpr double kStep = 1.01;  // from one bucket to the next

  static Microseconds End(size_t bucket) {
    return Microseconds(
        static_cast<int64_t>(std::ceil(std::pow(kStep, static_cast<double>(bucket + 1)))));
  }

  std::vector<uint64_t> counts_;  // bucket i: [kStep^i, kStep^(i+1)) microseconds
  uint64_t count_ = 0;
  Microseconds longest_{0};
};

}  // namespace kvstore
