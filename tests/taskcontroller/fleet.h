// The truth about a fleet in a test: servers, shards, and what is where.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "shardmanager/types.h"
#include "taskcontroller/state/fleet_view.h"
#include "taskcontroller/state/task_io.h"

namespace shardmanager::taskcontroller {

struct TrueReplica {
  uint32_t shard = 0;
  Role role = Role::kSecondary;
  bool serving = true;
};

struct TrueServer {
  std::string name;
  uint32_t region = 0;
  uint64_t life = 1;
  bool live = true;
  std::string trouble;  // as SeenServer::trouble
  std::vector<TrueReplica> replicas;
};

class Fleet {
 public:
  struct Sizes {
    uint32_t regions = 3;
    uint32_t servers = 12;
    uint32_t shards = 24;
    uint32_t replicas = 3;
    bool primaries = false;  // the first replica of a shard is its primary
  };
  Fleet(const Sizes& sizes, Random& random);

  FleetView View() const;

  std::vector<TrueServer>& servers() { return servers_; }
  const std::vector<TrueServer>& servers() const { return servers_; }
  TrueServer& Find(const std::string& name);
  // A server that has a primary, or none. REQUIRES: there is one.
  std::string WithAPrimary() const { return Some(/*with_primary=*/true); }
  std::string WithoutPrimaries() const { return Some(/*with_primary=*/false); }
  const Sizes& sizes() const { return sizes_; }
  // The shards that stay where they are, from now on.
  void Pin(std::vector<uint32_t> shards) { pinned_ = std::move(shards); }
  // Replicas of the shard that serve, on servers that are live and not in `away`.
  uint32_t Serving(uint32_t shard, const std::vector<std::string>& away) const;
  // Each primary on a server that is to have none goes to another replica of its shard that serves
  // on a server that may have it, if there is one. False: there was nothing to do.
  bool MoveOnePrimary(const std::vector<ServerOrder>& orders);

 private:
  std::string Some(bool with_primary) const;

  Sizes sizes_;
  std::vector<std::string> shard_names_;
  std::vector<uint32_t> pinned_;  // shards
  std::vector<TrueServer> servers_;
};

}  // namespace shardmanager::taskcontroller
