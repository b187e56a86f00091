// What follows when servers are lost. The one place that knows the rules written on FailoverPolicy
// in app_spec.proto.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "model/spec/availability.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// What else holds while very many servers are lost at once.
struct MassFailureRules {
  bool on = false;  // the spec has such a policy
  CountOrPercent servers;
  uint32_t max_concurrent = 0;  // replicas in failover
  Duration patience{};

  // It begins when so many of `all` servers are lost.
  uint32_t Least(uint32_t all) const { return std::max(2U, servers.Of(all)); }
};
// REQUIRES: the spec is valid, and has its defaults.
MassFailureRules MassFailureOf(const v1::FailoverPolicy& failover);

void CheckFailover(const v1::AppSpec& spec, SpecProblems* problems);

}  // namespace shardmanager
