// Shards that take the place of others: a split or a merge (v1::Reshape).
#pragma once

#include <vector>

#include "base/dense_id.h"
#include "orchestrator/state/tables.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::orchestrator {

struct Replacement {
  v1::Reshape reshape;
  std::vector<ShardIndex> from;  // in key order, as in `reshape`
  std::vector<ShardIndex> to;
  // Nobody holds any of `from`: `to` are in the map. Until then, `from` are.
  bool over = false;
};

}  // namespace shardmanager::orchestrator
