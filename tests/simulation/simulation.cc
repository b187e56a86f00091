#include "tests/simulation/simulation.h"

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/simulation/chaos.h"
#include "tests/simulation/log_to_trace.h"
#include "tests/simulation/planned_events.h"
#include "tests/simulation/watched_cell.h"
#include "tests/simulation/why.h"

namespace shardmanager::simulation {
namespace {

class Run {
 public:
  explicit Run(const SimulationOptions& options)
      : cell_(options),
        chaos_(cell_.cluster, cell_.person, cell_.managers, cell_.random.Next(),
               [this](const std::string& what) { cell_.Trace(what); }) {}

  SimulationResult All() {
    cell_.person.ApplyUntilAcknowledged();
    std::optional<LogToTrace> log;
    if (cell_.options.log) {
      log.emplace([this](const std::string& line) { cell_.Print("    " + line); });
    }
    cell_.KeepSweeping();
    cell_.RunFor(Seconds(3));
    GoWrong();
    const TimePoint healed = cell_.cluster.schedule.now();
    cell_.AwaitRest("the faults ended");
    result_.converged_after = cell_.cluster.schedule.now() - healed - kRestAfterFaults;
    cell_.CheckAcknowledged();
    LoseMinority();
    AdoptHandovers();
    planned_.All();
    return Finish();
  }

 private:
  // Faults, and what operators and cluster managers do meanwhile.
  void GoWrong() {
    if (cell_.options.faults) chaos_.Start();
    if (cell_.Draw(2) == 0 && cell_.cluster.servers().size() > 3) {
      cell_.RollOut(Restarts::kEither);
    }
    cell_.KeepChangingLoads(cell_.cluster.schedule.now() + cell_.options.chaos);
    cell_.RunFor(cell_.options.chaos);
    cell_.cluster.loads.BecomeHonest();
    if (cell_.options.faults) chaos_.Heal();
    for (const auto& manager : cell_.managers) manager->GiveUp();
    cell_.checkers.ExpectCalm();
  }

  // With a quorum: of the three members that each shard has at rest, one is gone for good.
  void LoseMinority() {
    const auto spec = cell_.checkers.StoredSpec();
    if (!cell_.options.faults || !cell_.cluster.quorum || !spec) return;
    if (cell_.checkers.LeastReplicas(*spec) < 3 || !cell_.well() || cell_.Draw(2) == 0) return;
    chaos_.LeaveForGood();
    cell_.AwaitRest("a server left for good");
  }

  // Servers that cannot forward refuse requests in a planned move: they learn it before plans are
  // made.
  void AdoptHandovers() {
    if (!cell_.well() || cell_.person.wanted().moves().primary_move() != v1::DROP_THEN_ADD) return;
    cell_.person.AdoptHandoversUntilAcknowledged();
    cell_.AwaitAcknowledged();
    cell_.AwaitRest("moves became handovers");
  }

  SimulationResult Finish() {
    result_.violation = cell_.checkers.violation();
    if (!cell_.well() && cell_.options.trace) {
      TellMaps(cell_);
      AskWhy(cell_);
    }
    cell_.checkers.Mix(cell_.cluster.schedule.ran());
    result_.digest = cell_.checkers.digest();
    result_.simulated = cell_.cluster.schedule.now().time_since_epoch();
    result_.events = cell_.cluster.schedule.ran();
    result_.faults = chaos_.faults();
    for (const auto& client : cell_.cluster.clients()) {
      result_.calls += client->counts().calls;
      result_.answered += client->counts().answered;
    }
    return result_;
  }

  WatchedCell cell_;
  Chaos chaos_;
  PlannedEvents planned_{cell_};
  SimulationResult result_;
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) {
  return std::make_unique<Run>(options)->All();
}

}  // namespace shardmanager::simulation
