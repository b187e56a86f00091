#include "tests/taskcontroller/fleet.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::taskcontroller {
namespace {

const ServerOrder* OrderOf(const std::vector<ServerOrder>& orders, const std::string& server) {
  const auto found = std::find_if(orders.begin(), orders.end(),
                                  [&](const ServerOrder& o) { return o.server == server; });
  return found == orders.end() ? nullptr : &*found;
}

}  // namespace

Fleet::Fleet(const Sizes& sizes, Random& random) : sizes_(sizes) {
  for (uint32_t s = 0; s < sizes.shards; ++s) shard_names_.push_back(absl::StrCat("s-", s));
  for (uint32_t i = 0; i < sizes.servers; ++i) {
    servers_.push_back({.name = absl::StrCat("kv-", i), .region = i % sizes.regions});
  }
  for (uint32_t s = 0; s < sizes.shards; ++s) {
    for (uint32_t r = 0; r < sizes.replicas; ++r) {
      TrueServer* server = nullptr;
      const auto has = [&](const TrueServer& x) {
        return std::any_of(x.replicas.begin(), x.replicas.end(),
                           [&](const TrueReplica& replica) { return replica.shard == s; });
      };
      do {
        server = &servers_[random.Below(sizes.servers)];
      } while (has(*server));
      const bool primary = sizes.primaries && r == 0;
      server->replicas.push_back({s, primary ? Role::kPrimary : Role::kSecondary, true});
    }
  }
}

TrueServer& Fleet::Find(const std::string& name) {
  return *std::find_if(servers_.begin(), servers_.end(),
                       [&](const TrueServer& server) { return server.name == name; });
}

std::string Fleet::Some(bool with_primary) const {
  const auto found = std::find_if(servers_.begin(), servers_.end(), [&](const TrueServer& server) {
    return with_primary == std::any_of(server.replicas.begin(), server.replicas.end(),
                                       [](const auto& r) { return r.role == Role::kPrimary; });
  });
  return found->name;
}

FleetView Fleet::View() const {
  FleetView view;
  view.complete = true;
  for (const std::string& name : shard_names_) {
    const auto index = static_cast<uint32_t>(view.shards.size());
    view.shards.push_back(
        {.name = name,
         .wanted = static_cast<uint16_t>(sizes_.replicas),
         .pinned = std::find(pinned_.begin(), pinned_.end(), index) != pinned_.end()});
  }
  for (const TrueServer& server : servers_) {
    SeenServer seen{.name = server.name,
                    .incarnation = Incarnation(server.life),
                    .live = server.live,
                    .domain = {server.region, server.region, server.region},
                    .trouble = server.trouble};
    seen.begin = static_cast<uint32_t>(view.replicas.size());
    for (const TrueReplica& replica : server.replicas) {
      view.replicas.push_back({.shard = ShardIndex(replica.shard),
                               .role = replica.role,
                               .healthy = replica.serving && server.live});
    }
    seen.end = static_cast<uint32_t>(view.replicas.size());
    view.by_name.emplace(server.name, ServerIndex(view.servers.size()));
    view.servers.push_back(std::move(seen));
  }
  return view;
}

uint32_t Fleet::Serving(uint32_t shard, const std::vector<std::string>& away) const {
  uint32_t serving = 0;
  for (const TrueServer& server : servers_) {
    if (!server.live || std::find(away.begin(), away.end(), server.name) != away.end()) continue;
    for (const TrueReplica& replica : server.replicas) {
      serving += replica.shard == shard && replica.serving;
    }
  }
  return serving;
}

bool Fleet::MoveOnePrimary(const std::vector<ServerOrder>& orders) {
  for (TrueServer& from : servers_) {
    const ServerOrder* order = OrderOf(orders, from.name);
    if (order == nullptr || !order->leaving.primaries || !from.live) continue;
    for (TrueReplica& replica : from.replicas) {
      if (replica.role != Role::kPrimary) continue;
      for (TrueServer& to : servers_) {
        const ServerOrder* other = OrderOf(orders, to.name);
        if (!to.live || (other != nullptr && other->closed)) continue;
        for (TrueReplica& heir : to.replicas) {
          if (heir.shard != replica.shard || !heir.serving) continue;
          replica.role = Role::kSecondary;
          heir.role = Role::kPrimary;
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace shardmanager::taskcontroller
