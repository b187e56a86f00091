// What the loads of a large app cost its leader: 5,000 servers with 375,000 replicas, three
// metrics, each server asked every 10 s, requests and keys as far as servers tell of them.
// scripts/bench collect
//
//   collect_cpu_pct          of one core: processor time to read the answers (protobuf), to take
//                            them over, and to look whether the balance needs a plan: the slowest
//                            of five rounds
//   collect_ns_per_replica   of that
//   collect_demand_cpu_pct   the same, with placement.follow_demand, and requests of each replica
//                            from two regions
// Not in it: gRPC's own work, and plans.
#include <time.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "core/world.h"
#include "model/spec/spec_validation.h"
#include "orchestrator/core/partition.h"
#include "shardmanager/v1/shard_server.pb.h"
#include "wire/shard_server_client.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kServers = 5'000;
constexpr uint32_t kShards = 375'000;
constexpr int kRounds = 5;
constexpr double kInterval_s = 10;
const char* const kMetrics[] = {"cpu", "memory", "requests"};

v1::AppSpec Spec(bool follow_demand) {
  v1::AppSpec spec;
  spec.set_name("bench");
  for (uint32_t i = 0; i < kShards; ++i)
    spec.mutable_key_space()->add_shards()->set_id(NthShard(i));
  spec.mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  for (const char* metric : kMetrics) {
    spec.add_metrics()->set_name(metric);
    spec.mutable_metrics()->rbegin()->set_capacity(1'000);
  }
  if (follow_demand) spec.mutable_placement()->mutable_follow_demand();
  spec.mutable_moves()->set_collect_interval_ms(static_cast<uint32_t>(1'000 * kInterval_s));
  return WithDefaults(std::move(spec));
}

// Of a server whose shards all get requests: what it tells of them, as much as it may.
void AddTraffic(Random& random, v1::CollectLoadResponse& response) {
  response.set_counted_ms(static_cast<uint64_t>(1'000 * kInterval_s));
  response.set_requests(100'000);
  for (int i = 0; i < 8; ++i) {
    v1::ShardTraffic& traffic = *response.add_traffic();
    traffic.set_shard(response.shards(i).shard());
    traffic.set_requests(1'000 + random.Below(1'000));
    traffic.set_errors(random.Below(10));
    for (int n = 0; n < 12; ++n) traffic.add_times(static_cast<uint32_t>(random.Below(100)));
  }
  v1::KeySample& keys = *response.mutable_keys();
  keys.set_requests(1'500);
  keys.set_one_in(64);
  for (int i = 0; i < 4; ++i) {
    v1::FrequentKey& key = *keys.add_top();
    key.set_key(absl::StrCat("customer:", random.Below(1'000'000)));
    key.set_shard(response.shards(i).shard());
    key.set_count(20 + random.Below(10));
    key.set_error(random.Below(12));
  }
  for (int i = 0; i < 64; ++i) keys.add_by_hash(static_cast<uint32_t>(20 + random.Below(8)));
}

// The answers of all servers as they come over the wire.
std::vector<std::string> Answers(Random& random, bool follow_demand) {
  std::vector<std::string> answers(kServers);
  for (uint32_t s = 0; s < kServers; ++s) {
    v1::CollectLoadResponse response;
    for (uint32_t i = s; i < kShards; i += kServers) {
      v1::HeldShard& held = *response.add_shards();
      held.set_shard(NthShard(i));
      held.set_role(v1::PRIMARY);
      held.set_state(v1::DONE);
      held.set_epoch(i + 1);
      for (const char* metric : kMetrics) {
        (*held.mutable_load())[metric] = 1 + random.Fraction();
      }
      if (!follow_demand) continue;
      (*held.mutable_requests_by_region())[absl::StrCat("region-", s % 3)] = 20;
      (*held.mutable_requests_by_region())[absl::StrCat("region-", (s + 1) % 3)] = 10;
    }
    AddTraffic(random, response);
    answers[s] = response.SerializeAsString();
  }
  return answers;
}

// Of this thread: what others do on the machine is not in it.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Take(World& world, const std::vector<std::string>& answers) {
  for (uint32_t s = 0; s < kServers; ++s) {
    v1::CollectLoadResponse response;
    response.ParseFromString(answers[s]);
    Holdings holdings = wire::ToHoldings(response);
    world.Send(ServerReport{.server = world.partition().tables().FindServer(NthServer(s)),
                            .incarnation = Incarnation(1),
                            .held = std::move(holdings.held),
                            .traffic = std::move(holdings.traffic)});
  }
}

// The slowest round, in seconds.
double Measure(bool follow_demand) {
  World world;
  world.hold_plans = true;
  world.Send(StoredPrimaries(Spec(follow_demand), kServers, kShards));
  world.Pump();
  world.SendResults();
  world.Pump();
  Random random(1);
  double slowest = 0;
  for (int round = 1; round <= kRounds; ++round) {
    const std::vector<std::string> answers = Answers(random, follow_demand);
    const double start = CpuSeconds();
    Take(world, answers);
    // What is looked at now and then, in the time of the round: where requests come from, and which
    // shards and keys are hot.
    for (int looks = 0; follow_demand && looks < 2; ++looks) world.Advance(Seconds(5));
    const double took = CpuSeconds() - start;
    std::printf("round %d: %.0f ms\n", round, 1e3 * took);
    slowest = std::max(slowest, took);
  }
  return slowest;
}

int Main() {
  const double slowest = Measure(/*follow_demand=*/false);
  Figure("collect_cpu_pct", 100 * slowest / kInterval_s, "%");
  Figure("collect_ns_per_replica", 1e9 * slowest / kShards, "ns");
  Figure("collect_demand_cpu_pct", 100 * Measure(/*follow_demand=*/true) / kInterval_s, "%");
  return 0;
}

}  // namespace
}  // namespace shardmanager::orchestrator

int main() { return shardmanager::orchestrator::Main(); }
