// Splits and merges of shards, as operators order them and as they are stored: with the app's spec.
#pragma once

#include "absl/status/statusor.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// What the request asks for. Errors: those of MakeReshape; FAILED_PRECONDITION: the app or one of
// the shards is in a state that forbids it.
absl::StatusOr<v1::Reshape> PlanReshape(const PartitionState& state, const v1::StoredSpec& stored,
                                        const v1::ReshapeShardsRequest& request);

// Changes the spec. What is done is forgotten. RESOURCE_EXHAUSTED: too many are under way.
// REQUIRES: PlanReshape gave it for this state and spec.
absl::Status PutReshape(const PartitionState& state, const v1::Reshape& reshape,
                        v1::StoredSpec& stored);

}  // namespace shardmanager::orchestrator
