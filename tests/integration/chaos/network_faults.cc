// Faults of the network: cut, one way or both, slow, lossy.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/integration/chaos/faults.h"

namespace shardmanager::testing {
namespace {

using local::Link;

constexpr Link kCut{.cut = true};

std::set<std::string> MachinesOf(const std::vector<Process*>& processes) {
  std::set<std::string> machines;
  for (const Process* process : processes) machines.insert(process->machine);
  return machines;
}

std::string Names(const std::set<std::string>& machines) {
  std::string names;
  for (const std::string& machine : machines) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", machine);
  }
  return names;
}

}  // namespace

Faults::Links Faults::From(const std::set<std::string>& some, const std::set<std::string>& others) {
  Links links;
  for (const std::string& one : some) {
    for (const std::string& other : others) {
      if (one != other) links.emplace_back(one, other);
    }
  }
  return links;
}

Faults::Links Faults::Between(const std::set<std::string>& some,
                              const std::set<std::string>& others) {
  Links links = From(some, others);
  const Links back = From(others, some);
  links.insert(links.end(), back.begin(), back.end());
  return links;
}

Fault Faults::OnLinks(std::string what, Links links, const Link& link) {
  auto set = [this, links = std::move(links)](const Link& to) {
    SetLinks(links, to);
    return absl::OkStatus();
  };
  return {.what = std::move(what),
          .begin = [set, link] { return set(link); },
          .end = [set] { return set({}); }};
}

void Faults::SetLinks(const Links& links, const Link& link) {
  for (const auto& [from, to] : links) {
    if (!stay_cut_.contains({from, to})) network_->SetLink(from, to, link);
  }
}

void Faults::CutFromZookeeper(const std::string& machine) {
  stay_cut_.clear();
  Heal();
  const Links links = Between({machine}, MachinesOf(Every(fleet_.zookeepers)));
  SetLinks(links, kCut);
  stay_cut_.insert(links.begin(), links.end());
}

void Faults::Heal() {
  if (network_ != nullptr) SetLinks(From(EveryMachine(), EveryMachine()), {});
}

std::set<std::string> Faults::EveryMachine() const {
  const std::vector<std::string> names = network_->names();
  return {names.begin(), names.end()};
}

std::set<std::string> Faults::SomeServerMachines() {
  const std::set<std::string> all = MachinesOf(Every(fleet_.servers));
  std::vector<std::string> some(all.begin(), all.end());
  const size_t count = (some.size() + 1) / 2;
  for (size_t i = 0; i < count; ++i) std::swap(some[i], some[i + random_.Below(some.size() - i)]);
  return {some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count)};
}

std::optional<Fault> Faults::CutServers() {
  const std::set<std::string> machine = {Any(fleet_.servers).machine};
  return OnLinks(Names(machine), Between(machine, EveryMachine()), kCut);
}

std::optional<Fault> Faults::CutServersOutgoing() {
  const std::set<std::string> machine = {Any(fleet_.servers).machine};
  return OnLinks(Names(machine), From(machine, EveryMachine()), kCut);
}

std::optional<Fault> Faults::CutServersIncoming() {
  const std::set<std::string> machine = {Any(fleet_.servers).machine};
  return OnLinks(Names(machine), From(EveryMachine(), machine), kCut);
}

std::optional<Fault> Faults::CutServersFromZookeeper() {
  const std::set<std::string> machines = SomeServerMachines();
  return OnLinks(Names(machines), Between(machines, MachinesOf(Every(fleet_.zookeepers))), kCut);
}

std::optional<Fault> Faults::CutFollowerFromLeader() {
  const size_t leader = ZookeeperLeader();
  const size_t follower =
      (leader + 1 + random_.Below(fleet_.zookeepers.size() - 1)) % fleet_.zookeepers.size();
  const std::string& name = fleet_.zookeepers[follower].machine;
  const std::string& from = fleet_.zookeepers[leader].machine;
  return OnLinks(absl::StrCat(name, " from ", from), Between({name}, {from}), kCut);
}

std::optional<Fault> Faults::CutFollowerFromEnsemble() {
  const size_t leader = ZookeeperLeader();
  const size_t follower =
      (leader + 1 + random_.Below(fleet_.zookeepers.size() - 1)) % fleet_.zookeepers.size();
  const std::string& name = fleet_.zookeepers[follower].machine;
  return OnLinks(name, Between({name}, MachinesOf(Every(fleet_.zookeepers))), kCut);
}

std::optional<Fault> Faults::CutZookeeperLeader() {
  const std::set<std::string> leader = {fleet_.zookeepers[ZookeeperLeader()].machine};
  return OnLinks(Names(leader), Between(leader, EveryMachine()), kCut);
}

std::optional<Fault> Faults::CutLeadingManager() {
  const std::set<std::string> leader = {LeadingManager().machine};
  return OnLinks(Names(leader), Between(leader, EveryMachine()), kCut);
}

std::optional<Fault> Faults::CutLeadingManagerFromZookeeper() {
  const std::set<std::string> leader = {LeadingManager().machine};
  return OnLinks(Names(leader), Between(leader, MachinesOf(Every(fleet_.zookeepers))), kCut);
}

std::optional<Fault> Faults::CutLeadingManagerFromServers() {
  const std::set<std::string> leader = {LeadingManager().machine};
  const std::set<std::string> servers = SomeServerMachines();
  return OnLinks(absl::StrCat(Names(leader), " from ", Names(servers)), Between(leader, servers),
                 kCut);
}

std::optional<Fault> Faults::CutRelay() {
  const std::set<std::string> relay = {Any(fleet_.relays).machine};
  return OnLinks(Names(relay), Between(relay, EveryMachine()), kCut);
}

std::optional<Fault> Faults::Split() {
  std::set<std::string> some;
  std::set<std::string> others;
  for (const std::string& machine : EveryMachine()) {
    (random_.Below(2) == 0 ? some : others).insert(machine);
  }
  return OnLinks(absl::StrCat(Names(some), " from all others"), Between(some, others), kCut);
}

std::optional<Fault> Faults::DelayMachine() {
  const std::set<std::string> machine = {AnyOfAll().machine};
  const Link slow{.delay = std::chrono::milliseconds(20 + random_.Below(280))};
  return OnLinks(absl::StrCat(Names(machine), ", ", slow.delay.count(), " ms each way"),
                 Between(machine, EveryMachine()), slow);
}

std::optional<Fault> Faults::DelayEverything() {
  const Link slow{.delay = std::chrono::milliseconds(2 + random_.Below(48))};
  return OnLinks(absl::StrCat(slow.delay.count(), " ms each way"),
                 From(EveryMachine(), EveryMachine()), slow);
}

std::optional<Fault> Faults::LosePackets() {
  const Link lossy{.loss = 0.01 + 0.2 * random_.Fraction()};
  return OnLinks(absl::StrFormat("%.0f%% of all packets", 100 * lossy.loss),
                 From(EveryMachine(), EveryMachine()), lossy);
}

}  // namespace shardmanager::testing
