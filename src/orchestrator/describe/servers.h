// The state of a server, for people.
#pragma once

#include <string>
#include <utility>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

std::pair<const char*, std::string> DrainState(const PartitionState& state, ServerIndex id,
                                               TimePoint now);
std::string RecordState(const PartitionState& state, ServerIndex id, TimePoint now);
std::string QuarantineState(const PartitionState& state, ServerIndex id, TimePoint now);

}  // namespace shardmanager::orchestrator
