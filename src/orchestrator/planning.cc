// When a plan is asked for, from what, and what is taken over from it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// A periodic look ends after so many steps of the search: many times what it takes to
// repair a whole fleet, and not so many that a small app's plan takes long to polish.
constexpr uint64_t kPeriodicSteps = 10'000;
constexpr uint64_t kPeriodicStepsPerShard = 100;

// A fleet that starts joins server by server, and the first one must not get everything:
// shards that never had a place wait until no server has joined for so long, or since the
// first one for so long.
constexpr Duration kGatherQuiet = Milliseconds(200);
constexpr Duration kGatherMost = Seconds(2);

// Smaller of two caps in which 0 means "none".
uint32_t TighterCap(uint32_t a, uint32_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

allocator::Spread ToSpread(v1::FaultDomainLevel level) {
  switch (level) {
    case v1::RACK:
      return allocator::Spread::kRack;
    case v1::DATACENTER:
      return allocator::Spread::kDatacenter;
    case v1::REGION:
      return allocator::Spread::kRegion;
    default:
      return allocator::Spread::kServer;
  }
}

// REQUIRES: the snapshot lists the server.
std::vector<allocator::ServerInfo>::iterator PositionIn(allocator::Snapshot& snapshot,
                                                        ServerIndex server) {
  return std::lower_bound(
      snapshot.servers.begin(), snapshot.servers.end(), server,
      [](const allocator::ServerInfo& s, ServerIndex id) { return s.server < id; });
}

}  // namespace

// A server joined: others may be about to.
void Partition::Gather() {
  if (now_ >= gather_until_) gather_deadline_ = now_ + kGatherMost;
  gather_until_ = std::min(now_ + kGatherQuiet, gather_deadline_);
  SetTimer(gather_until_ - now_, TimerKind::kGather);
}

void Partition::RetryUnplaceable() { retry_soon_ = true; }

// Missing replicas come first; balance is looked at when nothing is missing.
void Partition::RequestPlan() {
  if (plan_out_ || !recovered_ || deleting_) return;
  std::vector<ShardIndex> wanted = TakeMissing();
  if (wanted.empty()) {
    ConsiderBalance();
    return;
  }
  allocator::Snapshot snapshot = FleetSnapshot(reported_);
  BarFull(snapshot);
  for (ShardIndex id : wanted) AddToSnapshot(id, Purpose::kEmergency, reported_, snapshot);
  SendPlanRequest(std::move(snapshot), allocator::Mode::kEmergency);
  missing_.SetPlanned(std::move(wanted));
}

