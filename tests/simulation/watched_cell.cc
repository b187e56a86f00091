#include "tests/simulation/watched_cell.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager::simulation {
namespace {

constexpr Duration kSweep = Milliseconds(200);

// ---- what a seed chooses before anything happens ----

int Draw(Random& random, int bound) {
  return static_cast<int>(random.Below(static_cast<uint64_t>(bound)));
}

// How many servers may be away, and what leaves them before.
void DrawAvailability(Random& random, v1::AppSpec& spec) {
  // (With 100%, all servers may be prepared at once, and what is to leave has nowhere to go.)
  static constexpr const char* kMost[] = {"1", "2", "50%"};
  auto& availability = *spec.mutable_availability();
  availability.set_max_unavailable_servers(kMost[Draw(random, 3)]);
  if (spec.replication().replicas() == 3) {
    availability.set_max_unavailable_replicas(1 + static_cast<uint32_t>(Draw(random, 2)));
  }
  availability.set_approval_ms(5'000);
  availability.set_most_wait_ms(60'000);
  spec.mutable_drain()->set_prepare_ms(15'000);
  if (Draw(random, 3) != 0) return;
  v1::DrainRule& rule = *spec.mutable_drain()->add_rules();
  rule.add_kinds(v1::RESTART);
  rule.set_secondaries(Draw(random, 2) == 0);
  if (rule.secondaries()) rule.set_up_to_ms(static_cast<uint32_t>(Draw(random, 2) * 10'000));
}

ClusterOptions DrawCluster(const SimulationOptions& options, Random& random) {
  ClusterOptions cluster;
  cluster.servers = options.servers > 0 ? options.servers : 3 + Draw(random, 6);
  cluster.regions = 1 + Draw(random, 3);
  cluster.controls = 1 + Draw(random, 3);
  cluster.clients = 2;
  cluster.cell.set_cell(kCell);
  cluster.cell.set_zookeeper_tick_ms(100 + 100 * static_cast<uint32_t>(Draw(random, 4)));
  cluster.cell.set_session_timeout_ms(2'000 + 1'000 * static_cast<uint32_t>(Draw(random, 5)));
  cluster.cell.set_buckets(1 + static_cast<uint32_t>(Draw(random, 4)));
  cluster.secure = options.seed % 2 == 0;
  return cluster;
}

// Drawn by itself: other worlds go on as they did.
bool IsDurable(const SimulationOptions& options, const v1::Replication& replication) {
  return options.faults && replication.strategy() == v1::PRIMARY_SECONDARY &&
         !replication.quorum() && Random(~options.seed).Below(2) == 0;
}

// What is restored when, and in which region replicas should be. Drawn by itself, too.
void DrawGeography(const SimulationOptions& options, int regions, v1::AppSpec& spec) {
  Random random(options.seed ^ 0x6e06'4af7);
  if (random.Below(2) == 0) {
    v1::FailoverPolicy& failover = *spec.mutable_failover();
    failover.set_max_concurrent(1 + static_cast<uint32_t>(random.Below(6)));
    failover.add_region_order(absl::StrCat("r", random.Below(static_cast<uint64_t>(regions))));
    v1::MassFailurePolicy& policy = *failover.mutable_mass_failure();
    policy.set_servers(random.Below(2) == 0 ? "2" : "40%");
    policy.set_max_concurrent(1 + static_cast<uint32_t>(random.Below(3)));
    policy.set_patience_ms(1'000 + static_cast<uint32_t>(random.Below(20'000)));
  }
  if (regions > 1 && random.Below(2) == 0) {
    v1::RegionReplicas& wish = *spec.mutable_placement()->add_region_replicas();
    wish.set_region(absl::StrCat("r", random.Below(static_cast<uint64_t>(regions))));
    wish.set_replicas(1);
  }
  if (random.Below(3) == 0) {
    v1::SpreadLimit& limit = *spec.mutable_placement()->add_spread_limits();
    limit.set_level(random.Below(2) == 0 ? v1::REGION : v1::DATACENTER);
    limit.set_replicas(1 + static_cast<uint32_t>(random.Below(2)));
    limit.set_soft(true);
  }
}

// The number of replicas follows the load in half of the worlds where it may. Drawn by itself, too.
void DrawScaling(const SimulationOptions& options, v1::AppSpec& spec) {
  Random random(options.seed ^ 0x5ca1'ab1e);
  const v1::Replication& replication = spec.replication();
  const bool may = replication.strategy() != v1::PRIMARY_ONLY && !replication.quorum();
  if (!may || random.Below(2) == 0) return;
  v1::ScalingPolicy& scaling = *spec.mutable_scaling();
  spec.add_metrics()->set_name(kLoadMetric);
  spec.mutable_moves()->set_collect_interval_ms(2'000);
  scaling.set_metric(kLoadMetric);
  scaling.set_target(100);
  scaling.set_max_replicas(3 + static_cast<uint32_t>(random.Below(3)));
  scaling.set_down_after_ms(1'000 + static_cast<uint32_t>(random.Below(10'000)));
  scaling.set_max_changes_per_minute(random.Below(2) == 0 ? "100%" : "50%");
}

// Replicas follow their requests in half of the worlds where they may. Drawn by itself, too.
void DrawDemand(const SimulationOptions& options, int regions, v1::AppSpec& spec) {
  Random random(options.seed ^ 0xde'3a4d);
  if (regions < 2 || !spec.placement().region_replicas().empty() || random.Below(2) == 0) return;
  v1::DemandPolicy& demand = *spec.mutable_placement()->mutable_follow_demand();
  demand.set_after_ms(4'000 + static_cast<uint32_t>(random.Below(8'000)));
  spec.mutable_moves()->set_collect_interval_ms(2'000);
}

// Drawn by itself, too.
void DrawOnPartition(const SimulationOptions& options, v1::AppSpec& spec) {
  const bool keeps = Random(options.seed ^ 0x0c07'0ff5).Below(4) == 0;
  if (keeps && !spec.replication().quorum()) {
    spec.mutable_failover()->set_on_partition(v1::KEEP_SERVING);
  }
}

v1::AppSpec DrawSpec(const SimulationOptions& options, int regions, Random& random) {
  v1::AppSpec spec;
  spec.set_name(kApp);
  const int shards = options.shards > 0 ? options.shards : 4 + Draw(random, 40);
  for (int i = 0; i < shards; ++i) {
    spec.mutable_key_space()->add_shards()->set_id(absl::StrCat("s-", i));
  }
  // Who is in step with whom has most to go wrong.
  const int draw = Draw(random, 5);
  const bool both = draw < 2;
  auto& replication = *spec.mutable_replication();
  replication.set_strategy(both        ? v1::PRIMARY_SECONDARY
                           : draw == 2 ? v1::SECONDARY_ONLY
                                       : v1::PRIMARY_ONLY);
  replication.set_replicas(both ? 2 + static_cast<uint32_t>(Draw(random, 2)) : draw == 2 ? 2 : 1);
  replication.set_quorum(both && replication.replicas() == 3 && options.seed % 3 != 0);
  const auto delay_ms = static_cast<uint32_t>(Draw(random, 3) * 1'000);
  // Nobody is given up whose disk may still be needed.
  spec.mutable_failover()->set_delay_ms(IsDurable(options, replication) ? 120'000 : delay_ms);
  DrawAvailability(random, spec);
  const bool old_servers = replication.strategy() == v1::PRIMARY_ONLY && Draw(random, 3) == 0;
  if (old_servers) spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  // Everything comes and goes here.
  spec.mutable_moves()->set_steady_after_ms(1'000);
  DrawGeography(options, regions, spec);
  DrawScaling(options, spec);
  DrawDemand(options, regions, spec);
  DrawOnPartition(options, spec);
  return spec;
}

}  // namespace

WatchedCell::WatchedCell(const SimulationOptions& with)
    : options(with),
      random(options.seed * 0x9e3779b97f4a7c15U + 1),
      drawn_(DrawCluster(options, random)),
      cluster(drawn_, random.Next(), checkers,
              [this](uint64_t call, bool idempotent) { checkers.Called(call, idempotent); }),
      person(cluster, checkers, DrawSpec(options, drawn_.regions, random)),
      restarts(cluster, checkers, managers) {
  const v1::Replication& replication = person.wanted().replication();
  cluster.replicates = replication.strategy() == v1::PRIMARY_SECONDARY;
  cluster.quorum = replication.quorum();
  cluster.durable = IsDurable(options, replication);
  cluster.keeps_serving = person.wanted().failover().on_partition() == v1::KEEP_SERVING;
  checkers.Watch(cluster);
  if (const v1::AppSpec& spec = person.wanted(); spec.has_scaling()) {
    cluster.loads.Begin(~options.seed, spec.scaling().target(), spec.scaling().max_replicas());
  }
  if (person.wanted().placement().has_follow_demand()) {
    std::vector<std::string> regions;
    for (int i = 0; i < drawn_.regions; ++i) regions.push_back(absl::StrCat("r", i));
    cluster.demand.Begin(~options.seed, std::move(regions));
  }
  if (options.strict_restarts) restarts.BeStrict();
  cluster.on_made_anew = [this] {
    restarts.ForgetCell();
    for (const auto& manager : managers) manager->ForgetCell();
  };
}

// Calls that are under way end with the control plane, and whoever called hears of it.
WatchedCell::~WatchedCell() {
  for (const std::string& host : cluster.controls()) cluster.Kill(host);
}

// ---- time ----

bool WatchedCell::RunUntil(TimePoint end) {
  while (well() && cluster.schedule.RunNext(end)) {
    cluster.store.Kick();
    checkers.LookAtSessions();
  }
  return well();
}

void WatchedCell::KeepSweeping() {
  cluster.schedule.After(kSweep, [this] {
    if (full_service) {
      checkers.ExpectFullService(*full_service, checkers.Sweep(), may_be_away);
    } else {
      checkers.Probe();
    }
    asks_leaders_ = !asks_leaders_;
    if (asks_leaders_) checkers.AskLeaders();
    if (!managers.empty()) restarts.Look();
    KeepSweeping();
  });
}

void WatchedCell::KeepChangingLoads(TimePoint until) {
  constexpr Duration kPause = Seconds(10);
  if (!cluster.loads.on()) return;
  cluster.schedule.After(kPause, [this, until] {
    if (cluster.schedule.now() >= until) return;
    cluster.loads.Change();
    KeepChangingLoads(until);
  });
}

void WatchedCell::AwaitRest(const std::string& since, int patience) {
  // The number of replicas changes by a few a minute.
  if (cluster.loads.on()) patience *= 2;
  const TimePoint give_up = cluster.schedule.now() + patience * options.patience;
  const Duration rest = full_service ? kRestAfterPlans : kRestAfterFaults;
  TimePoint rests_since = cluster.schedule.now();
  uint64_t writes = checkers.AssignmentWrites();
  std::string why = "nothing was looked at";
  while (RunFor(kLook)) {
    cluster.StartAll();  // those that were still stopping when the faults ended
    why = checkers.NotConverged();
    const uint64_t now_written = checkers.AssignmentWrites();
    if (!why.empty() || now_written != std::exchange(writes, now_written)) {
      rests_since = cluster.schedule.now();
      if (why.empty()) why = "assignments are still written";
    }
    if (cluster.schedule.now() - rests_since >= rest) return;
    if (cluster.schedule.now() >= give_up) {
      checkers.Violate(absl::StrCat("D: ", patience * options.patience / Seconds(1), " s after ",
                                    since, ": ", why));
    }
  }
}

void WatchedCell::CheckAcknowledged() {
  const std::string lost = checkers.LostDrain();
  if (!lost.empty()) {
    checkers.Violate(absl::StrCat("C: ", lost, " was acknowledged and is lost"));
  }
  const auto spec = checkers.StoredSpec();
  if (spec && RevisionOf(*spec) >= checkers.acknowledged()) return;
  checkers.Violate(absl::StrCat("C: revision ", checkers.acknowledged(),
                                " of the spec was acknowledged, stored is ",
                                spec ? absl::StrCat(RevisionOf(*spec)) : "none"));
}

void WatchedCell::AwaitAcknowledged() {
  const TimePoint give_up = cluster.schedule.now() + options.patience;
  while (person.busy() && RunFor(kSweep)) {
    if (cluster.schedule.now() < give_up) continue;
    checkers.Violate("an operator's change was not acknowledged in time");
  }
}

// ---- what happens ----

void WatchedCell::RollOut(Restarts how) {
  Trace("rolling restart");
  for (int region = 0; managers.size() < static_cast<size_t>(drawn_.regions); ++region) {
    managers.push_back(
        std::make_unique<SimManager>(cluster, region, drawn_.regions, random.Next(), restarts));
  }
  for (const auto& manager : managers) manager->Begin(how);
}

void WatchedCell::RestartLeader() {
  const std::string leader = cluster.Leader();
  if (leader.empty()) return;
  Trace("restart of " + leader);
  cluster.Terminate(leader);
  cluster.Start(leader);
}

void WatchedCell::Trace(const std::string& what) {
  checkers.Mix(static_cast<uint64_t>(cluster.schedule.now().time_since_epoch().count()));
  Print(what);
}

void WatchedCell::Print(const std::string& what) const {
  if (!options.trace) return;
  const Duration now = cluster.schedule.now().time_since_epoch();
  options.trace(absl::StrFormat("%9.3f s  %s", InSeconds(now), what));
}

}  // namespace shardmanager::simulation
