#include "orchestrator/core/load/demand_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "model/text.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/demand.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kLeastLook = Milliseconds(500);
constexpr Duration kMostLook = Seconds(5);

RegionRequests& Of(RequestCounts& counts, uint32_t region) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const auto& counted) { return counted.region == region; });
  if (found != counts.end()) return *found;
  counts.push_back({.region = region});
  return counts.back();
}

// The region lives, or its servers are waited for: as long as those may come back, what they hold
// has its place there.
bool CountsForItsRegion(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  if (!Accepts(state, id) || IsGivenUp(server) || server.state == ServerState::kDown) return false;
  return server.state != ServerState::kLive || server.steadiness.IsSteady(state.now);
}

}  // namespace

void DemandBook::AdoptSpec() {
  const DemandRules rules = state_.deleting ? DemandRules() : DemandOf(state_.spec);
  if (!rules.on) state_.demand = {};
  state_.demand.rules = rules;
  if (rules.on && !std::exchange(timer_is_set_, true)) {
    agenda_.SetTimer(LookAgain(), TimerKind::kDemand);
  }
}

void DemandBook::Prefer(ShardIndex id, uint32_t region, bool for_itself) {
  if (state_.demand.rules.on) {
    if (state_.demand.shards.size() <= id.index()) state_.demand.shards.resize(id.index() + 1);
    ShardDemand& shard = At(id);
    shard.asked = region;
    shard.asked_for_itself = for_itself;
    if (!shard.wishes.empty()) shard.wishes = WishesNow(id);
    return ShowPreference(id);
  }
  state_.tables.shard(id).region = region;
}

void DemandBook::Recover() {
  if (!state_.demand.rules.on) return;
  SeeRegions();
  for (const ShardIndex id : state_.map_order) {
    At(id).known_at = state_.now;
    if (!state_.demand.rules.recommend) Wish(id, WishesNow(id));
  }
}

void DemandBook::Record(ShardIndex id, const HeldReplica& held) {
  if (!state_.demand.rules.on || held.requests.empty()) return;
  if (Planted(Defect::kStaysWhereItIsNotAskedFor)) return;
  if (state_.demand.shards.size() <= id.index()) return;  // not of the layout
  ShardDemand& shard = At(id);
  const double left = LeftOfDemand(state_.demand.rules, state_.now - shard.as_of);
  for (RegionRequests& counted : shard.newest) {
    counted.requests = static_cast<float>(counted.requests * left);
  }
  shard.as_of = state_.now;
  for (const RequestsFrom& from : held.requests) {
    for (const DemandRegion& region : state_.demand.regions) {
      if (region.name != from.region) continue;
      Of(shard.newest, region.number).requests += static_cast<float>(from.requests);
    }
  }
}

void DemandBook::Look() {
  timer_is_set_ = state_.demand.rules.on;
  if (!timer_is_set_) return;
  agenda_.SetTimer(LookAgain(), TimerKind::kDemand);
  SeeRegions();
  size_t moved = 0;
  ShardIndex first;
  for (const ShardIndex id : state_.map_order) {
    if (!LookAt(id)) continue;
    if (moved++ == 0) first = id;
  }
  if (moved == 0) return;
  const std::string others =
      moved == 1 ? "" : absl::StrCat("; ", Counted(moved - 1, "more shard"), " likewise");
  agenda_.AddNote(NoteKind::kDemandFollowed, ServerIndex(), first,
                  absl::StrCat(SharesText(state_, first), others));
}

Duration DemandBook::LookAgain() const {
  return std::clamp<Duration>(state_.demand.rules.after / 10, kLeastLook, kMostLook);
}

void DemandBook::SeeRegions() {
  std::vector<DemandRegion>& regions = state_.demand.regions;
  for (DemandRegion& region : regions) region.usable = false;
  for (const ServerIndex id : state_.tables.servers()) {
    const Server& server = state_.tables.server(id);
    if (server.region == 0) continue;
    auto found = std::find_if(regions.begin(), regions.end(),
                              [&](const auto& region) { return region.number == server.region; });
    if (found == regions.end()) {
      regions.push_back({.name = server.location.fault_domain.region, .number = server.region});
      found = std::prev(regions.end());
    }
    found->usable |= CountsForItsRegion(state_, id);
  }
}

bool DemandBook::LookAt(ShardIndex id) {
  const bool settled = Settle(id);
  if (At(id).settled.empty() || state_.demand.rules.recommend) return false;
  const RegionWishes before = At(id).wishes;
  Wish(id, WishesNow(id));
  return settled && At(id).wishes != before;
}

// True: replicas stand by another picture from now on.
bool DemandBook::Settle(ShardIndex id) {
  ShardDemand& shard = At(id);
  const DemandRules& rules = state_.demand.rules;
  const uint32_t replicas = state_.tables.shard(id).wanted;
  if (CountedRequests(state_.demand, shard, state_.now) < RequestsNeeded(replicas)) {
    if (state_.now - shard.known_at >= rules.after) Forget(id);
    return false;
  }
  shard.known_at = state_.now;
  const RegionShares shares = SharesOf(state_.demand, shard.newest);
  const bool better =
      shard.settled.empty() || IsWorthAMove(state_, id, shares, PlaceByDemand(state_, id, shares));
  if (!better) shard.shifting_since = kNever;
  if (better && shard.shifting_since == kNever) shard.shifting_since = state_.now;
  if (!better || state_.now - shard.shifting_since < rules.after) return false;
  shard.settled = shard.newest;
  shard.shifting_since = kNever;
  return true;
}

void DemandBook::Forget(ShardIndex id) {
  At(id).shifting_since = kNever;
  At(id).settled.clear();
  Wish(id, {});
}

// By the requests that replicas stand by; else where they stand.
RegionWishes DemandBook::WishesNow(ShardIndex id) {
  const ShardDemand& shard = At(id);
  if (!shard.settled.empty()) {
    return PlaceByDemand(state_, id, SharesOf(state_.demand, shard.settled));
  }
  RegionWishes stands = AsItStands(state_, id);
  if (!shard.asked_for_itself) return stands;
  RequestCounts counts;
  for (const allocator::RegionWish& there : stands) {
    counts.push_back({there.region, static_cast<float>(there.replicas)});
  }
  return PlaceByDemand(state_, id, SharesOf(state_.demand, counts));
}

void DemandBook::Wish(ShardIndex id, RegionWishes wishes) {
  if (At(id).wishes == wishes) return;
  At(id).wishes = std::move(wishes);
  ShowPreference(id);
  agenda_.MarkDirty(id);
  agenda_.BalanceAnew();
}

void DemandBook::ShowPreference(ShardIndex id) {
  const ShardDemand& shard = At(id);
  state_.tables.shard(id).region =
      IsPlacedByDemand(shard) ? shard.wishes.front().region : shard.asked;
}

}  // namespace shardmanager::orchestrator
