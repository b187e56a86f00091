#include "tests/integration/chaos/faults.h"

#include <algorithm>
#include <utility>

namespace shardmanager::testing {
namespace {

// What a shardmanagerd gets to say whether it leads.
constexpr std::chrono::milliseconds kAsk{300};

}  // namespace

const std::vector<Faults::Kind>& Faults::Kinds() {
  static const std::vector<Kind> kinds = {
      {"SIGKILL a server", false, false, &Faults::KillServer},
      {"SIGKILL half of the servers", false, false, &Faults::KillServers},
      {"SIGTERM a server", false, false, &Faults::TerminateServer},
      {"SIGSTOP a server", false, false, &Faults::StopServer},
      {"SIGSTOP half of the servers", false, false, &Faults::StopServers},
      {"SIGKILL the leading shardmanagerd", false, false, &Faults::KillLeadingManager},
      {"SIGTERM the leading shardmanagerd", false, false, &Faults::TerminateLeadingManager},
      {"SIGSTOP the leading shardmanagerd", false, false, &Faults::StopLeadingManager},
      {"SIGKILL the control plane", false, false, &Faults::KillManagers},
      {"SIGKILL a relay", false, false, &Faults::KillRelay},
      {"SIGSTOP a relay", false, false, &Faults::StopRelay},
      {"SIGKILL ZooKeeper's leader", false, false, &Faults::KillZookeeperLeader},
      {"SIGKILL a ZooKeeper", false, false, &Faults::KillZookeeper},
      {"SIGSTOP a ZooKeeper", false, false, &Faults::StopZookeeper},
      {"SIGKILL all ZooKeepers", false, false, &Faults::KillZookeepers},
      {"SIGSTOP half of the servers while clients have old maps", false, true,
       &Faults::StopServers},
      {"SIGKILL everything", false, false, &Faults::KillEverything},
      {"cut servers off", true, false, &Faults::CutServers},
      {"what servers send is lost", true, false, &Faults::CutServersOutgoing},
      {"servers hear nothing", true, false, &Faults::CutServersIncoming},
      {"cut servers off from ZooKeeper", true, false, &Faults::CutServersFromZookeeper},
      {"cut servers off from ZooKeeper while clients have old maps", true, true,
       &Faults::CutServersFromZookeeper},
      {"cut a follower off from its ensemble while clients have old maps", true, true,
       &Faults::CutFollowerFromEnsemble},
      {"cut a follower off from ZooKeeper's leader", true, false, &Faults::CutFollowerFromLeader},
      {"cut a follower off from its ensemble", true, false, &Faults::CutFollowerFromEnsemble},
      {"cut ZooKeeper's leader off", true, false, &Faults::CutZookeeperLeader},
      {"cut the leading shardmanagerd off", true, false, &Faults::CutLeadingManager},
      {"cut the leading shardmanagerd off from ZooKeeper", true, false,
       &Faults::CutLeadingManagerFromZookeeper},
      {"cut the leading shardmanagerd off from servers", true, false,
       &Faults::CutLeadingManagerFromServers},
      {"cut a relay off", true, false, &Faults::CutRelay},
      {"split the network", true, false, &Faults::Split},
      {"delay a machine's packets", true, false, &Faults::DelayMachine},
      {"delay all packets", true, false, &Faults::DelayEverything},
      {"lose packets", true, false, &Faults::LosePackets},
  };
  return kinds;
}

Faults::Faults(local::Cluster& cluster, Fleet& fleet, local::Network* network, Random& random,
               std::map<std::string, int>& stops)
    : cluster_(cluster), fleet_(fleet), network_(network), random_(random), stops_(stops) {}

const Faults::Kind& Faults::NextKind() {
  if (deck_.empty()) {
    for (const Kind& kind : Kinds()) {
      if (network_ != nullptr || !kind.of_network) deck_.push_back(&kind);
    }
    for (size_t i = deck_.size() - 1; i > 0; --i) std::swap(deck_[i], deck_[random_.Below(i + 1)]);
  }
  const Kind& next = *deck_.back();
  deck_.pop_back();
  return next;
}

std::vector<Fault> Faults::Draw(size_t count) {
  claimed_.clear();
  std::vector<Fault> faults;
  while (faults.size() < count) {
    const Kind& kind = NextKind();
    Drawn fault = (this->*kind.draw)();
    if (kind.old_maps) fault = WithOldMaps(std::move(fault));
    if (!fault.has_value()) {
      // Next time; what it collides with ends with this round.
      deck_.insert(deck_.begin(), &kind);
      if (!faults.empty()) break;
      continue;
    }
    fault->what = kind.name + (": " + fault->what);
    faults.push_back(*std::move(fault));
  }
  return faults;
}

bool Faults::Claim(const std::vector<Process*>& victims) {
  for (const Process* victim : victims) {
    if (claimed_.contains(victim->name)) return false;
  }
  for (const Process* victim : victims) claimed_.insert(victim->name);
  return true;
}

Process& Faults::Any(std::vector<Process>& processes) {
  return processes[random_.Below(processes.size())];
}

Process& Faults::AnyOfAll() {
  const std::vector<Process*> all = fleet_.All();
  return *all[random_.Below(all.size())];
}

std::vector<Process*> Faults::Every(std::vector<Process>& processes) {
  std::vector<Process*> every;
  for (Process& process : processes) every.push_back(&process);
  return every;
}

std::vector<Process*> Faults::Some(std::vector<Process>& processes) {
  std::vector<Process*> some = Every(processes);
  const size_t count = (some.size() + 1) / 2;
  for (size_t i = 0; i < count; ++i) std::swap(some[i], some[i + random_.Below(some.size() - i)]);
  some.resize(count);
  return some;
}

std::optional<size_t> Faults::Leader() const {
  for (size_t i = 0; i < fleet_.managers.size(); ++i) {
    if (cluster_.admin(i).AwaitLeading(kAsk).ok()) return i;
  }
  return std::nullopt;
}

Process& Faults::LeadingManager() {
  const std::optional<size_t> leader = Leader();
  return leader.has_value() ? fleet_.managers[*leader] : Any(fleet_.managers);
}

size_t Faults::ZookeeperLeader() {
  return cluster_.zookeepers().Leader().value_or(random_.Below(fleet_.zookeepers.size()));
}

std::string NamesOf(const std::vector<Process*>& processes) {
  std::string names;
  for (const Process* process : processes) {
    if (!names.empty()) names += ", ";
    names += process->name;
  }
  return names;
}

}  // namespace shardmanager::testing
