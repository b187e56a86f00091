#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

// Of the control plane only: that a server's session lives as long as its time-out is
// what the lease rests on (docs/invariants.md).
void ExpireSession(FaultScene& scene) {
  const std::string host = scene.SomeControl();
  scene.Tell("expire the session of " + host);
  scene.cluster.store.ExpireOneOf(host);
}
void LoseAnswer(FaultScene& scene) {
  const std::string host = scene.SomeHost();
  scene.Tell("lose the answer to a write of " + host);
  scene.cluster.store.LoseAnswerOf(host);
}
void StopStore(FaultScene& scene) {
  if (!scene.cluster.store.store_up()) return;
  scene.Tell("stop the store");
  scene.cluster.store.StopStore();
  scene.Until(Seconds(12), [&scene] {
    scene.Tell("start the store");
    scene.cluster.store.StartStore();
  });
}

void SlowStore(FaultScene& scene) { SlowStoreOf(scene, scene.SomeHost()); }
void SlowStoreOf(FaultScene& scene, const std::string& host) {
  scene.Tell("slow store for " + host);
  scene.cluster.store.SetSlow(host, scene.UpTo(Milliseconds(700)));
  scene.Until(Seconds(10), [&scene, host] { scene.cluster.store.SetSlow(host, Duration(0)); });
}

}  // namespace shardmanager::simulation
