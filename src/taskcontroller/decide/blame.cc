#include "taskcontroller/decide/blame.h"

#include <algorithm>

namespace shardmanager::taskcontroller {

bool IsBlockedByBegunOnly(const Away& away, const Entry& entry) {
  return std::all_of(entry.shards.begin(), entry.shards.end(), [&](ShardIndex shard) {
    return away.healthy(shard) + away.coming_back(shard) > away.least(shard);
  });
}

Blame::Blame(const FleetView& view, const Away& away, const Docket& docket,
             const std::vector<bool>& chosen)
    : view_(view), away_(away), docket_(docket), room_(away.Room()), room_left_(room_) {
  for (size_t i = 0; i < docket.entries.size(); ++i) {
    const Entry& entry = docket.entries[i];
    if (!chosen[i] || entry.away) continue;
    chosen_.push_back(entry.server);
    for (const ShardIndex shard : entry.shards) --room_left_[shard.index()];
  }
  std::sort(chosen_.begin(), chosen_.end());
  in_the_way_.resize(docket.entries.size());
  for (size_t i = 0; i < docket.entries.size(); ++i) {
    if (chosen[i]) continue;
    in_the_way_[i] = ShardInTheWay(docket.entries[i]);
    if (in_the_way_[i].valid()) missing_[in_the_way_[i]];
  }
  if (!missing_.empty()) FindWhoIsAway();
}

ShardIndex Blame::ShardInTheWay(const Entry& entry) const {
  ShardIndex taken;
  for (const ShardIndex shard : entry.shards) {
    if (room_[shard.index()] == 0) return shard;
    if (room_left_[shard.index()] == 0) taken = shard;
  }
  return taken;
}

void Blame::FindWhoIsAway() {
  for (const ServerIndex id : IdRange<ServerIndex>(view_.servers.size())) {
    const bool gone = away_.server(id) || std::binary_search(chosen_.begin(), chosen_.end(), id);
    for (const SeenReplica& replica : view_.held(id)) {
      if (replica.healthy && !gone) continue;
      const auto found = missing_.find(replica.shard);
      if (found == missing_.end() || found->second.size() >= Delay::kMostServersNamed) continue;
      found->second.push_back(id);
    }
  }
}

Delay Blame::Of(size_t entry) const {
  const ShardIndex shard = in_the_way_[entry];
  const bool full = chosen_.size() >= away_.left();
  // What was short from the beginning is named first.
  if (shard.valid() && room_[shard.index()] == 0) {
    return {.reason = DelayReason::kShardCap,
            .count = away_.healthy(shard),
            .limit = away_.least(shard),
            .shard = shard,
            .servers = missing_.at(shard)};
  }
  if (full) return OfServers();
  if (shard.valid()) {
    return {.reason = DelayReason::kConflict, .shard = shard, .servers = missing_.at(shard)};
  }
  const Entry& refused = docket_.entries[entry];
  return {.reason = DelayReason::kReserved,
          .shard = refused.shards.empty() ? ShardIndex() : refused.shards.front()};
}

Delay Blame::OfServers() const {
  Delay delay{.reason = DelayReason::kServerCap,
              .count = away_.count() + static_cast<uint32_t>(chosen_.size()),
              .limit = away_.limit()};
  for (const ServerIndex id : IdRange<ServerIndex>(view_.servers.size())) {
    if (delay.servers.size() == Delay::kMostServersNamed) break;
    const bool held = away_.server(id) || std::binary_search(chosen_.begin(), chosen_.end(), id);
    if (held) delay.servers.push_back(id);
  }
  return delay;
}

}  // namespace shardmanager::taskcontroller
