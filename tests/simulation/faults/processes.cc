#include "absl/strings/str_cat.h"
#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {
namespace {

// Sometimes before its old session has expired.
void KillAndRestart(FaultScene& scene, const std::string& host) {
  if (!scene.cluster.Alive(host)) return;
  scene.Tell("kill " + host);
  scene.cluster.Kill(host);
  scene.Until(scene.random.Below(2) == 0 ? Milliseconds(500) : Seconds(15),
              [&scene, host] { scene.cluster.Start(host); });
}

// What stalls a machine often breaks its links next, before anybody has heard that it
// lives.
void CutSoon(FaultScene& scene, const std::string& host) {
  scene.cluster.schedule.After(
      Duration(static_cast<int64_t>(scene.random.Below(60'000))), [&scene, host] {
        if (!scene.on()) return;
        scene.Tell(absl::StrCat("cut ", host, " -> store"));
        scene.cluster.network.Cut(host, kStoreHost);
        scene.Until(Seconds(12), [&scene, host] { scene.cluster.network.Mend(host, kStoreHost); });
        scene.cluster.store.LookAtLinks();
      });
}

void PauseFor(FaultScene& scene, const std::string& host, Duration exactly) {
  if (!scene.cluster.Running(host)) return;
  scene.Tell("pause " + host);
  scene.cluster.Pause(host);
  scene.UntilAfter(exactly, [&scene, host] {
    scene.Tell("resume " + host);
    scene.cluster.Resume(host);
    if (scene.on() && scene.random.Below(2) == 0) CutSoon(scene, host);
  });
}

}  // namespace

void KillServer(FaultScene& scene) { KillAndRestart(scene, scene.SomeServer()); }
void KillControl(FaultScene& scene) { KillAndRestart(scene, scene.SomeControl()); }

void TerminateServer(FaultScene& scene) {
  const std::string host = scene.SomeServer();
  if (!scene.cluster.Running(host)) return;
  scene.Tell("terminate " + host);
  scene.cluster.Terminate(host);
  scene.Until(Seconds(20), [&scene, host] { scene.cluster.Start(host); });
}
void TerminateControl(FaultScene& scene) {
  const std::string host = scene.SomeControl();
  if (!scene.cluster.Running(host)) return;
  scene.Tell("terminate " + host);
  scene.cluster.Terminate(host);
  scene.Until(Seconds(10), [&scene, host] { scene.cluster.Start(host); });
}

// Its next life begins at once, as the session of this one ends with it.
void BeginAnew(FaultScene& scene, const std::string& host) {
  scene.cluster.store.ExpireOneOf(host);
  scene.cluster.Kill(host);
  scene.cluster.Start(host);
  scene.cluster.store.LookAtLinks();
}

// Its next life is over again before everybody has heard of it.
void Flicker(FaultScene& scene) {
  const std::string host = scene.SomeServer();
  if (!scene.cluster.Running(host)) return;
  scene.Tell("flicker " + host);
  for (const std::string& control : scene.cluster.controls()) SlowStoreOf(scene, control);
  BeginAnew(scene, host);
  scene.Until(Milliseconds(1'500), [&scene, host] {
    scene.cluster.Terminate(host);
    scene.Until(Seconds(20), [&scene, host] { scene.cluster.Start(host); });
  });
}

// Often for less than its session's time-out: what it does then, it does under a session that has
// little left.
void PauseServer(FaultScene& scene) {
  const bool survives = scene.random.Below(2) == 0;
  PauseFor(scene, scene.SomeServer(),
           scene.UpTo(survives ? scene.cluster.session_timeout() : Seconds(12)));
}
void PauseControl(FaultScene& scene) {
  PauseFor(scene, scene.SomeControl(), scene.UpTo(Seconds(12)));
}

// The leader stands still, or is cut off from the store, until another one has taken over, and has
// something to do; what the old one sent comes again, late.
void Depose(FaultScene& scene) {
  const std::string host = scene.cluster.Leader();
  if (host.empty()) return;
  scene.Tell("depose " + host);
  MoveSomething(scene);
  scene.cluster.network.habits.duplication = 1;
  scene.cluster.network.habits.straggler = Seconds(10);
  const Duration over = scene.cluster.session_timeout() + scene.UpTo(Seconds(4));
  scene.UntilAfter(over, [&scene] { scene.cluster.network.habits.duplication = 0; });
  scene.cluster.schedule.After(scene.UpTo(Seconds(1)), [&scene, host, over] {
    if (!scene.on()) return;
    if (scene.random.Below(2) == 0) return PauseFor(scene, host, over);
    scene.Tell(absl::StrCat("cut ", host, " -> store"));
    scene.cluster.network.Cut(host, kStoreHost);
    scene.UntilAfter(over, [&scene, host] { scene.cluster.network.Mend(host, kStoreHost); });
    scene.cluster.store.LookAtLinks();
  });
  scene.cluster.schedule.After(over, [&scene] {
    if (scene.on()) MoveSomething(scene);
  });
}

void RestartAll(FaultScene& scene) {
  scene.Tell("all servers, and sometimes the control plane, are killed while something moves");
  MoveSomething(scene);
  scene.UntilAfter(scene.UpTo(Seconds(1)), [&scene] {
    if (!scene.on()) return;
    std::vector<std::string> hosts = scene.cluster.servers();
    if (scene.random.Below(2) == 0) {
      const auto& controls = scene.cluster.controls();
      hosts.insert(hosts.end(), controls.begin(), controls.end());
    }
    const Duration away = scene.UpTo(Seconds(20));
    for (const std::string& host : hosts) {
      if (!scene.cluster.Alive(host)) continue;
      scene.cluster.Kill(host);
      scene.UntilAfter(scene.UpTo(away), [&scene, host] { scene.cluster.Start(host); });
    }
  });
}

void LoseMajority(FaultScene& scene) {
  const std::string behind = scene.SomeServer();
  const std::string spare = scene.SomeServer();
  const auto others = [&scene, behind](auto what) {
    for (const std::string& server : scene.cluster.servers()) {
      if (server != behind) what(server);
    }
  };
  scene.Tell(absl::StrCat(behind, " misses what is written; then all others but ", spare, " go"));
  others([&](const std::string& server) {
    scene.cluster.network.Cut(server, behind);
    scene.cluster.network.Cut(behind, server);
  });
  const Duration missing = Seconds(1) + scene.UpTo(Seconds(3));
  const Duration away = 3 * scene.cluster.session_timeout() + scene.UpTo(Seconds(10));
  scene.UntilAfter(missing, [&scene, behind, spare, others, away] {
    others([&](const std::string& server) {
      scene.cluster.network.Mend(server, behind);
      scene.cluster.network.Mend(behind, server);
      if (!scene.on() || server == spare || !scene.cluster.Alive(server)) return;
      scene.cluster.Kill(server);
      scene.UntilAfter(away, [&scene, server] { scene.cluster.Start(server); });
    });
  });
}

}  // namespace shardmanager::simulation
