// All subscribers of a publisher come back at the same time.
#pragma once

#include <cstdint>
#include <functional>

#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager {

struct HerdOptions {
  AppName app;
  v1::MapSnapshot whole;                         // version 1:1
  std::function<v1::MapDelta(uint64_t)> change;  // from 1:n
  uint64_t subscribers;
  size_t streams;  // BulkLimits::streams
};

struct Herd {
  double map_mb = 0;
  double half_ms = 0;    // until half of them have the map
  double all_ms = 0;     // until all of them have it
  double change_ms = 0;  // longest that a subscriber with a map waited for a change meanwhile
  double peak_mb = 0;    // growth of resident memory, of both ends
};

Herd MeasureHerd(const HerdOptions& options);

}  // namespace shardmanager
