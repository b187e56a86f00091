// How long a decision about container operations takes, and how far it is from the most that can be
// approved. scripts/bench taskcontroller
//
// 5,000 servers in three regions hold 400,000 replicas, and every one of them has a pending
// restart. The fleets differ in how replicas are spread, the limits in how many servers may be
// away.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "model/spec/spec_validation.h"
#include "taskcontroller/decide/decision.h"
#include "taskcontroller/selection/select.h"

namespace shardmanager::taskcontroller {
namespace {

constexpr uint32_t kServers = 5'000;
constexpr uint32_t kReplicas = 400'000;
constexpr uint32_t kEach = 3;  // replicas of a shard
constexpr uint32_t kRegions = 3;
constexpr uint32_t kServersPerRack = 40;
constexpr int kRounds = 7;

enum class Spread { kRegion, kRack, kServer };

struct Case {
  const char* name;
  Spread spread;
  const char* most_servers;
  bool counts;  // for the figure of the bound
};
// Where nothing but the shards limits a fleet whose replicas are spread over servers only, no good
// bound is known that can be computed: the graph of conflicts is as good as random.
constexpr Case kCases[] = {
    {"spread over regions, 10% of servers", Spread::kRegion, "10%", true},
    {"spread over regions, any number", Spread::kRegion, "100%", true},
    {"spread over racks, 1% of servers", Spread::kRack, "1%", true},
    {"spread over servers, 1% of servers", Spread::kServer, "1%", true},
    {"spread over racks, any number", Spread::kRack, "100%", false},
    {"spread over servers, any number", Spread::kServer, "100%", false},
};

uint32_t RegionOf(uint32_t server) { return server % kRegions; }
uint32_t RackOf(uint32_t server) {
  return server / kRegions / kServersPerRack * kRegions + RegionOf(server);
}

bool Apart(uint32_t a, uint32_t b, Spread spread) {
  if (spread == Spread::kRegion) return RegionOf(a) != RegionOf(b);
  if (spread == Spread::kRack) return RackOf(a) != RackOf(b);
  return a != b;
}

class World {
 public:
  World(Spread spread, uint64_t seed) : random_(seed) {
    std::vector<std::vector<ShardIndex>> held(kServers);
    const uint32_t shards = kReplicas / kEach;
    for (uint32_t s = 0; s < shards; ++s) {
      names_.push_back(absl::StrCat("shard-", s));
      Place(ShardIndex(s), spread, held);
    }
    for (const std::string& name : names_) view_.shards.push_back({name, kEach});
    for (uint32_t i = 0; i < kServers; ++i) AddServer(i, held[i]);
    view_.complete = true;
  }

  // Every server is to be restarted.
  void Report(ReportBook& book) const {
    for (uint32_t region = 0; region < kRegions; ++region) {
      taskcontroller::Report report{
          .manager = absl::StrCat("manager-", region), .manager_life = 1, .sequence = 1};
      for (uint32_t i = region; i < kServers; i += kRegions) {
        ReportedOperation& operation = report.operations.emplace_back();
        operation.id = absl::StrCat("restart-", i);
        operation.info = {.kind = v1::RESTART,
                          .server = view_.servers[i].name,
                          .life = Incarnation(1),
                          .expected = Seconds(10)};
      }
      if (!book.Take(std::move(report), TimePoint{}).ok()) std::abort();
    }
  }
  const FleetView& view() const { return view_; }

 private:
  void Place(ShardIndex shard, Spread spread, std::vector<std::vector<ShardIndex>>& held) {
    std::vector<uint32_t> chosen;
    while (chosen.size() < kEach) {
      const auto server = static_cast<uint32_t>(random_.Below(kServers));
      const bool apart = std::all_of(chosen.begin(), chosen.end(),
                                     [&](uint32_t other) { return Apart(server, other, spread); });
      if (!apart) continue;
      chosen.push_back(server);
      held[server].push_back(shard);
    }
  }

  void AddServer(uint32_t i, const std::vector<ShardIndex>& held) {
    SeenServer server{.name = absl::StrCat("server-", i),
                      .incarnation = Incarnation(1),
                      .live = true,
                      .domain = {RegionOf(i), RegionOf(i), RackOf(i)},
                      .begin = static_cast<uint32_t>(view_.replicas.size())};
    for (const ShardIndex shard : held) {
      view_.replicas.push_back({.shard = shard, .role = Role::kSecondary, .healthy = true});
    }
    server.end = static_cast<uint32_t>(view_.replicas.size());
    view_.by_name.emplace(server.name, ServerIndex(i));
    view_.servers.push_back(std::move(server));
  }

  Random random_;
  std::vector<std::string> names_;
  FleetView view_;
};

struct Measured {
  double ms = 0;
  uint32_t approved = 0;
  uint32_t at_most = 0;
};

Measured Measure(const Case& c) {
  v1::AppSpec spec;
  spec.mutable_replication()->set_strategy(v1::SECONDARY_ONLY);
  spec.mutable_replication()->set_replicas(kEach);
  spec.mutable_availability()->set_max_unavailable_servers(c.most_servers);
  const Policy policy(WithDefaults(spec));
  const World world(c.spread, 1);
  ReportBook book;
  world.Report(book);
  std::vector<double> ms;
  Measured measured;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const Decision decision = Decide(policy, book, {}, world.view(), TimePoint{});
    ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                     .count());
    measured.approved = static_cast<uint32_t>(decision.next.size());
    measured.at_most = decision.at_most;
  }
  std::sort(ms.begin(), ms.end());
  measured.ms = ms[ms.size() / 2];
  return measured;
}

int Main() {
  double worst_ms = 0;
  double worst_ratio = 1;
  for (const Case& c : kCases) {
    const Measured m = Measure(c);
    const double ratio = static_cast<double>(m.approved) / std::max(1U, m.at_most);
    std::printf("%-36s %5u approved of at most %5u (%.3f), median %.1f ms\n", c.name, m.approved,
                m.at_most, ratio, m.ms);
    worst_ms = std::max(worst_ms, m.ms);
    if (c.counts) worst_ratio = std::min(worst_ratio, ratio);
  }
  std::printf("FIGURE decision_ms %.1f ms\n", worst_ms);
  std::printf("FIGURE approved_over_bound %.3f 1\n", worst_ratio);
  return 0;
}

}  // namespace
}  // namespace shardmanager::taskcontroller

int main() { return shardmanager::taskcontroller::Main(); }
