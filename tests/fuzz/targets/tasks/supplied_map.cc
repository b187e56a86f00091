// Maps that applications supply, from anybody who reaches the port: taken whole, or refused with
// what is wrong.
#include "model/supplied_map.h"

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(supplied_map) {
  v1::SupplyMapRequest request;
  if (!request.ParseFromString(std::string(input.Rest()))) return;
  absl::StatusOr<SuppliedMap> map = ParseMap(request);
  if (!map.ok()) {
    SM_CHECK(absl::IsInvalidArgument(map.status()), "a wrong map is said to be wrong");
    SM_CHECK(!map.status().message().empty(), "and what is wrong with it");
    return;
  }
  SM_CHECK(map->servers.size() == static_cast<size_t>(request.servers_size()), "it is taken whole");
  for (const v1::ReplicationStrategy strategy :
       {v1::PRIMARY_ONLY, v1::SECONDARY_ONLY, v1::PRIMARY_SECONDARY}) {
    SuppliedMap filled = *map;
    if (!FillRolesIn(strategy, filled).ok()) continue;
    for (const SuppliedServer& server : filled.servers) {
      for (const SuppliedReplica& replica : server.replicas) {
        SM_CHECK(replica.role == v1::PRIMARY || replica.role == v1::SECONDARY, "each has a role");
      }
    }
  }
}

}  // namespace shardmanager
