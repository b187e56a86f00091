// What each event changes in the tables. What follows from it is decided later, in
// the same pass.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "model/region_preferences.h"
#include "model/text.h"
#include "orchestrator/core/partition.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::util::MessageDifferencer;

// How long a new leader waits for servers to say what they hold before it publishes
// without them.
constexpr Duration kMapPatience = Seconds(2);

}  // namespace

void Partition::On(Recovered& event) {
  state_.ordered = event.ordered;
  replacer_.Adopt(event.ordered.reshapes, event.spec, event.servers);
  if (Planted(Defect::kForgetsRegions)) state_.ordered.preferences.Clear();
  AdoptSpec(event.spec, event.deleting);
  if (Planted(Defect::kMovesWhilePaused)) state_.ordered.pause.reset();
  if (Planted(Defect::kMovesWhatIsPinned)) state_.ordered.pins.clear();
  pausing_.Begin();
  if (!Mirrors(state_)) {
    for (StoredServer& stored : event.servers) RecoverServer(stored);
    scaler_.Recover();
    demand_book_.Recover();
    mass_failures_.Look();
  }
  moves_.RecoverMoves();
  unread_.NoteRights();
  state_.recovered = true;
  maintenances_.Begin();
  if (Mirrors(state_)) return mirror_.Begin();  // nothing is planned or published
  publication_.MarkWhole();
  agenda_.SetTimer(kMapPatience, TimerKind::kMapDeadline);
  agenda_.SetTimer(MissingShards::kTick, TimerKind::kReplan);
  planner_.SetBalanceTimer();
}

void Partition::RecoverServer(StoredServer& stored) {
  const ServerIndex id = state_.tables.InternServer(stored.name);
  for (const StoredReplica& r : stored.assignment) {
    const ShardIndex shard = state_.tables.InternShard(r.shard);
    if (state_.tables.FindReplica(shard, id).valid()) continue;  // one server, one replica
    Replica& replica = state_.tables.replica(state_.tables.AddReplica(shard, id, r.role, r.epoch));
    replica.phase = r.phase;
    replica.member_life = r.member_life;
    replica.settled = true;
    state_.tables.shard(shard).began = state_.tables.shard(shard).wanted > 0;
    agenda_.MarkDirty(shard);
  }
  state_.tables.server(id).record_unread = stored.unread;
  if (stored.unread) state_.unread.servers.push_back(id);
  state_.tables.server(id).registration_version = stored.registration_version;
  if (stored.live) {
    return fleet_.AdoptLife(id, *stored.live);
  }
  fleet_.AdoptLastLife(id, stored);
  if (state_.tables.server(id).replicas.empty()) return;
  if (OrderOf(state_, id)) drains_.UpdateDrain(id);
  fleet_.LoseServer(id, stored.departed);
}

void Partition::On(SpecChanged& event) {
  const bool same_spec =
      MessageDifferencer::Equals(event.spec, state_.spec) && event.deleting == state_.deleting;
  state_.ordered.drains = std::move(event.ordered.drains);
  pausing_.Adopt(event.ordered.pause);
  if (same_spec) {
    AdoptPreferences(std::move(event.ordered.preferences));
  } else {
    state_.ordered.preferences = std::move(event.ordered.preferences);
    replacer_.Adopt(event.ordered.reshapes, event.spec);
    AdoptSpec(event.spec, event.deleting);
  }
  pausing_.Adopt(event.ordered.pins);
  maintenances_.Adopt(std::move(event.ordered.maintenances));
  UpdateServers();
  if (!Mirrors(state_)) mass_failures_.Look();
  if (same_spec) return;
  agenda_.AddNote(NoteKind::kSpecApplied, ServerIndex(), ShardIndex(),
                  event.deleting ? "deleting" : absl::StrCat(state_.layout.size(), " shards"));
}

void Partition::On(ServerDown& event) {
  if (Mirrors(state_)) return;
  fleet_.On(event);
  mass_failures_.LookAfterLoss();
}

void Partition::On(ServerReport& event) {
  if (fleet_.On(event)) skew_book_.Record(event);
}

