// What an operator is told of a mass failure.
#pragma once

#include <string>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// Of the app; empty: there is none.
std::string MassFailureCondition(const PartitionState& state, TimePoint now);

}  // namespace shardmanager::orchestrator
