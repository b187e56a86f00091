#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {
namespace {

SimManager* SomeManager(FaultScene& scene) {
  if (scene.managers.empty()) return nullptr;
  return scene.managers[scene.random.Below(scene.managers.size())].get();
}

}  // namespace

void ManagerVanishes(FaultScene& scene) {
  SimManager* manager = SomeManager(scene);
  if (manager == nullptr) return;
  scene.Tell(manager->name() + " stands still");
  manager->Pause();
  scene.Until(Seconds(50), [&scene, manager] {
    scene.Tell(manager->name() + " goes on");
    manager->Resume();
  });
}
void ManagerForgets(FaultScene& scene) {
  SimManager* manager = SomeManager(scene);
  if (manager == nullptr) return;
  scene.Tell(manager->name() + " begins anew and has forgotten everything");
  manager->Forget();
}

}  // namespace shardmanager::simulation
