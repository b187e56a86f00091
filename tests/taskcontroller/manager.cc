#include "tests/taskcontroller/manager.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "taskcontroller/state/stored_operations.h"

namespace shardmanager::taskcontroller {
namespace {
const std::string kApp = "kv";
}  // namespace

SimManager::SimManager(std::string name, uint32_t region, Fleet& fleet, Random& random, After after)
    : name_(std::move(name)),
      region_(region),
      fleet_(fleet),
      random_(random),
      after_(std::move(after)),
      ledger_(kApp, name_, life_) {}

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
    const bool planned = ledger_.HasOneOf(server.name);
    if (server.region != region_ || planned || restarted_.contains(server.name)) continue;
    v1::ContainerOperation operation;
    operation.set_id(absl::StrCat("restart-", ++ids_));
    operation.set_kind(v1::RESTART);
    operation.set_server(server.name);
    operation.set_incarnation(server.life);
    operation.set_expected_ms(5'000);
    ledger_.Want(std::move(operation));
  }
}

void SimManager::Tick() {
  if (!silent_) SendReport();
  after_(Some(200, 3'000), [this] { Tick(); });
}

void SimManager::SendReport() {
  absl::StatusOr<Report> report = ParseReport(ledger_.NextReport());
  SM_CHECK(report.ok(), "a report that is not well-formed");
  send(*std::move(report));
}

void SimManager::Hear(uint64_t sequence, const v1::ReportResponse& response) {
  if (silent_) return;
  // Some approvals are not used in time.
  const auto uses = [this](const v1::ContainerOperation&) { return random_.Below(8) != 0; };
  const local::OperationLedger::Heard heard = ledger_.Hear(sequence, response, uses);
  for (const v1::ContainerOperation& operation : heard.act) Act(operation);
  if (!heard.ended.empty()) Plan();
  if (heard.report_again) SendReport();
}

void SimManager::Act(const v1::ContainerOperation& operation) {
  TrueServer& server = fleet_.Find(operation.server());
  going_on_.insert(operation.id());
  ++acted_;
  const bool mine = server.life == operation.incarnation();
  const auto end = [this, id = operation.id(), name = operation.server(), mine] {
    going_on_.erase(id);
    if (mine) restarted_.insert(name);
    ledger_.Finish(id);
  };
  if (!mine) return end();  // it has been restarted by itself
  after_(Some(0, 1'000), [this, &server, end, life = operation.incarnation()] {
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
    ledger_ = local::OperationLedger(kApp, name_, ++life_);
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
  return going_on_.contains(id) || ledger_.MayStillAct(id);
}

std::string SimManager::Describe() const {
  std::string text = absl::StrCat(name_, silent_ ? " (silent)" : "", ": ");
  for (const auto& [id, entry] : ledger_.entries()) {
    absl::StrAppend(&text, id, " of ", entry.operation.server(), " life ",
                    entry.operation.incarnation(), ", ");
  }
  return text;
}

}  // namespace shardmanager::taskcontroller