void Partition::On(OrdersChanged& event) {
  state_.orders = std::move(event.orders);
  UpdateServers();
}

void Partition::On(MapSupplied& event) {
  const bool first = KnowsNoServerYet(state_);
  if (!mirror_.Take(event.map) || event.map.unchanged) return;
  if (auto layout = mirror_.NewLayout(event.map)) {
    AdoptLayout(*std::move(layout));
    pausing_.Begin();  // pins of shards that were not known
  }
  mirror_.Adopt(event.map);
  if (first) maintenances_.Look();
}

void Partition::UpdateServers() {
  for (const ServerIndex id : state_.tables.servers()) {
    if (!IsListed(state_, state_.tables.server(id))) continue;
    drains_.UpdateDrain(id);
    if (!Mirrors(state_)) fleet_.UpdateFailover(id);
  }
}

void Partition::AdoptSpec(const v1::AppSpec& spec, bool deleting) {
  const ReplicationRules rules = RulesOf(spec);
  const bool same_roles = spec.replication().strategy() == state_.spec.replication().strategy();
  if (!same_roles) state_.supply.known = false;  // its roles were those of the other strategy
  const bool other_interval =
      spec.moves().collect_interval_ms() != state_.spec.moves().collect_interval_ms();
  state_.spec = spec;
  state_.replication = rules;
  state_.leaving = LeavingRules(spec);
  state_.moves.budgets.Adopt(spec);
  state_.deleting = deleting;
  mass_failures_.Adopt();
  if (load_book_.AdoptMetrics() || other_interval) fleet_.RestartLooks();
  scaler_.AdoptSpec();
  demand_book_.AdoptSpec();
  state_.regions.allowed.clear();
  for (const std::string& region : spec.placement().regions()) {
    const uint32_t number = fleet_.DomainNumber(region);
    if (state_.regions.allowed.size() <= number) state_.regions.allowed.resize(number + 1);
    state_.regions.allowed[number] = true;
  }
  state_.regions.order.clear();
  for (const std::string& region : spec.failover().region_order()) {
    state_.regions.order.push_back(fleet_.DomainNumber(region));
  }
  moves_.WakeWaiters();  // they may have another rank now
  state_.regions.wishes.clear();
  for (const v1::RegionReplicas& wanted : spec.placement().region_replicas()) {
    state_.regions.wishes.push_back({fleet_.DomainNumber(wanted.region()), wanted.replicas()});
  }
  if (deleting) {
    if (Mirrors(state_)) mirror_.Clear();
    AdoptLayout({});
  } else {
    AdoptLayout(Mirrors(state_) ? std::move(state_.layout) : replacer_.LayoutNow());
  }
  state_.missing.RetryAll();
  state_.missing.ForgetAll();
  publication_.MarkWhole();
  agenda_.LookAtBalance();
}

void Partition::AdoptLayout(std::vector<LayoutShard> layout) {
  for (ShardIndex shard : state_.map_order) {
    state_.tables.shard(shard).wanted = 0;
    state_.tables.shard(shard).map_index = Shard::kNotInMap;
    agenda_.MarkDirty(shard);
  }
  state_.layout = std::move(layout);
  state_.records.most_replica_bytes = 0;
  state_.map_order.clear();
  state_.map_order.reserve(state_.layout.size());
  for (const LayoutShard& entry : state_.layout) {
    const ShardIndex id = state_.tables.InternShard(entry.id.value());
    Shard& shard = state_.tables.shard(id);
    shard.wanted = scaler_.Wanted(id);
    shard.map_index = static_cast<uint32_t>(state_.map_order.size());
    AdoptPreference(id, entry);
    failed_shards_.ForgetPoison(id);
    state_.map_order.push_back(id);
    state_.records.most_replica_bytes =
        std::max(state_.records.most_replica_bytes, ReplicaBytes(entry.id.value()));
    agenda_.MarkDirty(id);
  }
  replacer_.Mark();
}

