#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/simulation/faults/faults.h"

namespace shardmanager::simulation {

void LeaveForGood(FaultScene& scene) {
  const std::string host = scene.SomeServer();
  if (scene.person.Free().size() < 3) return;
  scene.Tell(host + " leaves for good");
  scene.cluster.Leave(host);
  scene.cluster.store.LookAtLinks();
}
// A crash, and then a life that ends with a good-bye while the leader, to whom the store is slow,
// looks at it.
void LeaveUnseen(FaultScene& scene) {
  const std::string host = scene.SomeServer();
  if (scene.person.Free().size() < 3 || !scene.cluster.Running(host)) return;
  scene.Tell(host + " crashes, begins anew, and leaves for good; the store is slow");
  for (const std::string& control : scene.cluster.controls()) {
    scene.cluster.store.SetSlow(control, Milliseconds(700));
    scene.cluster.schedule.After(
        Seconds(5), [&scene, control] { scene.cluster.store.SetSlow(control, Duration(0)); });
  }
  BeginAnew(scene, host);
  scene.cluster.schedule.After(scene.UpTo(Milliseconds(1'500)), [&scene, host] {
    scene.cluster.Retire(host);
    scene.cluster.store.LookAtLinks();
  });
}
void GoGray(FaultScene& scene) {
  const std::string one = scene.SomeServer();
  const std::string other = scene.SomeServer();
  if (one == other) return;
  scene.Tell(absl::StrCat(one, " and ", other, " cannot reach each other any more"));
  scene.cluster.BreakLink(one, other);
}
// A primary cannot reach the first one of its secondaries any more, and all of these begin anew:
// that one will never come into step, which must not keep the others from it.
void KeepOutOfStep(FaultScene& scene) {
  for (const v1::Shard& shard : scene.person.wanted().key_space().shards()) {
    std::string primary;
    std::vector<std::string> secondaries;
    for (const std::string& name : scene.cluster.servers()) {
      SimServer* server = scene.cluster.server(name);
      const auto right = server == nullptr ? std::nullopt : server->MayServe(shard.id());
      if (!right) continue;
      if (right->role == Role::kPrimary) primary = name;
      if (right->role == Role::kSecondary) secondaries.push_back(name);
    }
    if (primary.empty() || secondaries.size() < 2) continue;
    const std::string& first = secondaries.front();
    scene.Tell(absl::StrCat(primary, " and ", first, " cannot reach each other any more, and ",
                            absl::StrJoin(secondaries, " "), " begin anew"));
    scene.cluster.BreakLink(primary, first);
    for (const std::string& name : secondaries) BeginAnew(scene, name);
    return;
  }
}
void LoseCell(FaultScene& scene) {
  scene.Tell("the store is lost, and the cell is made anew");
  scene.person.MakeCellAnew();
}
void FallSick(FaultScene& scene) {
  const std::string host = scene.SomeServer();
  if (scene.person.Free().size() < 3) return;
  scene.Tell(host + " can add no shard any more");
  scene.cluster.habits.sick.insert(host);
}

}  // namespace shardmanager::simulation
