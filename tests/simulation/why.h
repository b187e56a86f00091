// What the programs of a simulated cell say of what is wrong there, for the trace.
#pragma once

#include "tests/simulation/watched_cell.h"

namespace shardmanager::simulation {

// Which map each of them has.
void TellMaps(WatchedCell& cell);
// What the leader says of the shards that are not as they should be, or that the violation names.
void AskWhy(WatchedCell& cell);

}  // namespace shardmanager::simulation
