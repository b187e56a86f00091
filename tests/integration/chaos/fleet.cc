#include "tests/integration/chaos/fleet.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {
namespace {

using local::Cluster;
using local::Program;

constexpr std::chrono::milliseconds kNow{0};

Process ProcessOf(Program& program, std::string machine) {
  return {.name = program.name(),
          .machine = std::move(machine),
          .start = [&program] { return program.Start(); },
          .kill = [&program] { program.Kill(); },
          .pause = [&program] { program.Pause(); },
          .resume = [&program] { program.Resume(); },
          .terminate = [&program] { return program.Stop(); },
          .ended = [&program] { return program.Wait(kNow); }};
}

Process ZookeeperProcess(local::Ensemble& ensemble, size_t i) {
  const std::string name = absl::StrCat("zookeeper-", i + 1);
  PrivateZookeeper& zookeeper = ensemble.member(i);
  return {.name = name,
          .machine = name,
          .start = [&ensemble, i] { return ensemble.Start(i); },
          .kill = [&zookeeper] { zookeeper.Kill(); },
          .pause = [&zookeeper] { zookeeper.Pause(); },
          .resume = [&zookeeper] { zookeeper.Resume(); },
          .terminate = [&zookeeper] { return zookeeper.Stop(), 0; },
          .ended = [&zookeeper] { return zookeeper.Wait(kNow); }};
}

}  // namespace

Fleet::Fleet(Cluster& cluster, const std::function<std::string(const std::string&)>& machine_of) {
  for (size_t i = 0; i < cluster.zookeepers().size(); ++i) {
    zookeepers.push_back(ZookeeperProcess(cluster.zookeepers(), i));
  }
  for (size_t i = 0; i < static_cast<size_t>(cluster.options().managers); ++i) {
    managers.push_back(ProcessOf(cluster.manager(i), absl::StrCat("manager-", i + 1)));
  }
  for (size_t i = 0; i < static_cast<size_t>(cluster.options().relays); ++i) {
    relays.push_back(ProcessOf(cluster.relay(i), absl::StrCat("relay-", i + 1)));
  }
  for (const std::string& name : cluster.server_names()) {
    servers.push_back(ProcessOf(cluster.server(name), machine_of(name)));
    servers.back().is_server = true;
  }
}

std::vector<Process*> Fleet::All() {
  std::vector<Process*> all;
  for (std::vector<Process>* kind : {&zookeepers, &managers, &relays, &servers}) {
    for (Process& process : *kind) all.push_back(&process);
  }
  return all;
}

}  // namespace shardmanager::testing
