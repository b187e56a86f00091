// Servers that their clients cannot use, for people.
#pragma once

#include <string>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

inline constexpr char kTooManyShunned[] =
    "clients cannot use more servers than may be emptied for that reason (a tenth of those that "
    "live): none is; it may be the clients' network";

// "4 clients cannot use it (did not answer), 1 can".
std::string ShunText(const ClientTrouble::Case& found);
// Why the server is emptied, and until when; empty: it is not shunned.
std::string ShunState(const PartitionState& state, ServerIndex id, TimePoint now);

}  // namespace shardmanager::orchestrator
