// Of an app with an orchestrator of its own: is what is known of it good enough to decide by?
#pragma once

#include <string>
#include <utility>

#include "model/supplied_map.h"
#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// A map that is older says nothing of what is where now.
inline constexpr Duration kMapHoldsFor = Seconds(30);
// The application is asked to supply one so often.
inline constexpr Duration kSupplyAgain = Seconds(10);
// While something has to leave a server: what has left is known sooner then.
inline constexpr Duration kSupplySoon = Seconds(1);

// The app decides itself where replicas are; the tables mirror what it says.
inline bool Mirrors(const PartitionState& state) {
  return state.spec.orchestrator() == v1::APPLICATION;
}

// It came after the newest one that is known.
inline bool IsNewer(const SuppliedMap& map, const Supply& known) {
  return std::pair(map.life, map.sequence) > std::pair(known.life, known.sequence);
}

// False: it was, once, in a map; or an operator said that it does not come back.
inline bool IsListed(const PartitionState& state, const Server& server) {
  return Mirrors(state) ? server.state != ServerState::kDown
                        : !server.planned.forgotten || !server.replicas.empty();
}

// There is no map, or it is too old.
inline bool IsMapMissing(const PartitionState& state) {
  return Mirrors(state) && (!state.supply.known || state.supply.silent);
}
// No map has come since this process leads: which servers the app has is not known.
inline bool KnowsNoServerYet(const PartitionState& state) {
  return Mirrors(state) && !state.supply.known;
}
// REQUIRES: it is missing. For people.
inline std::string WhyMapIsMissing(const PartitionState& state) {
  return state.supply.known
             ? "the app's own orchestrator has not supplied its shard map for 30 s or more"
             : "the app's own orchestrator has not supplied its shard map yet";
}

}  // namespace shardmanager::orchestrator
