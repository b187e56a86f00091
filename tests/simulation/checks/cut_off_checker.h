// What is promised of apps that keep serving: see docs/invariants.md.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "tests/simulation/cell/cluster.h"

namespace shardmanager::simulation {

class CutOffChecker {
 public:
  // Of a primary request that a server admits. True: it is served on under a right that the server
  // had as a member, before its session ended. False: all that holds of members holds of it.
  bool IsServedOn(const SimServer& server, const std::string& shard, ShardEpoch epoch,
                  bool is_member);
  // Its right to serve the shard is of a former life, and it may not have read what became of it.
  bool HasFormerRight(const SimServer& server, const std::string& shard) const;

  // Often: who cannot reach the store goes on with all that it serves, unless it is commanded
  // otherwise while its lease lasts. Says who does not.
  std::string Look(Cluster& cluster);

 private:
  using Rights = std::map<std::string, SimServer::Right>;  // by shard
  struct Served {
    ShardEpoch epoch;
    Incarnation life;
  };
  struct CutOff {
    std::string endpoint;
    TimePoint since;
    Rights serves;
  };

  Rights RightsOf(Cluster& cluster, SimServer& server, TimePoint since) const;

  // By endpoint and shard: the newest right, and the life in which it was first seen.
  std::map<std::pair<std::string, std::string>, Served> served_;
  std::map<std::string, CutOff> cut_off_;  // by server
};

}  // namespace shardmanager::simulation
