#include "orchestrator/describe/shards.h"

namespace shardmanager::orchestrator {
const std::string& ErrorOf(const PartitionState& state, ShardIndex shard, ServerIndex server) {
  static const std::string kNone;
  auto it = state.failures.troubles.find(Key(shard, server));
  return it == state.failures.troubles.end() ? kNone : it->second.error;
}

std::string_view UnplaceableReason(const PartitionState& state, ShardIndex shard) {
  const allocator::SkipReason* reason = state.missing.Find(shard);
  return reason == nullptr ? std::string_view() : allocator::ToString(*reason);
}

}  // namespace shardmanager::orchestrator
