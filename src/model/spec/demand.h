// How a shard's replicas follow its requests. The one place that knows the rules written on
// DemandPolicy in app_spec.proto.
#pragma once

#include "base/time.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

struct DemandRules {
  bool on = false;  // the spec has such a policy
  bool recommend = false;
  Duration after{};
};
// REQUIRES: the spec is valid, and has its defaults.
DemandRules DemandOf(const v1::AppSpec& spec);

void CheckDemand(const v1::PlacementPolicy& placement, SpecProblems* problems);

}  // namespace shardmanager
