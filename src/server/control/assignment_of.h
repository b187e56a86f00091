// What a server's record in the store grants it.
#pragma once

#include "server/shards/shard_events.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::server {

// The spec says which of its shards were made of others, by a split or a merge that is not done.
// (It is stored before the records name the new shards, and remembers them until all serve.)
Assigned AssignmentOf(const v1::AssignmentRecord& record, const v1::StoredSpec& spec);

}  // namespace shardmanager::server
