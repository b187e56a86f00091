// The state of a server, for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// The shards whose primary is there, or is about to be: a change of primary that is under way would
// end there.
uint32_t PrimariesAt(const PartitionState& state, ServerIndex server);

// How far a live server is emptied: all of it, or the role of primary.
enum class DrainStage : uint8_t {
  kNone,      // it is not to be emptied
  kUnderWay,  // something is left
  kStuck,     // something is left that no other server can take now, or that is pinned there
  kEmpty,
};
DrainStage DrainStageOf(const PartitionState& state, ServerIndex id);
// A lost server that has nothing left to give to others is just down.
bool IsFailedOver(const Server& server);
// A live server that gets nothing new, as it cannot add shards.
// Why the server, which lives, is given no replicas, whichever they are: goes on where its name
// ends. Empty: it may be given some.
std::string WhyClosed(const PartitionState& state, ServerIndex id);
bool IsQuarantined(const PartitionState& state, ServerIndex id);

// Of a live server: "live", "draining" or "drained"; and how far that is.
std::pair<const char*, std::string> DrainState(const PartitionState& state, ServerIndex id,
                                               TimePoint now);
// Why the server's assignment record takes no change, or no more replicas; empty: it does.
std::string RecordState(const PartitionState& state, ServerIndex id, TimePoint now);
// Why the server gets nothing new, as it cannot add shards; empty: it can.
std::string QuarantineState(const PartitionState& state, ServerIndex id, TimePoint now);

}  // namespace shardmanager::orchestrator
