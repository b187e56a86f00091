// Where operators want single shards, as it is ordered and stored: with the app's spec.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {

// What the request asks for is in `stored`, and `response` says what that changes.
// INVALID_ARGUMENT: an entry is wrong, or there is none. FAILED_PRECONDITION: the app decides
// itself where its shards are.
absl::Status Prefer(const PartitionState& state, const v1::PreferRegionsRequest& request,
                    int64_t now_ms, v1::StoredSpec& stored, v1::PreferRegionsResponse& response);

}  // namespace shardmanager::orchestrator
