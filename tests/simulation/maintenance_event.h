// One maintenance in a cell that is at rest: notice of it, what it does to its servers, and what
// must hold meanwhile.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/checkers.h"

namespace shardmanager::simulation {

class MaintenanceEvent {
 public:
  // `servers`: those that the scope covers.
  MaintenanceEvent(Cluster& cluster, Checkers& checkers, v1::DrainScope scope,
                   std::set<std::string> servers, uint64_t seed);

  // It begins after `notice` and takes `length`.
  v1::Maintenance Notice(Duration notice, Duration length);
  std::string Describe() const;

  // It begins: its servers are cut off, or their processes end. Before, what has to leave has left.
  void Strike(const v1::AppSpec& spec);
  // It is about to end: nobody has given its servers up.
  void CheckNothingWasGivenUp();
  // It is over: its servers come back.
  void End();

 private:
  using Assigned = std::map<std::string, std::set<std::string>>;  // shards, by server
  Assigned AssignedNow() const;
  bool CutsOff() const { return impact_ == v1::NETWORK_LOSS; }

  Cluster& cluster_;
  Checkers& checkers_;
  const v1::DrainScope scope_;
  const std::set<std::string> servers_;
  Random random_;
  const v1::MaintenanceImpact impact_;
  Assigned at_begin_;
};

// Where the server that runs there says that it stands; nothing: none runs.
v1::FaultDomain PlaceOf(Cluster& cluster, const std::string& server);

}  // namespace shardmanager::simulation
