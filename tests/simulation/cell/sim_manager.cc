#include "tests/simulation/cell/sim_manager.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {

constexpr Duration kMostBetweenReports = Seconds(3);
constexpr Duration kExpected = Seconds(5);
constexpr Duration kLookAgain = Milliseconds(50);
constexpr int64_t kMostDriftPpm = 9'000;

}  // namespace

SimManager::SimManager(Cluster& cluster, int region, int regions, uint64_t seed,
                       ManagerWitness& witness)
    : cluster_(cluster),
      region_(region),
      regions_(regions),
      name_(absl::StrCat("manager-r", region)),
      random_(seed),
      witness_(witness) {
  BeginLife();
}

SimManager::~SimManager() { process_->Kill(); }

void SimManager::BeginLife() {
  if (process_ != nullptr) process_->Kill();
  const int64_t drift = static_cast<int64_t>(random_.Below(2 * kMostDriftPpm + 1)) - kMostDriftPpm;
  process_ = std::make_shared<Process>(cluster_.schedule, name_, drift,
                                       Seconds(static_cast<int64_t>(random_.Below(100'000))));
  ledger_.emplace(kApp, name_, ++life_);
  process_->RunAfter(Some({}, Seconds(1)), [this, life = life_] { Tick(life); });
}

void SimManager::Begin(Restarts how) {
  plans_ = true;
  how_ = how;
  restarted_.clear();
}

void SimManager::GiveUp() {
  plans_ = false;
  ledger_->GiveUp();
}

void SimManager::Forget() { BeginLife(); }

void SimManager::ForgetCell() {
  ++round_;
  going_on_.clear();
  BeginLife();
}

Duration SimManager::Some(Duration least, Duration most) {
  return least + Duration(static_cast<int64_t>(
                     random_.Below(static_cast<uint64_t>((most - least).count() + 1))));
}

bool SimManager::IsMine(size_t server) const {
  return server % static_cast<size_t>(regions_) == static_cast<size_t>(region_);
}

void SimManager::Tick(uint64_t life) {
  if (life != life_) return;
  Plan();
  Report();
  process_->RunAfter(Some(Milliseconds(200), kMostBetweenReports), [this, life] { Tick(life); });
}

// Each server of the region that runs and is not restarted yet has an operation.
void SimManager::Plan() {
  if (!plans_) return;
  for (size_t i = 0; i < cluster_.servers().size(); ++i) {
    const std::string& name = cluster_.servers()[i];
    const SimServer* server = cluster_.server(name);
    const bool known = server != nullptr && server->incarnation() != Incarnation(0);
    if (!IsMine(i) || !known || restarted_.contains(name) || ledger_->HasOneOf(name)) continue;
    v1::ContainerOperation operation;
    operation.set_id(absl::StrCat(life_, "-", ++ids_, "/", name));
    operation.set_kind(v1::RESTART);
    operation.set_server(name);
    // What a manager knows may be old.
    const bool old = server->incarnation() > Incarnation(1) && random_.Below(4) == 0;
    operation.set_incarnation(server->incarnation().value() - (old ? 1 : 0));
    operation.set_expected_ms(static_cast<uint32_t>(kExpected / Milliseconds(1)));
    ledger_->Want(std::move(operation));
  }
}

void SimManager::Report() {
  const std::string host = cluster_.controls()[control_ % cluster_.controls().size()];
  const v1::ReportRequest request = ledger_->NextReport();
  const auto deliver = [this, host, request] {
    SimControl* control = cluster_.control(host);
    if (control == nullptr) return;
    control->controller().operations().Report(
        request, [this, host, request](const absl::StatusOr<v1::ReportResponse>& response) {
          Answered(host, request, response);
        });
  };
  SimControl* control = cluster_.control(host);
  if (control == nullptr) {  // refuses the connection
    ++control_;
    return;
  }
  Network& network = cluster_.network;
  const std::shared_ptr<Process> there = control->process();
  if (network.Lucky(network.habits.duplication)) {
    cluster_.schedule.After(Some({}, network.habits.straggler), [this, there, deliver] {
      cluster_.network.Send(name_, there, deliver);
    });
  }
  network.Send(name_, there, deliver, [this, life = life_] {
    if (life == life_) ++control_;  // no answer: another one may lead
  });
}

// In the process of the control plane.
void SimManager::Answered(const std::string& leader, const v1::ReportRequest& request,
                          const absl::StatusOr<v1::ReportResponse>& response) {
  if (response.ok()) {
    for (const v1::OperationAnswer& answer : response->answers()) {
      for (const v1::ContainerOperation& operation : request.operations()) {
        if (operation.id() == answer.id()) witness_.Told(leader, name_, operation, answer);
      }
    }
  }
  cluster_.network.Send(leader, process_, [this, request, response, life = life_] {
    if (life != life_ || request.manager_life() != life) return;
    if (response.ok()) return Hear(request.sequence(), *response);
    if (!absl::IsAborted(response.status())) ++control_;
  });
}

void SimManager::Hear(uint64_t sequence, const v1::ReportResponse& response) {
  const auto uses = [this](const v1::ContainerOperation&) { return random_.Below(8) != 0; };
  const local::OperationLedger::Heard heard = ledger_->Hear(sequence, response, uses);
  for (const v1::ContainerOperation& operation : heard.act) Act(operation);
  if (heard.report_again) Report();
}

void SimManager::Act(const v1::ContainerOperation& operation) {
  const std::string& name = operation.server();
  SimServer* server = cluster_.server(name);
  const Incarnation life(operation.incarnation());
  witness_.Acts(name_, operation);
  if (server == nullptr || server->incarnation() != life) {  // it has been restarted by itself
    return ledger_->Finish(operation.id());
  }
  going_on_.insert(operation.id());
  const std::string endpoint = server->endpoint();
  const bool rude = how_ == Restarts::kRude || (how_ == Restarts::kEither && random_.Below(2) == 0);
  if (rude) {
    cluster_.Kill(name);
  } else {
    cluster_.Terminate(name);
  }
  cluster_.store.LookAtLinks();
  AwaitStop({name, endpoint, operation.id(), round_});
}

// The machine goes on with what was begun, whatever becomes of its manager.
void SimManager::AwaitStop(const Going& going) {
  if (going.round != round_) return;
  const SimServer* server = cluster_.server(going.server);
  if (server != nullptr && server->endpoint() == going.endpoint) {
    cluster_.schedule.After(kLookAgain, [this, going] { AwaitStop(going); });
    return;
  }
  cluster_.schedule.After(Some(Milliseconds(100), Seconds(4)), [this, going] {
    if (going.round != round_) return;
    cluster_.Start(going.server);
    restarted_.insert(going.server);
    going_on_.erase(going.operation);
    ledger_->Finish(going.operation);
  });
}

bool SimManager::done() const {
  if (!ledger_->entries().empty() || !going_on_.empty()) return false;
  for (size_t i = 0; i < cluster_.servers().size(); ++i) {
    const std::string& name = cluster_.servers()[i];
    if (IsMine(i) && !cluster_.lasting.gone.contains(name) && !restarted_.contains(name)) {
      return false;
    }
  }
  return true;
}

bool SimManager::MayStillAct(const std::string& id) const {
  return going_on_.contains(id) || ledger_->MayStillAct(id);
}

std::string SimManager::Describe() const {
  std::string text = absl::StrCat(name_, ":");
  for (const auto& [id, entry] : ledger_->entries()) {
    absl::StrAppend(&text, " ", id, " of life ", entry.operation.incarnation(), " is ",
                    v1::OperationVerdict_Name(entry.heard.verdict()));
    for (const v1::OperationDelay& delay : entry.heard.delays()) {
      absl::StrAppend(&text, " (", delay.reason(), ": ", delay.message(), ")");
    }
    absl::StrAppend(&text, ";");
  }
  return text;
}

}  // namespace shardmanager::simulation
