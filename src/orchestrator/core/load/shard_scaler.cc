#include "orchestrator/core/load/shard_scaler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/defect.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/describe/scaling.h"
#include "orchestrator/describe/shards.h"

namespace shardmanager::orchestrator {

void ShardScaler::AdoptSpec() {
  Scaling& scaling = state_.scaling;
  const std::string before = scaling.rules.metric_name;
  scaling.rules = state_.deleting ? ScalingRules() : ScalingOf(state_.spec);
  if (!scaling.rules.on) {
    scaling = {.rules = scaling.rules};
    return;
  }
  if (scaling.rules.metric_name != before) {  // what was known of loads is of another one
    for (ScaledShard& shard : scaling.shards) shard = {.wanted = shard.wanted};
  }
  if (!std::exchange(timer_is_set_, true)) agenda_.SetTimer(kLookAgain, TimerKind::kScale);
}

uint16_t ShardScaler::Wanted(ShardIndex id) {
  Scaling& scaling = state_.scaling;
  const ScalingRules& rules = scaling.rules;
  if (!rules.on) return static_cast<uint16_t>(rules.least);
  if (scaling.shards.size() <= id.index()) {
    scaling.shards.resize(id.index() + 1, {.last_whole = state_.now, .last_broken = state_.now});
  }
  ScaledShard& shard = At(id);
  shard.wanted = static_cast<uint8_t>(std::clamp<uint32_t>(shard.wanted, rules.least, rules.most));
  return shard.wanted;
}

void ShardScaler::Recover() {
  if (!state_.scaling.rules.on) return;
  for (const ShardIndex id : state_.map_order) {
    uint8_t held = 0;
    state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
      held += replica.phase != Phase::kDropping;
    });
    At(id).wanted = held;
    At(id).last_whole = At(id).last_broken = state_.now;
    state_.tables.shard(id).wanted = Wanted(id);
  }
}

void ShardScaler::Look() {
  timer_is_set_ = state_.scaling.rules.on;
  if (!timer_is_set_) return;
  agenda_.SetTimer(kLookAgain, TimerKind::kScale);
  const bool has_more = HasMoreTakers();
  std::vector<ShardIndex> up;
  std::vector<ShardIndex> down;
  state_.scaling.needier = 0;
  for (const ShardIndex id : state_.map_order) {
    if (has_more) At(id).no_room_until = state_.now;
    state_.scaling.needier += LacksTheLeast(state_, id);
    LookAt(id, up, down);
  }
  if (state_.scaling.rules.recommend) up.clear();
  size_t left = ChangesLeft();
  // Those that carry most first. None while others lack what they have to have: they need it more.
  std::stable_sort(up.begin(), up.end(),
                   [&](ShardIndex a, ShardIndex b) { return At(a).load > At(b).load; });
  if (state_.scaling.needier > 0) up.clear();
  for (const ShardIndex id : up) {
    const ScaledShard& shard = At(id);
    const uint8_t more = MoreReplicas(state_.scaling.rules, shard.wanted, shard.needed);
    const auto step = static_cast<uint8_t>(std::min<size_t>(left, more - shard.wanted));
    if (step == 0) break;
    Change(id, shard.wanted + step);
    left -= step;
  }
  for (const ShardIndex id : down) {
    if (left == 0) break;
    Change(id, At(id).wanted - 1);
    --left;
  }
}

void ShardScaler::LookAt(ShardIndex id, std::vector<ShardIndex>& up,
                         std::vector<ShardIndex>& down) {
  ScaledShard& shard = At(id);
  if (LacksRoomToScale(state_, id) || HoldsUpADrain(state_, id)) GiveUpRoom(id);
  (IsWhole(state_, id) ? shard.last_whole : shard.last_broken) = state_.now;
  if (shard.to_share >= 0) ShareLoad(id);
  const ScaleNeed need = NeedOf(state_, id);
  shard.needed = need.needed;
  shard.load = need.load;
  shard.total = need.total;
  if (std::exchange(shard.state, need.state) != need.state) shard.since = state_.now;
  if (need.state == ScaleState::kTooFew) up.push_back(id);
  const bool for_long = state_.now >= shard.since + state_.scaling.rules.down_after;
  if (Planted(Defect::kNeverScalesDown)) return;
  if (need.state == ScaleState::kTooMany && for_long) down.push_back(id);
}

// A server came, or takes replicas again: what found no room may find some there.
bool ShardScaler::HasMoreTakers() {
  took_.resize(state_.tables.server_count());
  bool more = false;
  for (const ServerIndex server : state_.tables.servers()) {
    const bool takes = TakesReplicas(state_, server);
    more |= takes && !took_[server.index()];
    took_[server.index()] = takes;
  }
  return more;
}

// Reports come in half-way (load_book.h), and new replicas begin with the load that the others had:
// from the load that each is to have now on, two reports tell well enough what it has.
void ShardScaler::ShareLoad(ShardIndex id) {
  ScaledShard& shard = At(id);
  if (shard.last_whole != state_.now) {  // what it carries by then is known better from reports
    if (!IsSettling(state_, id)) shard.to_share = -1;
    return;
  }
  const double each = std::exchange(shard.to_share, -1) / shard.wanted;
  state_.tables.ForEach(id, [&](ReplicaIndex r, const Replica& replica) {
    state_.loads.reported.Set(r, replica.server, state_.scaling.rules.metric, each);
  });
}

// Better one replica fewer than a shard that never comes to rest.
void ShardScaler::GiveUpRoom(ShardIndex id) {
  ScaledShard& shard = At(id);
  uint32_t held = 0;
  state_.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    held += replica.phase == Phase::kGranted &&
            state_.tables.server(replica.server).state == ServerState::kLive;
  });
  const uint32_t keeps = std::clamp<uint32_t>(held, state_.scaling.rules.least, shard.wanted - 1U);
  shard.no_room_until = state_.now + kNoRoomPause;
  agenda_.AddNote(NoteKind::kScalingHasNoRoom, ServerIndex(), id,
                  absl::StrFormat("it is to have %d replicas, and there is room for %d: %s",
                                  shard.wanted, keeps, UnplaceableReason(state_, id)));
  SetWanted(id, static_cast<uint8_t>(keeps));
}

void ShardScaler::SetWanted(ShardIndex id, uint8_t wanted) {
  At(id).wanted = wanted;
  state_.tables.shard(id).wanted = wanted;
  agenda_.MarkDirty(id);
}

void ShardScaler::Change(ShardIndex id, uint8_t wanted) {
  ScaledShard& shard = At(id);
  const int change = wanted - shard.wanted;
  agenda_.AddNote(NoteKind::kShardScaled, ServerIndex(), id,
                  absl::StrFormat("from %d to %d replicas: %s", shard.wanted, wanted,
                                  LoadOfOne(state_, shard)));
  shard.to_share = shard.total;
  shard.state = ScaleState::kSettling;
  shard.since = shard.last_whole = shard.last_broken = state_.now;
  state_.scaling.changes.insert(state_.scaling.changes.end(), std::abs(change), state_.now);
  SetWanted(id, wanted);
}

size_t ShardScaler::ChangesLeft() {
  std::deque<TimePoint>& changes = state_.scaling.changes;
  while (!changes.empty() && changes.front() <= state_.now - Seconds(60)) changes.pop_front();
  const size_t most =
      state_.scaling.rules.changes_per_minute.Of(static_cast<uint32_t>(state_.map_order.size()));
  return most - std::min(most, changes.size());
}

}  // namespace shardmanager::orchestrator
