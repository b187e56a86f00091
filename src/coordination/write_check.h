// What can be told of a write before it is sent: how much of kMaxWriteBytes it takes
// (for whoever packs many records into few multis), and whether its paths are sound.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"

namespace shardmanager {

// What one op adds on the wire and in ZooKeeper's log beside its path, data and access list
// (headers, lengths, the list that anyone may do everything), rounded up.
inline constexpr size_t kWriteOpOverheadBytes = 64;

size_t WriteBytes(const WriteOp& op);
size_t WriteBytes(const std::vector<WriteOp>& ops);

// RESOURCE_EXHAUSTED, with the size, the limit and the largest op's path.
absl::Status CheckWriteSize(const std::vector<WriteOp>& ops);

// INVALID_ARGUMENT unless it is "/" or "/a/b...": no empty parts, no slash behind.
absl::Status CheckPath(const std::string& path);

// What both stores do before they send: gives each create its access list, by `access` (null: open
// to anyone), and refuses malformed paths and too large writes.
WriteResult PrepareWrite(std::vector<WriteOp>& ops, const StoreAccess* access);

// The session's name in a refusal. `access`: null, it has none.
std::string PartyName(const StoreAccess* access);
// "get /c/config: not allowed to server kv-1 of app kv, cell c".
absl::Status NotAllowed(std::string_view what, std::string_view party);
// What both stores answer to an access list that would shut everybody out.
absl::Status NoEmptyAccess(std::string_view path);

// The path that an op is about.
const std::string& PathOf(const WriteOp& op);

}  // namespace shardmanager