// Shards that the next plan looks at, ascending.
std::vector<ShardIndex> Partition::TakeMissing() {
  const bool gathered = now_ >= gather_until_;
  // Servers that join one after another are one change, unless they are the first ones.
  const bool first = missing_.count(allocator::SkipReason::kNoServers) > 0;
  if (retry_soon_ && (gathered || first)) {
    retry_soon_ = false;
    missing_.RetryAll();
  }
  if (gathered) missing_.FleetGathered();
  std::vector<ShardIndex> wanted;
  for (ShardIndex id : missing_.TakeNext()) {
    const Shard& shard = tables_.shard(id);
    if (!shard.missing) continue;
    if (WaitsForFleet(shard, now_)) {
      missing_.AwaitFleet(id);
    } else {
      wanted.push_back(id);
    }
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

void Partition::ConsiderBalance() {
  if (!balance_soon_ || batch_out_ || !write_queue_.empty()) return;
  if (!budgets_.Left(Cause::kBalance) && !budgets_.Left(Cause::kDrain)) return;
  balance_soon_ = false;
  ConsiderLoads();
  if (!WorthBalancing()) return;
  allocator::Snapshot snapshot = FleetSnapshot(planned_);
  std::vector<ShardIndex> all = map_order_;
  std::sort(all.begin(), all.end());
  for (ShardIndex id : all) {
    if (!HeldBack(id)) AddToSnapshot(id, Purpose::kBalance, planned_, snapshot);
  }
  SendPlanRequest(std::move(snapshot), allocator::Mode::kPeriodic);
}

// Cheap look before the state is copied for the allocator. Where replicas stand to each
// other, or to a region, only the allocator can tell: it is asked until it finds
// nothing to improve, and again once something changed.
bool Partition::WorthBalancing() const {
  if (at_rest_) return false;
  if (!metric_names_.empty()) return true;
  uint32_t low = UINT32_MAX;
  uint32_t high = 0;
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const Server& server = tables_.server(ServerIndex(i));
    if (server.state != ServerState::kLive || TakesNothing(server)) continue;
    const auto count = static_cast<uint32_t>(server.replicas.size());
    if (!Accepts(ServerIndex(i))) {
      if (count > 0) return true;  // to be emptied
      continue;
    }
    if (IsBarred(ServerIndex(i))) continue;
    low = std::min(low, count);
    high = std::max(high, count);
  }
  if (low == UINT32_MAX) return false;
  const bool preferences = std::any_of(layout_.begin(), layout_.end(), [](const LayoutShard& s) {
    return !s.preferred_region.empty();
  });
  return high >= low + 2 || preferences || spec_.replication().replicas() > 1;
}

// May be given replicas, and keep those that it has.
bool Partition::Accepts(ServerIndex id) const {
  return !tables_.server(id).draining && RegionAllowed(id);
}

bool Partition::RegionAllowed(ServerIndex id) const {
  const uint32_t region = tables_.server(id).region;
  return region_allowed_.empty() || (region < region_allowed_.size() && region_allowed_[region]);
}

uint32_t Partition::ReplicaCapacity(ServerIndex id) const {
  return TighterCap(tables_.server(id).capacity, spec_.placement().max_replicas_per_server());
}

allocator::Snapshot Partition::FleetSnapshot(const LoadTable& loads) const {
  allocator::Snapshot snapshot;
  snapshot.spread = ToSpread(spec_.placement().spread());
  for (const v1::Metric& metric : spec_.metrics()) {
    snapshot.metrics.push_back(
        {.name = metric.name(), .threshold = metric.threshold(), .tolerance = metric.tolerance()});
  }
  for (uint32_t i = 0; i < tables_.server_count(); ++i) {
    const Server& server = tables_.server(ServerIndex(i));
    if (server.state != ServerState::kLive) continue;
    const bool accepts = Accepts(ServerIndex(i));
    const bool sick = quarantine_.IsSick(ServerIndex(i));
    const auto one_more = static_cast<uint32_t>(server.replicas.size() + 1);  // of a trial
    const uint32_t capacity =
        TighterCap(ReplicaCapacity(ServerIndex(i)), RecordCapacity(ServerIndex(i)));
    snapshot.servers.push_back(
        {.server = ServerIndex(i),
         .region = server.region,
         .datacenter = server.datacenter,
         .rack = server.rack,
         .capacity = sick ? TighterCap(capacity, one_more) : capacity,
         .other_replicas = static_cast<uint32_t>(server.replicas.size()),
         .accepts = accepts && !TakesNothing(server) && !IsBarred(ServerIndex(i)),
         .draining = !accepts && !TakesNothing(server),
         .ordered = server.draining,
         .moves = budgets_.under_way(Cause::kBalance, ServerIndex(i)),
         .drain_moves = budgets_.under_way(Cause::kDrain, ServerIndex(i))});
    for (size_t m = 0; m < metric_names_.size(); ++m) {
      snapshot.capacity.push_back(MetricCapacity(ServerIndex(i), m));
      snapshot.other_load.push_back(loads.OfServer(ServerIndex(i), server.replicas.size(), m));
    }
  }
  return snapshot;
}

// A server that is being given as many as it may, for failovers, is not chosen for more: the
// others have room.
void Partition::BarFull(allocator::Snapshot& snapshot) const {
  if (!AnyServerTakesFailovers()) return;  // room is waited for when the plan is used
  for (allocator::ServerInfo& server : snapshot.servers) {
    server.accepts &= budgets_.Left(Cause::kFailover, server.server);
  }
}

// What the snapshot lists is not among the "other" load of its server.
void Partition::AddLoads(ShardIndex id, Purpose purpose, const LoadTable& loads,
                         allocator::Snapshot& snapshot) const {
  const size_t metrics = metric_names_.size();
  std::vector<double> most(metrics, -1);
  tables_.ForEach(id, [&](ReplicaIndex replica, const Replica& r) {
    for (size_t m = 0; m < metrics; ++m) {
      if (loads.Knows(replica, m)) most[m] = std::max(most[m], loads.Of(replica, m));
    }
    if (tables_.server(r.server).state != ServerState::kLive) return;
    const bool listed = purpose != Purpose::kBalance || !MakesRoom(r);
    const auto row = static_cast<size_t>(PositionIn(snapshot, r.server) - snapshot.servers.begin());
    for (size_t m = 0; m < metrics; ++m) {
      const double load = loads.Of(replica, m);
      double& other = snapshot.other_load[row * metrics + m];
      other = std::max(0.0, other - load);
      if (listed) snapshot.load.push_back(static_cast<float>(load));
    }
  });
  for (size_t m = 0; m < metrics; ++m) {
    snapshot.load.push_back(static_cast<float>(most[m] >= 0 ? most[m] : loads.Mean(m)));
  }
}

// It goes as soon as another one serves in its place, or has gone already but for the answer.
bool Partition::MakesRoom(const Replica& replica) const {
  if (replica.phase == Phase::kDropping) return true;
  if (replica.role != Role::kPrimary || replica.phase == Phase::kPreparing) return false;
  return HandoverOf(replica.shard).to.valid();
}

void Partition::AddToSnapshot(ShardIndex id, Purpose purpose, const LoadTable& loads,
                              allocator::Snapshot& snapshot) const {
  const Shard& shard = tables_.shard(id);
  allocator::ShardInfo info{.shard = id,
                            .wanted_replicas = shard.wanted,
                            .new_role = HasSecondaries() ? Role::kSecondary : Role::kPrimary};
  if (shard.region != 0) info.preferred_region = shard.region;
  const bool just_moved = shard.primary_is_new && MovesByHandover();
  bool at_rest = !shard.in_batch && MayMove(id) && !just_moved;
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& r) {
    at_rest &= r.phase == Phase::kGranted && !r.in_write;
  });
  tables_.ForEach(id, [&](ReplicaIndex, const Replica& r) {
    const Server& server = tables_.server(r.server);
    if (server.state != ServerState::kLive) {
      // It counts while it may come back: nothing else takes its place.
      if (!IsGivenUp(server) && r.phase == Phase::kGranted && info.wanted_replicas > 0) {
        --info.wanted_replicas;
      }
      return;
    }
    // Listed below, so not among the "other" replicas of its server.
    --PositionIn(snapshot, r.server)->other_replicas;
    const bool balance = purpose == Purpose::kBalance;
    // What moves counts where it is going. If it counted twice, one too many would follow it.
    if (balance && MakesRoom(r)) return;
    const bool extra = r.phase == Phase::kDropping || (r.phase == Phase::kPreparing && !balance);
    if (extra) ++info.wanted_replicas;  // holds a place, does not count
    const bool movable = at_rest && purpose != Purpose::kEmergency &&
                         budgets_.Left(CauseOfMove(r.server), r.server) && !TakesNothing(server);
    info.replicas.push_back({r.server, r.role, movable});
  });
  for (ServerIndex failed : Avoided(id, purpose != Purpose::kEmergency)) {
    if (tables_.server(failed).state == ServerState::kLive) info.avoided.push_back(failed);
  }
  snapshot.shards.push_back(std::move(info));
  if (!metric_names_.empty()) AddLoads(id, purpose, loads, snapshot);
}

