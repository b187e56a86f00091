// A grant, as a command of the control plane has it.
#pragma once

#include <cstdint>
#include <optional>

#include "shardmanager/types.h"

namespace shardmanager::server {

struct Grant {
  ShardId shard;
  Role role = Role::kPrimary;
  ShardEpoch epoch;
  Peer old_owner = {};                               // as ShardGrant has it
  std::optional<Members> members = std::nullopt;     // as ShardGrant has them
  uint64_t members_version = 0;                      // of two lists, the later one's is greater
  std::optional<ShardOrigin> origin = std::nullopt;  // as ShardGrant has it
};

// Names one call whose results are awaited; 0: nobody waits.
using ReplyId = uint64_t;

}  // namespace shardmanager::server
