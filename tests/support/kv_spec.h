// Specs of the kvstore example, with keys that show which shard they belong to.
#pragma once

#include <string>

#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::testing {

// The app "kv", primary only, `shards` shards. It looks at the balance often,
// and gives servers that come and go their share within seconds.
v1::AppSpec KvSpec(int shards);

// The same with a primary and two secondaries, for servers with --storage=replicated. One that
// is killed comes back within half a minute, with what is on its disk: it is waited for where
// nobody else is in step.
v1::AppSpec ReplicatedKvSpec(int shards);

// The n-th key of the shard with this index under KvSpec().
std::string KeyOf(int shard, int n = 0);

}  // namespace shardmanager::testing
