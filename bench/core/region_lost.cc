// scripts/bench core --scenario region-lost: one of three regions is lost, and every shard is to
// have a replica in each. So each of 433,333 shards lacks a replica for which there is no place,
// for as long as the region is away, while the other servers report as ever.
//
//   core_region_lost_event_us    a report of a server that holds what it should, meanwhile
//   core_region_lost_share_pct   of the core's thread, if 50,000 servers report each 30 s
//   core_region_lost_plan_ms     a new try to place all of them: what it takes of the core's thread
//   core_region_lost_solve_ms    and of the solver's
//   core_region_lost_plans       such tries in ten minutes in which nothing changes
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/world.h"
#include "model/spec/spec_validation.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kRegions = 3;
constexpr uint32_t kServersPerRegion = 16'667;
constexpr uint32_t kServers = kRegions * kServersPerRegion;
constexpr uint32_t kShards = 433'333;
constexpr uint32_t kReports = 2'000;
constexpr double kReportsPerSecond = 50'000.0 / 30;

v1::AppSpec Spec() {
  v1::AppSpec spec;
  spec.set_name("bench");
  for (uint32_t i = 0; i < kShards; ++i)
    spec.mutable_key_space()->add_shards()->set_id(NthShard(i));
  spec.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
  spec.mutable_replication()->set_replicas(kRegions);
  spec.mutable_placement()->set_spread(v1::REGION);
  return WithDefaults(std::move(spec));
}

// Server i is in region i % kRegions.
Recovered StoredState() {
  Recovered state = StoredServers(Spec(), kServers);
  for (uint32_t i = 0; i < kShards; ++i) {
    for (uint32_t r = 0; r < kRegions; ++r) {
      state.servers[kRegions * (i % kServersPerRegion) + r].assignment.push_back(
          {NthShard(i), Role::kSecondary, ShardEpoch(kRegions * i + r + 1), Phase::kGranted});
    }
  }
  return state;
}

// What the server says when it serves all that it should.
ServerReport ReportOf(const Partition& partition, uint32_t i) {
  const Tables& tables = partition.tables();
  ServerReport report{.server = tables.FindServer(NthServer(i)), .incarnation = Incarnation(1)};
  for (ReplicaIndex id : tables.server(report.server).replicas) {
    const Replica& replica = tables.replica(id);
    report.held.push_back({tables.name(replica.shard), replica.epoch, /*serving=*/true});
  }
  return report;
}

double SendReports(World& world, uint32_t count) {
  std::vector<ServerReport> reports;
  for (uint32_t i = 0; reports.size() < count; ++i) {
    if (i % kRegions != 0) reports.push_back(ReportOf(world.partition(), i));
  }
  const auto start = std::chrono::steady_clock::now();
  for (ServerReport& report : reports) world.Send(std::move(report));
  return SecondsSince(start);
}

// All plans that are asked for now, and those that they lead to. Returns the solver's seconds.
double FinishAllPlans(World& world) {
  double solve_s = 0;
  while (!world.plans().empty()) {
    solve_s += world.FinishPlans();
    world.Pump();
  }
  return solve_s;
}

}  // namespace

int RegionLost() {
  World world;
  world.Send(StoredState());
  world.Pump();
  world.SendResults();
  world.hold_plans = true;
  Figure("core_region_whole_event_us", SendReports(world, kReports) * 1e6 / kReports, "us");
  FinishAllPlans(world);

  for (uint32_t i = 0; i < kServers; i += kRegions) {
    world.Send(ServerDown{NthServer(i), Incarnation(1), 1, /*departed=*/true});
  }
  world.Advance(Milliseconds(1));
  std::printf("lost %u servers; planning for %u shards\n", kServersPerRegion, kShards);
  FinishAllPlans(world);

  const double event_s = SendReports(world, kReports) / kReports;
  Figure("core_region_lost_event_us", event_s * 1e6, "us");
  Figure("core_region_lost_share_pct", 100 * event_s * kReportsPerSecond, "%");
  FinishAllPlans(world);

  uint32_t plans = 0;
  bool measured = false;
  for (uint32_t second = 0; second < 600; ++second) {
    const auto start = std::chrono::steady_clock::now();
    world.Advance(Seconds(1));
    if (world.plans().empty()) continue;
    const bool emergency = world.plans().front().options.mode == allocator::Mode::kEmergency;
    plans += emergency;
    if (emergency && !measured) {
      measured = true;
      const double solve_s = world.FinishPlans();
      world.Pump();
      Figure("core_region_lost_plan_ms", (SecondsSince(start) - solve_s) * 1e3, "ms");
      Figure("core_region_lost_solve_ms", solve_s * 1e3, "ms");
    } else {
      world.RepeatPlans();
      world.Pump();
    }
  }
  Figure("core_region_lost_plans", plans, "");
  return measured ? 0 : 1;
}

}  // namespace shardmanager::orchestrator
