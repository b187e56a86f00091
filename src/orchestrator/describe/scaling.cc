#include "orchestrator/describe/scaling.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/decide/load/scaling.h"

namespace shardmanager::orchestrator {
namespace {

std::string Plural(uint32_t replicas) { return Counted(replicas, "replica"); }

std::string WhenFewer(const PartitionState& state, const ScaledShard& shard, TimePoint now) {
  const TimePoint when = shard.since + state.scaling.rules.down_after;
  if (when <= now) return "one is dropped as soon as scaling.max_changes_per_minute lets it";
  return absl::StrFormat("one is dropped in %.0f s, if that lasts", InSeconds(when - now));
}

std::string WhenMore(const PartitionState& state, const ScaledShard& shard) {
  if (const size_t others = state.scaling.needier; others > 0) {
    return absl::StrCat("none is added while ", Counted(others, "shard"), " of the app ",
                        others == 1 ? "has" : "have", " no place for one of replication.replicas");
  }
  return absl::StrCat(Plural(shard.needed),
                      " would be right: more are added, at most twice as many at "
                      "a time, as scaling.max_changes_per_minute lets it");
}

std::string WhatFollows(const PartitionState& state, const ScaledShard& shard, TimePoint now) {
  const ScalingRules& rules = state.scaling.rules;
  switch (shard.state) {
    case ScaleState::kUnknown:
      return "the number of replicas stays";
    case ScaleState::kHeld:
      return "the number of replicas stays: the app is paused, or the shard is held where it is";
    case ScaleState::kSettling:
      return "it is settling: replicas are on their way, or new ones have not reported twice yet";
    case ScaleState::kSteady:
      return "enough";
    case ScaleState::kTooFew:
      return rules.recommend ? absl::StrCat(Plural(shard.needed), " would be right")
                             : WhenMore(state, shard);
    case ScaleState::kAtMost:
      return "too few, and there are as many as scaling.max_replicas allows";
    case ScaleState::kNoRoom:
      return absl::StrFormat("too few, and there is no room for more; tried again in %.0f s",
                             std::max(0.0, InSeconds(shard.no_room_until - now)));
    case ScaleState::kTooMany:
      return absl::StrCat("one fewer is enough: ", WhenFewer(state, shard, now));
  }
  return "";
}

}  // namespace

std::string_view ToString(ScaleState state) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"Unknown", "Held", "Settling", "Steady", "TooFew", "AtMost", "NoRoom", "TooMany"});
  return kNames[static_cast<size_t>(state)];
}

std::string LoadOfOne(const PartitionState& state, const ScaledShard& shard) {
  const std::string& metric = state.loads.metrics[state.scaling.rules.metric];
  if (shard.load < 0) {
    return absl::StrCat("how much ", metric, " a replica carries is not known");
  }
  return absl::StrFormat("each carries %.4g %s of %.4g", shard.load, metric,
                         state.scaling.rules.target);
}

v1::ShardScaling DescribeScaling(const PartitionState& state, ShardIndex id, TimePoint now) {
  const ScalingRules& rules = state.scaling.rules;
  const ScaledShard& shard = state.scaling.shards[id.index()];
  v1::ShardScaling out;
  out.set_replicas_wanted(state.tables.shard(id).wanted);
  out.set_replicas_needed(shard.needed);
  out.set_least(rules.least);
  out.set_most(rules.most);
  out.set_metric(state.loads.metrics[rules.metric]);
  out.set_load_known(shard.load >= 0);
  out.set_load(std::max(0.0F, shard.load));
  out.set_target(rules.target);
  out.set_recommend_only(rules.recommend);
  out.set_state(std::string(ToString(shard.state)));
  out.set_message(absl::StrCat(LoadOfOne(state, shard), ": ", WhatFollows(state, shard, now)));
  return out;
}

std::vector<std::string> ScalingConditions(const PartitionState& state) {
  size_t at_most = 0;
  size_t no_room = 0;
  if (!state.scaling.rules.on) return {};
  for (const ShardIndex id : state.map_order) {
    const ScaleState found = state.scaling.shards[id.index()].state;
    at_most += found == ScaleState::kAtMost;
    no_room += found == ScaleState::kNoRoom;
  }
  const auto carry = [](size_t shards) { return shards == 1 ? " carries" : " carry"; };
  std::vector<std::string> conditions;
  if (at_most > 0) {
    conditions.push_back(absl::StrCat(Counted(at_most, "shard"), carry(at_most),
                                      " more than scaling.target with scaling.max_replicas"));
  }
  if (no_room > 0) {
    conditions.push_back(absl::StrCat(Counted(no_room, "shard"), carry(no_room),
                                      " more than scaling.target, and there is no room for more "
                                      "replicas"));
  }
  return conditions;
}

}  // namespace shardmanager::orchestrator
