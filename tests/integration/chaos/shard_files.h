// The kvstore's files, looked at from outside.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/integration/history.h"

namespace shardmanager::testing {

// The audit tables of all shards in the folder. REQUIRES: nobody writes any more.
absl::StatusOr<std::vector<AuditRow>> ReadAudit(const std::string& data_folder);

// Indices (KvSpec) of the shards whose database `pid` holds locked for writing. A
// process that is stopped inside a transaction keeps that lock: nobody can serve
// the shard until it goes on or dies.
std::set<int> ShardsLockedBy(pid_t pid, const std::string& data_folder);

}  // namespace shardmanager::testing
