// The pins of an app's shards, as operators order them and as they are stored: with its spec.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/stored.pb.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::orchestrator {

// The one of that shard, or null.
const v1::Pin* FindPin(const std::string& shard, const v1::StoredSpec& stored);
// In place of an earlier one of that shard, whose time it keeps. Pins of shards that the app does
// not have any more are forgotten. NOT_FOUND: no such shard. RESOURCE_EXHAUSTED: kMostPins are
// there.
absl::Status PutPin(const PartitionState& state, const v1::Pin& pin, v1::StoredSpec& stored);
// FAILED_PRECONDITION: it is not pinned.
absl::Status TakeOutPin(const std::string& shard, v1::StoredSpec& stored);

}  // namespace shardmanager::orchestrator
