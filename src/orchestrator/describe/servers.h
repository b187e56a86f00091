// The state of a server, for people.
#pragma once

#include <string>
#include <utility>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// The shards whose primary is there, or is about to be: a change of primary that is under way would
// end there.
uint32_t PrimariesAt(const PartitionState& state, ServerIndex server);

// Of a live server: "live", "draining" or "drained"; and how far that is.
std::pair<const char*, std::string> DrainState(const PartitionState& state, ServerIndex id,
                                               TimePoint now);
// Why the server's assignment record takes no change, or no more replicas; empty: it does.
std::string RecordState(const PartitionState& state, ServerIndex id, TimePoint now);
// Why the server gets nothing new, as it cannot add shards; empty: it can.
std::string QuarantineState(const PartitionState& state, ServerIndex id, TimePoint now);

}  // namespace shardmanager::orchestrator
