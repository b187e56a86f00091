// Which of the application's methods wait for which. Each kind of call has threads of its own: a
// load may take minutes, and a shard that is handed over or changes its role at that time, while
// its requests are held, must not wait behind it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/handler_call.h"

namespace shardmanager::server {

enum class Lane : uint8_t {
  kAdd,       // may load for minutes
  kTakeOver,  // AddShard after PrepareAddShard, a split or a merge: requests wait for it
  kDrop,
  kPrepareAdd,  // may copy for minutes
  kPrepareDrop,
  kChangeRole,
  kAddMembers,     // may wait for a member that does not answer
  kRemoveMembers,  // writes may wait for it
  kCollectLoad,
};
inline constexpr size_t kLanes = 9;

inline Lane LaneOf(const HandlerCall& call) {
  switch (call.method) {
    case CommandKind::kPrepareAdd:
      return Lane::kPrepareAdd;
    case CommandKind::kAdd:
      return call.prepared || call.grant.origin ? Lane::kTakeOver : Lane::kAdd;
    case CommandKind::kChangeRole:
      return Lane::kChangeRole;
    case CommandKind::kSetMembers:
      return call.adds_member ? Lane::kAddMembers : Lane::kRemoveMembers;
    case CommandKind::kPrepareDrop:
      return Lane::kPrepareDrop;
    case CommandKind::kDrop:
      return Lane::kDrop;
  }
  return Lane::kAdd;
}

}  // namespace shardmanager::server
