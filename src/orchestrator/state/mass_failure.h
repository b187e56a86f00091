// Very many servers are lost at once: MassFailurePolicy in app_spec.proto.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "model/spec/failover.h"

namespace shardmanager::orchestrator {

struct MassFailure {
  MassFailureRules rules;
  bool on = false;
  TimePoint since{};  // meaningful while `on`
};

}  // namespace shardmanager::orchestrator
