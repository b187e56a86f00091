#include "orchestrator/decide/drains.h"

#include <algorithm>

#include "model/drain.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Takes all its replicas, and not only their roles.
bool Empties(const PartitionState& state, const v1::Drain& drain) {
  return !drain.primaries_only() || !state.replication.secondaries;
}

}  // namespace

const v1::Drain* DrainOf(const PartitionState& state, ServerIndex id) {
  const auto covers = [&](const v1::Drain& drain) {
    return Empties(state, drain) &&
           Covers(drain.scope(), state.tables.name(id), state.tables.server(id).fault_domain);
  };
  const auto found = std::find_if(state.drains.begin(), state.drains.end(), covers);
  return found == state.drains.end() ? nullptr : &*found;
}

}  // namespace shardmanager::orchestrator
