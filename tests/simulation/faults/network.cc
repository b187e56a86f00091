#include "absl/strings/str_cat.h"
#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

void CutOneWay(FaultScene& scene) {
  const std::string from = scene.SomeHost();
  const std::string to = scene.SomeHost();
  scene.Tell(absl::StrCat("cut ", from, " -> ", to));
  scene.cluster.network.Cut(from, to);
  scene.Until(Seconds(15), [&scene, from, to] { scene.cluster.network.Mend(from, to); });
}
void IsolateHost(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell("isolate " + host);
  scene.cluster.network.Isolate(host);
  scene.Until(Seconds(15), [&scene, host] { scene.cluster.network.Rejoin(host); });
}
void CutFromStore(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell(absl::StrCat("cut ", host, " -> store"));
  scene.cluster.network.Cut(host, kStoreHost);
  scene.Until(Seconds(12), [&scene, host] { scene.cluster.network.Mend(host, kStoreHost); });
}
// Mostly for longer than its session lasts without being heard of.
void StrandFromStore(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell(absl::StrCat("strand ", host, " with a follower that is cut off"));
  scene.cluster.store.Strand(host, true);
  const Duration outlived =
      scene.random.Below(4) == 0 ? Duration(0) : scene.cluster.session_timeout();
  scene.UntilAfter(outlived + scene.UpTo(Seconds(5)),
                   [&scene, host] { scene.cluster.store.Strand(host, false); });
}
// Up to syncLimit ticks, which may be longer than a session.
void DeposeStoreLeader(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell("depose the store's leader, to whom " + host + " talks");
  scene.cluster.store.Depose(host, true);
  scene.Until(Seconds(15), [&scene, host] { scene.cluster.store.Depose(host, false); });
}
void ComeBackToLag(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell(host + " comes back to a server of the store that lags");
  scene.cluster.store.ComeBackToLag(host);
}
void IsolateRelay(FaultScene& scene) {
  const std::string host =
      scene.cluster.relays()[scene.random.Below(scene.cluster.relays().size())];
  scene.Tell("isolate " + host);
  scene.cluster.network.Isolate(host);
  scene.Until(Seconds(15), [&scene, host] { scene.cluster.network.Rejoin(host); });
}
void CutLeaderFromServer(FaultScene& scene) {
  const std::string from = scene.cluster.Leader();
  const std::string to = scene.SomeServer();
  if (from.empty()) return;
  scene.Tell(absl::StrCat("cut ", from, " -> ", to));
  scene.cluster.network.Cut(from, to);
  scene.Until(Seconds(15), [&scene, from, to] { scene.cluster.network.Mend(from, to); });
  // It is to let go, and cannot be told.
  if (scene.cluster.habits.sick.empty()) scene.person.DrainIfFree(to);
}
void LoseMessages(FaultScene& scene) {
  scene.Tell("lose messages");
  scene.cluster.network.habits.loss = 0.2 * scene.random.Fraction();
  scene.Until(Seconds(10), [&scene] { scene.cluster.network.habits.loss = 0; });
}
void DuplicateCommands(FaultScene& scene) {
  scene.Tell("duplicate commands");
  scene.cluster.network.habits.duplication = scene.random.Fraction();
  scene.cluster.network.habits.straggler = scene.UpTo(Seconds(16));
  scene.Until(Seconds(20), [&scene] { scene.cluster.network.habits.duplication = 0; });
  // A repeat matters when its shard has gone on meanwhile: what moves now moves again.
  for (int i = 0; i < 6; ++i) {
    scene.cluster.schedule.After(Seconds(3 * i), [&scene] {
      if (scene.on()) MoveSomething(scene);
    });
  }
}
void SlowNetwork(FaultScene& scene) {
  scene.Tell("slow network");
  scene.cluster.network.habits.most = Milliseconds(2) + scene.UpTo(Milliseconds(400));
  scene.Until(Seconds(15), [&scene] { scene.cluster.network.habits.most = Milliseconds(2); });
}

}  // namespace shardmanager::simulation
