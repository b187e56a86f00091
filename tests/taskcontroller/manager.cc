#include "tests/taskcontroller/manager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::taskcontroller {

SimManager::SimManager(std::string name, uint32_t region, Fleet& fleet, Random& random, After after)
    : name_(std::move(name)),
      region_(region),
      fleet_(fleet),
      random_(random),
      after_(std::move(after)) {}

Duration SimManager::Some(int64_t least_ms, int64_t most_ms) {
  return Milliseconds(least_ms + static_cast<int64_t>(
                                     random_.Below(static_cast<uint64_t>(most_ms - least_ms + 1))));
}

void SimManager::Start() {
  Plan();
  Tick();
}

// Each server that is not restarted yet has an operation.
void SimManager::Plan() {
  for (const TrueServer& server : fleet_.servers()) {
    const bool planned = std::any_of(operations_.begin(), operations_.end(),
                                     [&](const auto& o) { return o.second.server == server.name; });
    if (server.region != region_ || planned || restarted_.contains(server.name)) continue;
    operations_[absl::StrCat("restart-", ++ids_)] = {.server = server.name, .life = server.life};
  }
}

void SimManager::Tick() {
  if (!silent_) SendReport();
  after_(Some(200, 3'000), [this] { Tick(); });
}

void SimManager::SendReport() {
  Report report{.manager = name_, .manager_life = life_, .sequence = ++sequence_};
  for (const auto& [id, operation] : operations_) {
    report.operations.push_back({.id = id,
                                 .info = {.kind = v1::RESTART,
                                          .server = operation.server,
                                          .life = Incarnation(operation.life),
                                          .expected = Seconds(5)},
                                 .stage = operation.stage});
  }
  send(std::move(report));
}

void SimManager::Hear(uint64_t sequence, const v1::ReportResponse& response) {
  if (silent_ || sequence != sequence_) return;  // only the answer to the newest report counts
  bool report = false;
  for (const v1::OperationAnswer& answer : response.answers()) {
    const auto found = operations_.find(answer.id());
    if (found == operations_.end()) continue;
    Operation& operation = found->second;
    switch (answer.verdict()) {
      case v1::OPERATION_APPROVED:
        // Some approvals are not used in time.
        if (operation.stage != ReportedStage::kWaiting || random_.Below(8) == 0) break;
        operation.stage = ReportedStage::kBegin;
        report = true;
        break;
      case v1::OPERATION_GO:
        operation.stage = std::max(operation.stage, ReportedStage::kBegin);
        if (operation.stage == ReportedStage::kBegin && !operation.acting) Act(answer.id());
        break;
      case v1::OPERATION_DELAYED:
        if (!operation.acting) operation.stage = ReportedStage::kWaiting;
        break;
      case v1::OPERATION_REFUSED:
      case v1::OPERATION_DONE:
        operations_.erase(found);
        Plan();
        break;
      default:
        break;
    }
  }
  if (report) SendReport();
}

void SimManager::Act(const std::string& id) {
  Operation& operation = operations_.at(id);
  TrueServer& server = fleet_.Find(operation.server);
  operation.acting = true;
  going_on_.insert(id);
  ++acted_;
  const bool mine = server.life == operation.life;
  const auto end = [this, id, name = operation.server, mine] {
    going_on_.erase(id);
    if (mine) restarted_.insert(name);
    const auto found = operations_.find(id);
    if (found != operations_.end()) found->second.stage = ReportedStage::kFinished;
  };
  if (!mine) return end();  // it has been restarted by itself
  after_(Some(0, 1'000), [this, &server, end, life = operation.life] {
    if (server.life == life) Stop(server);
    after_(Some(100, 4'000), [this, &server, end] {
      StartAgain(server);
      end();
    });
  });
}

void SimManager::Vanish(Duration how_long, bool amnesia) {
  silent_ = true;
  if (amnesia) {
    ++life_;
    sequence_ = 0;
    operations_.clear();
  }
  after_(how_long, [this, absence = ++absences_] {
    if (absence == absences_) Return();
  });
}

void SimManager::Return() {
  silent_ = false;
  Plan();
}

void SimManager::Stop(TrueServer& server) {
  server.live = false;
  for (TrueReplica& replica : server.replicas) replica.serving = false;
}

void SimManager::StartAgain(TrueServer& server) {
  if (server.live) return;
  server.live = true;
  ++server.life;
  for (TrueReplica& replica : server.replicas) {
    after_(Some(50, 2'000), [&server, &replica, life = server.life] {
      if (server.live && server.life == life) replica.serving = true;
    });
  }
}

bool SimManager::done() const {
  return std::all_of(fleet_.servers().begin(), fleet_.servers().end(), [&](const auto& server) {
    return server.region != region_ || restarted_.contains(server.name);
  });
}

bool SimManager::MayStillAct(const std::string& id) const {
  if (going_on_.contains(id)) return true;
  const auto found = operations_.find(id);
  return found != operations_.end() && found->second.stage != ReportedStage::kFinished;
}

std::string SimManager::Describe() const {
  std::string text = absl::StrCat(name_, silent_ ? " (silent)" : "", ": ");
  for (const auto& [id, operation] : operations_) {
    absl::StrAppend(&text, id, " of ", operation.server, " life ", operation.life, ", ");
  }
  return text;
}

}  // namespace shardmanager::taskcontroller
