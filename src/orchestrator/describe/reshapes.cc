#include "orchestrator/describe/reshapes.h"

#include "orchestrator/decide/keys/replacements.h"

namespace shardmanager::orchestrator {

v1::ShardReshape DescribeReshape(const PartitionState& state, ShardIndex shard) {
  v1::ShardReshape described;
  const Replacement* r = ReplacementOf(state, shard);
  if (r == nullptr) return described;
  for (const v1::Shard& from : r->reshape.from()) described.add_from(from.id());
  for (const v1::Shard& to : r->reshape.to()) described.add_to(to.id());
  described.set_waits_for(WhyNotReplaced(state, *r).value_or(""));
  return described;
}

}  // namespace shardmanager::orchestrator
