#include "tests/simulation/checks/cut_off_checker.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

// What the store has answered by then has been dealt with.
constexpr Duration kUnderWay = Milliseconds(500);

}  // namespace

bool CutOffChecker::IsServedOn(const SimServer& server, const std::string& shard, ShardEpoch epoch,
                               bool is_member) {
  Served& served = served_[{server.endpoint(), shard}];
  if (served.epoch == epoch) return !is_member || served.life != server.incarnation();
  served = {epoch, server.incarnation()};
  return false;
}

bool CutOffChecker::HasFormerRight(const SimServer& server, const std::string& shard) const {
  const auto served = served_.find({server.endpoint(), shard});
  return served != served_.end() && served->second.life != server.incarnation();
}

// What it serves and is not being changed.
CutOffChecker::Rights CutOffChecker::RightsOf(Cluster& cluster, SimServer& server,
                                              TimePoint since) const {
  Rights rights;
  for (const auto& [key, served] : served_) {
    const auto& [endpoint, shard] = key;
    if (endpoint != server.endpoint()) continue;
    if (!cluster.orders.QuietSince(since, endpoint, shard)) continue;
    if (const auto right = server.MayServe(shard)) rights.emplace(shard, *right);
  }
  return rights;
}

std::string CutOffChecker::Look(Cluster& cluster) {
  const TimePoint now = cluster.schedule.now();
  for (const std::string& name : cluster.servers()) {
    SimServer* server = cluster.server(name);
    if (server == nullptr || !cluster.Running(name)) continue;
    const auto since = cluster.store.CutOffSince(*server->process());
    if (!since || now - *since < kUnderWay || !server->served_until_stop().empty()) {
      cut_off_.erase(name);
      continue;
    }
    CutOff& cut = cut_off_[name];
    if (cut.endpoint != server->endpoint() || cut.since != *since) {
      cut = {server->endpoint(), *since, RightsOf(cluster, *server, *since)};
      continue;
    }
    const Rights serves = RightsOf(cluster, *server, *since);
    for (const auto& [shard, right] : cut.serves) {
      const auto found = serves.find(shard);
      const bool same = found != serves.end() && found->second.epoch == right.epoch &&
                        found->second.role == right.role;
      if (same || !cluster.orders.QuietSince(*since, server->endpoint(), shard)) continue;
      return absl::StrCat(server->endpoint(), " is cut off since ",
                          (now - *since) / Milliseconds(1), " ms, and does not serve ", shard,
                          " any more");
    }
  }
  return "";
}

}  // namespace shardmanager::simulation
