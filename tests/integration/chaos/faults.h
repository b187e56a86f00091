// Faults of a whole fleet, drawn at random.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "tests/integration/chaos/fleet.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

struct Fault {
  std::string what;
  std::function<absl::Status()> begin;
  std::function<absl::Status()> end;
};

// All choices come from `random`; who leads, from the cluster. Not thread-safe.
class Faults {
 public:
  using Links = std::vector<std::pair<std::string, std::string>>;  // from, to

  // `network` is null where there is none: then there are faults of processes only.
  // `stops` counts how often each server is stopped.
  Faults(local::Cluster& cluster, Fleet& fleet, local::Network* network, Random& random,
         std::map<std::string, int>& stops);

  // Some faults that may go on at the same time, as no process has two of them. All kinds
  // come up once before one comes up again.
  std::vector<Fault> Draw(size_t count);

  // This machine alone, from now on, both ways: no Heal() and no end of a fault mends these
  // links; the next such call does. REQUIRES: there is a network.
  void CutFromZookeeper(const std::string& machine);
  // All other links are whole.
  void Heal();

  // The index of the shardmanagerd that says that it leads.
  std::optional<size_t> Leader() const;

 private:
  using Drawn = std::optional<Fault>;  // nothing: its victim has a fault already
  struct Kind {
    const char* name;
    bool of_network;
    // Meanwhile half of the clients have old maps, and ask the former owners of shards.
    bool old_maps;
    Drawn (Faults::*draw)();
  };
  static const std::vector<Kind>& Kinds();
  const Kind& NextKind();

  // process_faults.cc
  Drawn KillServer();
  Drawn KillServers();
  Drawn TerminateServer();
  Drawn StopServer();
  Drawn StopServers();
  Drawn KillLeadingManager();
  Drawn TerminateLeadingManager();
  Drawn StopLeadingManager();
  Drawn KillManagers();
  Drawn KillRelay();
  Drawn StopRelay();
  Drawn KillZookeeperLeader();
  Drawn KillZookeeper();
  Drawn StopZookeeper();
  Drawn KillZookeepers();
  Drawn KillEverything();

  // network_faults.cc
  Drawn CutServers();
  Drawn CutServersOutgoing();
  Drawn CutServersIncoming();
  Drawn CutServersFromZookeeper();
  Drawn CutFollowerFromLeader();
  Drawn CutFollowerFromEnsemble();
  Drawn CutZookeeperLeader();
  Drawn CutLeadingManager();
  Drawn CutLeadingManagerFromZookeeper();
  Drawn CutLeadingManagerFromServers();
  Drawn CutRelay();
  Drawn Split();
  Drawn DelayMachine();
  Drawn DelayEverything();
  Drawn LosePackets();

  // Nothing if one of them has a fault already; else it has one from now on.
  Drawn Kill(std::vector<Process*> victims);
  Drawn Stop(std::vector<Process*> victims);
  Drawn Terminate(Process& victim);
  Drawn WithOldMaps(Drawn fault);
  bool Claim(const std::vector<Process*>& victims);
  // Both ways, or one, between each of `some` and each of `others`.
  static Links Between(const std::set<std::string>& some, const std::set<std::string>& others);
  static Links From(const std::set<std::string>& some, const std::set<std::string>& others);
  Fault OnLinks(std::string what, Links links, const local::Link& link);
  // But for links that stay cut.
  void SetLinks(const Links& links, const local::Link& link);

  Process& Any(std::vector<Process>& processes);
  Process& AnyOfAll();
  // Half of them, at least one.
  std::vector<Process*> Some(std::vector<Process>& processes);
  std::vector<Process*> Every(std::vector<Process>& processes);
  // Whoever leads, or anybody while nobody does.
  Process& LeadingManager();
  size_t ZookeeperLeader();
  std::set<std::string> EveryMachine() const;
  std::set<std::string> SomeServerMachines();  // half of them

  local::Cluster& cluster_;
  Fleet& fleet_;
  local::Network* const network_;
  Random& random_;
  std::map<std::string, int>& stops_;
  std::vector<const Kind*> deck_;  // kinds still to come, the next one last
  std::set<std::string> claimed_;  // of this draw
  std::set<Links::value_type> stay_cut_;
};

// "zookeeper-1, kv-3"
std::string NamesOf(const std::vector<Process*>& processes);

}  // namespace shardmanager::testing
