#include "orchestrator/describe/failover.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/decide/failover.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// Shards that stay without a primary, as one that is lost alone may have what they acknowledged.
struct Waiting {
  size_t shards = 0;
  TimePoint until{};  // at the latest
};

// (Most shards have a primary, and need no closer look.)
bool LacksItsPrimary(const PartitionState& state, ShardIndex shard) {
  bool given_up = false;
  state.tables.ForEach(shard, [&](ReplicaIndex, const Replica& replica) {
    given_up |= replica.role == Role::kPrimary && IsGivenUp(state.tables.server(replica.server));
  });
  return given_up && !state.tables.shard(shard).in_batch;
}

Waiting WaitingForTheLost(const PartitionState& state) {
  Waiting waiting;
  if (!state.replication.both_roles() || PlacesNothing(state)) return waiting;
  for (const ShardIndex shard : state.map_order) {
    if (!LacksItsPrimary(state, shard)) continue;
    for (const Wait& wait : NextStep(state, shard).waits) {
      if (wait.reason != WaitReason::kNoSecondaryInStep || wait.until <= state.now) continue;
      ++waiting.shards;
      waiting.until = std::max(waiting.until, wait.until);
    }
  }
  return waiting;
}

}  // namespace

std::string MassFailureCondition(const PartitionState& state, TimePoint now) {
  const MassFailure& mass = state.mass_failure;
  if (!mass.on) return "";
  const LostServers count = CountLost(state);
  std::string text = absl::StrFormat(
      "a mass failure (failover.mass_failure) since %.0f s: %d of %d servers are lost; at most %s "
      "in "
      "failover at once",
      InSeconds(now - mass.since), count.lost, count.all,
      Counted(state.moves.budgets.limits(Cause::kFailover).total, "replica"));
  const Waiting waiting = WaitingForTheLost(state);
  if (waiting.shards > 0) {
    absl::StrAppend(
        &text, "; ", Counted(waiting.shards, "shard"), waiting.shards == 1 ? " waits" : " wait",
        absl::StrFormat(" at most %.0f s more for a primary that alone may have what was "
                        "acknowledged: to go on without, apply a smaller patience_ms",
                        InSeconds(waiting.until - now)));
  }
  return text;
}

}  // namespace shardmanager::orchestrator
