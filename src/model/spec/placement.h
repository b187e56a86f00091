// Where replicas may stand. The one place that knows the rules written on PlacementPolicy in
// app_spec.proto.
#pragma once

#include <cstdint>

#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

inline constexpr uint32_t kMostReplicas = 15;  // of one shard

// Most replicas of one shard that may stand in one region.
uint32_t MostInOneRegion(const v1::PlacementPolicy& placement);
// Most replicas of one shard for which there can be a place, by the regions in which the app may
// run.
uint32_t MostInAllRegions(const v1::PlacementPolicy& placement);

void CheckPlacement(const v1::AppSpec& spec, SpecProblems* problems);

}  // namespace shardmanager
