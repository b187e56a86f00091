#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

namespace {
constexpr size_t kMostServers = 12;
}  // namespace

void SlowAdds(FaultScene& scene) {
  scene.Tell("slow adds");
  scene.cluster.habits.slowest_add = scene.UpTo(Seconds(8));
  scene.Until(Seconds(20), [&scene] { scene.cluster.habits.slowest_add = Milliseconds(50); });
}
void FailAdds(FaultScene& scene) {
  scene.Tell("failing adds");
  scene.cluster.habits.add_fails = scene.random.Fraction();
  scene.Until(Seconds(10), [&scene] { scene.cluster.habits.add_fails = 0; });
}
void HangDrops(FaultScene& scene) {
  scene.Tell("hanging drops");
  scene.cluster.habits.slowest_drop = scene.UpTo(Seconds(20));
  scene.Until(Seconds(20), [&scene] { scene.cluster.habits.slowest_drop = Milliseconds(20); });
}
void FailDrops(FaultScene& scene) {
  scene.Tell("failing drops");
  scene.cluster.habits.drop_fails = scene.random.Fraction();
  scene.Until(Seconds(10), [&scene] { scene.cluster.habits.drop_fails = 0; });
}
void SlowRequests(FaultScene& scene) {
  scene.Tell("slow requests");
  scene.cluster.habits.slowest_work = scene.UpTo(Seconds(3));
  scene.Until(Seconds(10), [&scene] { scene.cluster.habits.slowest_work = Milliseconds(20); });
}
// Where a server is sick, moves are as many as there are without this.
void MoveSomething(FaultScene& scene) {
  if (scene.cluster.habits.sick.empty()) scene.person.DrainSomething();
}
void ChangeSpec(FaultScene& scene) {
  scene.Tell("change the spec");
  scene.person.ChangeSomething();
}
void NotifySomething(FaultScene& scene) {
  scene.Tell("notice of a maintenance, or its end");
  scene.person.NotifySomething();
}
void AddServer(FaultScene& scene) {
  if (scene.cluster.servers().size() >= kMostServers) return;
  scene.Tell("add a server");
  scene.cluster.AddServer();
}

}  // namespace shardmanager::simulation
