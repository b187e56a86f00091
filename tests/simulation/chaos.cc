#include "tests/simulation/chaos.h"

#include <utility>

namespace shardmanager::simulation {

Chaos::Chaos(Cluster& cluster, Operator& person, Managers& managers, uint64_t seed,
             std::function<void(const std::string&)> told)
    : scene_(cluster, person, managers, seed, std::move(told)),
      loses_cell_(Random(~seed).Below(5) == 0) {
  const double density = 0.2 + 0.8 * scene_.random.Fraction();
  for (const FaultKind& kind : PassingFaults()) {
    if (scene_.random.Fraction() < density) enabled_.push_back(kind.fault);
  }
  pause_ = Milliseconds(static_cast<int64_t>(500 + scene_.random.Below(6'000)));
}

void Chaos::Start() {
  scene_.Begin();
  PlanLasting();
  Next();
}

// A world that always heals hides what only a restart would mend.
void Chaos::PlanLasting() {
  // A quorum that has lost most of its members for good needs its operator (docs/operations.md),
  // and while members come and go one server may be most of them: one leaves at rest, later.
  if (scene_.cluster.quorum) return PlanLossesOfMajority();
  if (scene_.cluster.durable) return PlanRestartsOfAll();
  leaves_late_ = scene_.random.Below(3) == 0;
  // A primary that cannot reach one of its secondaries is what the others have to bear.
  if (scene_.cluster.replicates && scene_.random.Below(2) == 0) lasting_.push_back(&GoGray);
  starves_late_ = scene_.cluster.replicates && scene_.random.Below(2) == 0;
  const bool more = scene_.random.Below(3) == 0;
  for (Fault kind : {&simulation::LeaveForGood, &GoGray, &FallSick}) {
    if (more && scene_.random.Below(2) == 0) lasting_.push_back(kind);
  }
  if (loses_cell_) lasting_.push_back(&LoseCell);
  for (size_t i = lasting_.size(); i > 0; --i) {
    scene_.cluster.schedule.After(scene_.UpTo(Seconds(60)), [this] {
      if (!scene_.on() || lasting_.empty()) return;
      ++faults_;
      lasting_.back()(scene_);
      lasting_.pop_back();
    });
  }
}

// What only most of the members know must not be lost with them.
void Chaos::PlanLossesOfMajority() {
  if (scene_.random.Below(2) == 0) return;
  Plan(&LoseMajority);
}

// What is on disk must not be lost, whoever comes back first.
void Chaos::PlanRestartsOfAll() {
  starves_late_ = scene_.random.Below(2) == 0;
  Plan(&RestartAll);
}

void Chaos::Plan(Fault fault) {
  constexpr int kTimes = 3;
  for (int i = 0; i < kTimes; ++i) {
    scene_.cluster.schedule.After(scene_.UpTo(Seconds(60)), [this, fault] {
      if (!scene_.on()) return;
      ++faults_;
      fault(scene_);
    });
  }
}

void Chaos::Next() {
  scene_.cluster.schedule.After(scene_.UpTo(pause_), [this] {
    if (!scene_.on()) return;
    if (!enabled_.empty()) {
      ++faults_;
      enabled_[scene_.random.Below(enabled_.size())](scene_);
      scene_.cluster.store.LookAtLinks();
    }
    Next();
  });
}

void Chaos::Heal() {
  scene_.Tell("all faults end");
  scene_.UndoAll();
  for (Fault fault : std::exchange(lasting_, {})) fault(scene_);
  const auto soon = [this](Fault fault) {
    scene_.cluster.schedule.After(scene_.UpTo(Seconds(15)), [this, fault] { fault(scene_); });
  };
  if (leaves_late_) soon(&LeaveUnseen);
  if (starves_late_) soon(&KeepOutOfStep);
  scene_.cluster.StartAll();
  scene_.cluster.store.LookAtLinks();
}

}  // namespace shardmanager::simulation
