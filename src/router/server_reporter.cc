#include "router/server_reporter.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "model/server_view.h"

namespace shardmanager::router {
namespace {

struct Used {
  const MappedServer* server;
  bool badly;
};

std::vector<Used> UsedRecently(const ShardMap& map, TimePoint now) {
  std::vector<Used> used;
  map.ForEachServer([&](const MappedServer& server) {
    const auto [well, badly] = server.health->LookForUse(now);
    const auto recent = [&](std::optional<TimePoint> at) {
      return at && now - *at < ServerReporter::kRecent;
    };
    if (recent(well) || recent(badly)) used.push_back({&server, recent(badly)});
  });
  return used;
}

// What is slow, by region. Two servers do not tell which of them is.
using SlowLimits = absl::flat_hash_map<std::string_view, Duration>;
SlowLimits LimitsOf(const std::vector<Used>& used) {
  absl::flat_hash_map<std::string_view, std::vector<Duration>> latencies;
  for (const auto& [server, badly] : used) {
    if (!badly) latencies[server->fault_domain.region].push_back(server->health->latency());
  }
  SlowLimits limits;
  for (auto& [region, of] : latencies) {
    if (of.size() < 3) continue;
    const auto median = of.begin() + static_cast<int>((of.size() - 1) / 2);
    std::nth_element(of.begin(), median, of.end());
    limits[region] = std::max(*median * ServerReporter::kSlowTimes, ServerReporter::kSlowLeast);
  }
  return limits;
}

std::optional<Problem> TroubleWith(const Used& used, const SlowLimits& limits) {
  const ServerHealth& health = *used.server->health;
  if (used.badly && health.in_trouble()) return health.problem();
  const auto limit = limits.find(used.server->fault_domain.region);
  const bool slow = limit != limits.end() && health.latency() >= limit->second;
  return slow ? std::optional(Problem::kSlow) : std::nullopt;
}

}  // namespace

v1::ReportServersRequest ServerReporter::Next(const ShardMap& map, TimePoint now) const {
  const std::vector<Used> used = UsedRecently(map, now);
  const SlowLimits limits = LimitsOf(used);
  std::vector<v1::ServerSeen> trouble;
  v1::ReportServersRequest report;
  for (const Used& one : used) {
    ServerView view;
    if (const std::optional<Problem> problem = TroubleWith(one, limits)) {
      view.trouble[static_cast<size_t>(*problem)] = 1;
      trouble.push_back(ToProto(one.server->name, view));
    } else if (suspects_.contains(one.server->name) && !one.server->health->in_trouble()) {
      view.well = 1;
      *report.add_servers() = ToProto(one.server->name, view);
    }
  }
  const bool own_network = trouble.size() > 1 && trouble.size() * 4 > used.size();
  if (own_network) return report;
  for (v1::ServerSeen& seen : trouble) *report.add_servers() = std::move(seen);
  return report;
}

}  // namespace shardmanager::router
