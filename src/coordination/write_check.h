// What can be told of a write before it is sent: how much of kMaxWriteBytes it takes
// (for whoever packs many records into few multis), and whether its paths are sound.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"

namespace shardmanager {

// What one op adds on the wire and in ZooKeeper's log beside its path and data
// (headers, lengths, the access list of a create), rounded up.
inline constexpr size_t kWriteOpOverheadBytes = 64;

size_t WriteBytes(const WriteOp& op);
size_t WriteBytes(const std::vector<WriteOp>& ops);

// RESOURCE_EXHAUSTED, with the size, the limit and the largest op's path.
absl::Status CheckWriteSize(const std::vector<WriteOp>& ops);

// INVALID_ARGUMENT unless it is "/" or "/a/b...": no empty parts, no slash behind.
absl::Status CheckPath(const std::string& path);

// What both stores refuse without sending: malformed paths, and too large writes.
WriteResult CheckWrite(const std::vector<WriteOp>& ops);

// The path that an op is about.
const std::string& PathOf(const WriteOp& op);

}  // namespace shardmanager
