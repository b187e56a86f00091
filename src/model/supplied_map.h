// What an application with an orchestrator of its own says of its servers (task_control.proto).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/task_control.pb.h"

namespace shardmanager {

struct SuppliedReplica {
  std::string shard;
  v1::Role role = v1::ROLE_UNSPECIFIED;
  bool serving = false;
};

struct SuppliedServer {
  std::string name;
  Incarnation incarnation;
  bool down = false;
  FaultDomain fault_domain;
  std::string process;
  std::vector<SuppliedReplica> replicas;
};

struct SuppliedMap {
  uint64_t life = 0;  // of the orchestrator
  uint64_t sequence = 0;
  bool unchanged = false;               // as the one before
  std::vector<SuppliedServer> servers;  // all of them
};

// INVALID_ARGUMENT: a problem a line.
absl::StatusOr<SuppliedMap> ParseMap(const v1::SupplyMapRequest& request);

// Says the role of each replica that does not say it, where the strategy has but one.
// INVALID_ARGUMENT: a replica has a role that the strategy does not have, or says none of two.
absl::Status FillRolesIn(v1::ReplicationStrategy strategy, SuppliedMap& map);

}  // namespace shardmanager