allocator::Snapshot Partition::ExplainSnapshot(ShardIndex shard) const {
  allocator::Snapshot snapshot = FleetSnapshot(reported_);
  AddToSnapshot(shard, Purpose::kExplain, reported_, snapshot);
  return snapshot;
}

void Partition::SendPlanRequest(allocator::Snapshot snapshot, allocator::Mode mode) {
  allocator::Options options{.mode = mode, .seed = options_.seed + plan_};
  const auto left = [&](Cause cause) {
    return allocator::MoveLimits{.total = budgets_.Room(cause),
                                 .per_server = budgets_.limits(cause).per_server};
  };
  options.moves = left(Cause::kBalance);
  options.drain_moves = left(Cause::kDrain);
  if (mode == allocator::Mode::kPeriodic) {
    options.step_budget = kPeriodicSteps + kPeriodicStepsPerShard * snapshot.shards.size();
  }
  plan_out_ = true;
  plan_is_emergency_ = mode == allocator::Mode::kEmergency;
  if (!plan_is_emergency_) at_rest_ = true;  // moves that it finds, or a change, end that
  out_.actions.emplace_back(ComputePlan{++plan_, std::move(snapshot), options});
}

// Every move is looked at again when it is used: the world went on meanwhile.
void Partition::On(PlanReady& event) {
  if (!plan_out_ || event.id != plan_) return;
  plan_out_ = false;
  if (!plan_is_emergency_) {
    course_over_ = false;
    if (event.plan.moves.empty() && budgets_.planned_moves() == 0) {
      EndCourse();
      BalancePrimaries();
    }
    ever_balanced_ = true;
    last_balance_ = now_;
    last_balance_moves_ = event.plan.moves.size();
  }
  // What a periodic plan skips may only lack room among the moves.
  if (plan_is_emergency_) NoteSkipped(event.plan);
  for (ShardIndex id :
       missing_.TakePlanned()) {  // unless they get a place now, they need another plan
    if (tables_.shard(id).missing && !missing_.Waits(id)) missing_.Add(id);
  }
  // What an earlier plan proposed, and is not written yet, does not count any more.
  for (const allocator::Move& move : event.plan.moves) intents_.erase(move.shard);
  for (const allocator::Move& move : event.plan.moves) AcceptMove(move);
}

