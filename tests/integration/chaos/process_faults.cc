// Faults of processes: killed, stopped, told to go.
#include <signal.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/integration/chaos/faults.h"

namespace shardmanager::testing {

std::optional<Fault> Faults::Kill(std::vector<Process*> victims) {
  if (!Claim(victims)) return std::nullopt;
  Fault fault{.what = NamesOf(victims)};
  fault.begin = [victims] {
    for (Process* victim : victims) victim->kill();
    return absl::OkStatus();
  };
  fault.end = [victims] {
    for (Process* victim : victims) {
      if (absl::Status status = victim->start(); !status.ok()) return status;
    }
    return absl::OkStatus();
  };
  return fault;
}

std::optional<Fault> Faults::Stop(std::vector<Process*> victims) {
  if (!Claim(victims)) return std::nullopt;
  Fault fault{.what = NamesOf(victims)};
  fault.begin = [this, victims] {
    for (Process* victim : victims) {
      if (victim->is_server) ++stops_[victim->name];
      victim->pause();
    }
    return absl::OkStatus();
  };
  fault.end = [victims] {
    for (Process* victim : victims) victim->resume();
    return absl::OkStatus();
  };
  return fault;
}

std::optional<Fault> Faults::Terminate(Process& victim) {
  if (!Claim({&victim})) return std::nullopt;
  Fault fault{.what = victim.name};
  fault.begin = [&victim] {
    const int code = victim.terminate();
    // With its ZooKeeper or its clients away it may have to be killed in the end.
    if (code == 0 || code == 128 + SIGKILL) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(victim.name, " ended with exit code ", code));
  };
  fault.end = [&victim] { return victim.start(); };
  return fault;
}

std::optional<Fault> Faults::KillServer() { return Kill({&Any(fleet_.servers)}); }
std::optional<Fault> Faults::KillServers() { return Kill(Some(fleet_.servers)); }
std::optional<Fault> Faults::TerminateServer() { return Terminate(Any(fleet_.servers)); }
std::optional<Fault> Faults::StopServer() { return Stop({&Any(fleet_.servers)}); }
std::optional<Fault> Faults::StopServers() { return Stop(Some(fleet_.servers)); }

std::optional<Fault> Faults::KillLeadingManager() { return Kill({&LeadingManager()}); }
std::optional<Fault> Faults::TerminateLeadingManager() { return Terminate(LeadingManager()); }
std::optional<Fault> Faults::StopLeadingManager() { return Stop({&LeadingManager()}); }
std::optional<Fault> Faults::KillManagers() { return Kill(Every(fleet_.managers)); }

std::optional<Fault> Faults::KillRelay() { return Kill({&Any(fleet_.relays)}); }
std::optional<Fault> Faults::StopRelay() { return Stop({&Any(fleet_.relays)}); }

std::optional<Fault> Faults::WithOldMaps(Drawn fault) {
  const Drawn relay = fault.has_value() ? Stop({&fleet_.relays.back()}) : std::nullopt;
  if (!relay.has_value()) return std::nullopt;
  absl::StrAppend(&fault->what, "; SIGSTOP ", relay->what);
  fault->begin = [first = relay->begin, then = fault->begin] {
    (void)first();  // signals do not fail
    return then();
  };
  fault->end = [first = fault->end, then = relay->end] {
    const absl::Status status = first();
    (void)then();
    return status;
  };
  return fault;
}

std::optional<Fault> Faults::KillZookeeperLeader() {
  return Kill({&fleet_.zookeepers[ZookeeperLeader()]});
}
std::optional<Fault> Faults::KillZookeeper() { return Kill({&Any(fleet_.zookeepers)}); }
std::optional<Fault> Faults::StopZookeeper() { return Stop({&Any(fleet_.zookeepers)}); }
std::optional<Fault> Faults::KillZookeepers() { return Kill(Every(fleet_.zookeepers)); }

std::optional<Fault> Faults::KillEverything() {
  std::optional<Fault> fault = Kill(fleet_.All());
  if (fault.has_value()) fault->what = "all processes at once";
  return fault;
}

}  // namespace shardmanager::testing
