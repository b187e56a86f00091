// The load of shards in the course of a day: diurnal, drifting, noisy. The same seed gives the same
// day.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace shardmanager {

struct DayOptions {
  uint32_t shards = 0;
  // What all shards carry together at the busiest time of an average day.
  double peak = 0;
  uint64_t seed = 1;
};

class DayOfLoads {
 public:
  explicit DayOfLoads(const DayOptions& options);

  // What the shard carries so many seconds after the day's begin. REQUIRES: within a day.
  double At(uint32_t shard, double second) const;
  // What its server reports then: up to a tenth more or less.
  double Reported(uint32_t shard, double second);

 private:
  static constexpr int kSteps = 24;  // of the drift: one in an hour

  double Average(uint32_t shard, double second) const;
  double Drift(uint32_t shard, double second) const;
  double Busiest() const;

  Random random_;
  std::vector<float> base_;    // on average, by shard
  std::vector<float> peak_h_;  // the hour of its daily peak
  std::vector<float> drift_;   // [shard][step], a factor
};

}  // namespace shardmanager