// One note a plan, and only when there is news.
void Partition::NoteSkipped(const allocator::Plan& plan) {
  const allocator::Skipped* first = nullptr;
  for (const allocator::Skipped& skipped : plan.skipped) {
    if (!tables_.shard(skipped.shard).missing) continue;
    const bool failed = !FailedAt(skipped.shard).empty();
    AllowFailed(skipped.shard);
    if (failed && FailedAt(skipped.shard).empty()) missing_.MayHelp(Help::kAny);
    const bool news = missing_.Park(skipped.shard, skipped.reason, now_);
    if (news && first == nullptr) first = &skipped;
  }
  if (first == nullptr) return;
  std::string reason(allocator::ToString(first->reason));
  if (plan.skipped.size() > 1) {
    absl::StrAppend(&reason, " (and ", plan.skipped.size() - 1, " more shards have no place)");
  }
  AddNote(NoteKind::kShardUnplaceable, ServerIndex(), first->shard, std::move(reason));
}

void Partition::AcceptMove(const allocator::Move& move) {
  intents_[move.shard].push_back({move.from, move.to, move.reason});
  if (move.from.valid()) {
    AddNote(NoteKind::kMoveStarted, move.to, move.shard,
            absl::StrCat("from ", tables_.name(move.from), ": ",
                         std::string(allocator::ToString(move.reason))));
  }
  MarkDirty(move.shard);
}

}  // namespace shardmanager::orchestrator
