#include "orchestrator/describe/spread.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

uint32_t DomainOf(const Server& server, v1::FaultDomainLevel level) {
  switch (level) {
    case v1::RACK:
      return server.rack;
    case v1::DATACENTER:
      return server.datacenter;
    default:
      return server.region;
  }
}

// Most replicas of the shard that serve clients in one fault domain of the level.
uint32_t MostTogether(const PartitionState& state, ShardIndex shard, v1::FaultDomainLevel level) {
  absl::InlinedVector<uint32_t, 16> domains;  // one for each replica
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    if (!ServesClients(state, replica)) return;
    domains.push_back(DomainOf(state.tables.server(replica.server), level));
  });
  uint32_t most = 0;
  for (const uint32_t domain : domains) {
    const auto here = std::count(domains.begin(), domains.end(), domain);
    most = std::max(most, static_cast<uint32_t>(here));
  }
  return most;
}

}  // namespace

std::vector<std::string> SpreadConditions(const PartitionState& state) {
  std::vector<std::string> conditions;
  for (const v1::SpreadLimit& limit : state.spec.placement().spread_limits()) {
    size_t above = 0;
    for (const ShardIndex shard : state.map_order) {
      above += MostTogether(state, shard, limit.level()) > limit.replicas();
    }
    if (above == 0) continue;
    conditions.push_back(
        absl::StrCat(Counted(above, "shard"), above == 1 ? " has" : " have", " more than ",
                     Counted(limit.replicas(), "replica"), " in one ", EnumLabel(limit.level()),
                     " (placement.spread_limits",
                     limit.soft() ? ", soft: broken where no other place is left)" : ")"));
  }
  return conditions;
}

}  // namespace shardmanager::orchestrator
