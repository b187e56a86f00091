// Whether a shard has as many replicas as its load needs. The rule is that of Kubernetes'
// horizontal pod autoscaling (kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale):
// the load of all over the target of one, unless the load of one is within a tolerance of the
// target.
#pragma once

#include <cstdint>

#include "orchestrator/state/partition_state.h"

namespace shardmanager::orchestrator {

// No replica is added again so long after there was no place for one.
inline constexpr Duration kNoRoomPause = Seconds(300);

// A shard that was changed, or lost a replica, is whole again within this time, or its number of
// replicas follows its load all the same: by the replicas that it is to have.
inline constexpr Duration kSettlesFor = Seconds(60);

struct ScaleNeed {
  ScaleState state = ScaleState::kUnknown;
  uint8_t needed = 0;  // 0: not known
  float load = -1;     // of one replica, on average; below 0: not known
  float total = -1;    // of all that serve; below 0: not known
};

// All that are wanted serve, and nothing else is there or on its way.
bool IsWhole(const PartitionState& state, ShardIndex id);
// What the shard's load asks for now. REQUIRES: the app has a scaling policy.
ScaleNeed NeedOf(const PartitionState& state, ShardIndex id);
// It was not whole a moment ago: what is known of its load may mislead.
bool IsSettling(const PartitionState& state, ShardIndex id);
// The shard has no place for one of replication.replicas: it needs servers more than others do.
bool LacksTheLeast(const PartitionState& state, ShardIndex id);
// A replica that the shard has for its load only is to leave its server, and no server could take
// it.
bool HoldsUpADrain(const PartitionState& state, ShardIndex id);
// The shard is to have more than replication.replicas, and the last plan found no room for one of
// them. (Servers that are away, or were lost a moment ago, may come back: that is no lack of room.)
bool LacksRoomToScale(const PartitionState& state, ShardIndex id);
// How many the shard is to have next, too few being there: more, at most twice as many.
uint8_t MoreReplicas(const ScalingRules& rules, uint32_t wanted, uint32_t needed);
// How many replicas a shard has to have whatever its load is: its others do not count for what is
// shown as degraded.
uint32_t LeastReplicas(const PartitionState& state, ShardIndex id);

}  // namespace shardmanager::orchestrator
