#include "tests/simulation/faults/fault_scene.h"

#include <utility>

namespace shardmanager::simulation {

void FaultScene::UndoAll() {
  on_ = false;
  while (!undos_.empty()) {
    const auto undo = std::move(undos_.front());
    undos_.pop_front();
    if (undo) undo();
  }
}

void FaultScene::UntilAfter(Duration exactly, std::function<void()> undo) {
  undos_.push_back(std::move(undo));
  const auto it = std::prev(undos_.end());
  cluster.schedule.After(exactly, [this, it] {
    if (!on_) return;  // healed: gone from the list
    const auto now = std::move(*it);
    undos_.erase(it);
    now();
    cluster.store.LookAtLinks();
  });
}

Duration FaultScene::UpTo(Duration most) {
  return Duration(static_cast<int64_t>(random.Below(most.count() + 1)));
}

const std::string& FaultScene::SomeServer() {
  return cluster.servers()[random.Below(cluster.servers().size())];
}

const std::string& FaultScene::SomeControl() {
  return cluster.controls()[random.Below(cluster.controls().size())];
}

std::string FaultScene::SomeHost() { return random.Below(3) == 0 ? SomeControl() : SomeServer(); }

}  // namespace shardmanager::simulation
