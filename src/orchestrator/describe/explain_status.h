// An explanation as operators see it (admin.proto). Reading only.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "allocator/explain.h"
#include "base/time.h"
#include "orchestrator/state/partition_state.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// What is asked for, found in the partition.
struct ExplainSubject {
  ShardIndex shard;
  ServerIndex server;  // invalid: any
  size_t most_candidates = 0;
};

// NOT_FOUND: no such shard or server. FAILED_PRECONDITION: the server is not live.
// INVALID_ARGUMENT: out of range.
absl::StatusOr<ExplainSubject> FindSubject(const PartitionState& state,
                                           const v1::ExplainShardRequest& request);

// What the shard waits for, a sentence each.
std::vector<std::string> DescribeWaits(const PartitionState& state, ShardIndex shard,
                                       TimePoint now);

// What decides about a candidate, with what the partition knows of it: why it takes no shards; or
// how much is used, of what, and whose limit that is.
std::string WhyThere(const PartitionState& state, const allocator::Candidate& candidate);

// `explanation` is of the partition's ExplainSnapshot(subject.shard), which may have
// changed since.
v1::ExplainShardResponse DescribeExplanation(const PartitionState& state, TimePoint now,
                                             const ExplainSubject& subject,
                                             const allocator::Explanation& explanation);

}  // namespace shardmanager::orchestrator
