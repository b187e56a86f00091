// How much of kMaxWriteBytes a write takes. For whoever packs many records into
// few multis.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"

namespace shardmanager {

// What one op adds on the wire and in ZooKeeper's log beside its path and data
// (headers, lengths, the access list of a create), rounded up.
inline constexpr size_t kWriteOpOverheadBytes = 64;

size_t WriteBytes(const WriteOp& op);
size_t WriteBytes(const std::vector<WriteOp>& ops);

// RESOURCE_EXHAUSTED with the size, the limit and the largest op's path.
absl::Status CheckWriteSize(const std::vector<WriteOp>& ops);

// The path that an op is about.
const std::string& PathOf(const WriteOp& op);

}  // namespace shardmanager