void Partition::AdoptPreference(ShardIndex id, const LayoutShard& entry) {
  Shard& shard = state_.tables.shard(id);
  const bool for_itself =
      entry.region_ordered || entry.preferred_region != state_.spec.placement().preferred_region();
  demand_book_.Prefer(id, fleet_.RegionNumber(entry.preferred_region), for_itself);
  shard.preference_weight = static_cast<uint8_t>(entry.preference_weight);
}

void Partition::AdoptPreferences(v1::StoredPreferences preferences) {
  if (MessageDifferencer::Equals(preferences, state_.ordered.preferences)) return;
  state_.ordered.preferences = std::move(preferences);
  if (Mirrors(state_) || state_.deleting) return;
  std::vector<LayoutShard> layout = replacer_.LayoutNow();
  size_t changed = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    const bool same_weight = layout[i].preference_weight == state_.layout[i].preference_weight;
    if (same_weight && layout[i].preferred_region == state_.layout[i].preferred_region) continue;
    AdoptPreference(state_.map_order[i], layout[i]);
    agenda_.MarkDirty(state_.map_order[i]);
    ++changed;
  }
  state_.layout = std::move(layout);
  agenda_.BalanceAnew();
  const std::string& who = state_.ordered.preferences.who();
  agenda_.AddNote(NoteKind::kRegionsPreferred, ServerIndex(), ShardIndex(),
                  absl::StrCat(Counted(changed, "shard"), who.empty() ? "" : ", by ", who));
}

void Partition::LookForPlacesAgain() {
  state_.missing.Tick(state_.now);
  mass_failures_.Look();
  moves_.WakeIfIdle();
  agenda_.SetTimer(MissingShards::kTick, TimerKind::kReplan);
}

void Partition::Fire(const Timer& timer) {
  if (Mirrors(state_) && timer.kind != TimerKind::kMaintenance &&
      timer.kind != TimerKind::kMapAge) {
    return;  // its own orchestrator sees to the rest
  }
  switch (timer.kind) {
    case TimerKind::kFailover:
      return fleet_.GiveUp(ServerIndex(timer.id));
    case TimerKind::kServerRetry:
      return commander_.RetryServer(ServerIndex(timer.id));
    case TimerKind::kShardRetry:
      return commander_.RetryShard(ShardIndex(timer.id));
    case TimerKind::kMembersRetry:
      return members_.RetryMembers(ShardIndex(timer.id));
    case TimerKind::kMoveAgain:
      state_.missing.Retry(ShardIndex(timer.id));  // it may go to any server again
      return agenda_.MarkDirty(ShardIndex(timer.id));
    case TimerKind::kScale:
      return scaler_.Look();
    case TimerKind::kDemand:
      return demand_book_.Look();
    case TimerKind::kSkew:
      return skew_book_.Look();
    case TimerKind::kTryElsewhere:
      return failed_shards_.TryElsewhere(ShardIndex(timer.id));
    case TimerKind::kTrial:
      return agenda_.LookForPlaces();
    case TimerKind::kPrimarySettled:
      return switchovers_.EndPause(ShardIndex(timer.id));
    case TimerKind::kLook:
      return fleet_.LookAgain(timer);
    case TimerKind::kBalance:
      agenda_.LookAtBalance();
      return planner_.SetBalanceTimer();
    case TimerKind::kReplan:
      return LookForPlacesAgain();
    case TimerKind::kGather:
      return;  // the pass that follows plans
    case TimerKind::kPublish:
      return publication_.OnTimer();
    case TimerKind::kMaintenance:
      maintenances_.Look();
      return UpdateServers();
    case TimerKind::kSteady:
      return fleet_.BecomeSteady(ServerIndex(timer.id));
    case TimerKind::kOrderOverdue:
      return agenda_.BalanceAnew();
    case TimerKind::kWriteRetry:
      state_.writes.blocked = false;
      return;
    case TimerKind::kRecordRetry:
      state_.missing.MayHelp(Help::kRoom);
      return agenda_.MarkServerDirty(ServerIndex(timer.id));
    case TimerKind::kMapDeadline:
      return publication_.PastDeadline();
    case TimerKind::kMapAge:
      return mirror_.LookAtAge();
  }
}

}  // namespace shardmanager::orchestrator
