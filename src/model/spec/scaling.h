// How the number of a shard's replicas follows its load. The one place that knows the rules written
// on ScalingPolicy in app_spec.proto.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "model/spec/availability.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

struct ScalingRules {
  bool on = false;  // the spec has such a policy
  bool recommend = false;
  size_t metric = 0;  // its place among the spec's
  std::string metric_name;
  double target = 0;   // of one replica
  double upper = 0;    // above this load of a replica there are too few
  double lower = 0;    // if each would carry at most this with one fewer, there are too many
  uint32_t least = 1;  // replicas
  uint32_t most = 1;
  Duration down_after{};
  CountOrPercent changes_per_minute;  // of the number of shards
};
// REQUIRES: the spec is valid, and has its defaults.
ScalingRules ScalingOf(const v1::AppSpec& spec);

void CheckScaling(const v1::AppSpec& spec, SpecProblems* problems);

}  // namespace shardmanager
