#include "orchestrator/shell/app_tasks.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "orchestrator/shell/fleet_view.h"
#include "taskcontroller/describe/operations.h"
#include "taskcontroller/describe/rollouts.h"
#include "taskcontroller/state/stored_operations.h"

namespace shardmanager::orchestrator {

AppTasks::AppTasks(Executor& executor, taskcontroller::OperationStore::Context store, Ports ports)
    : ports_(std::move(ports)), driver_(executor, std::move(store), MakePorts()) {}

taskcontroller::FleetPorts AppTasks::MakePorts() {
  taskcontroller::FleetPorts ports;
  ports.look = [this](const auto& use) { use(ViewOf(ports_.state())); };
  ports.order = [this](const std::vector<ServerOrder>& orders) {
    ports_.order(OrdersChanged{orders});
  };
  ports.note = [this](const taskcontroller::Note& note) {
    v1::ControlEvent event;
    event.set_kind(std::string(NameOf(note.kind)));
    event.set_server(note.server);
    event.set_operation(note.operation);
    event.set_message(note.detail);
    ports_.record(std::move(event));
  };
  ports.deposed = ports_.deposed;
  return ports;
}

void AppTasks::Read(std::function<void(absl::Status)> done) {
  driver_.Read([this, done](const absl::Status& read) {
    const bool damaged = absl::IsDataLoss(read) || absl::IsUnimplemented(read);
    problem_ = damaged ? read : absl::OkStatus();
    done(damaged ? absl::OkStatus() : read);
  });
}

void AppTasks::Begin(const v1::AppSpec& spec) {
  if (problem_.ok()) driver_.Begin(taskcontroller::Policy(spec));
}

void AppTasks::ChangeSpec(const v1::AppSpec& spec) {
  if (driver_.begun()) driver_.ChangePolicy(taskcontroller::Policy(spec));
}

void AppTasks::Report(const v1::ReportRequest& request, taskcontroller::TaskDriver::Reply reply) {
  if (!problem_.ok()) {
    return reply(absl::DataLossError(
        absl::StrCat("the record of the app's container operations cannot be read, so nothing is "
                     "approved: ",
                     std::string(problem_.message()))));
  }
  absl::StatusOr<taskcontroller::Report> report = taskcontroller::ParseReport(request);
  if (!report.ok()) return reply(report.status());
  driver_.Report(*std::move(report), std::move(reply));
}

std::vector<v1::OperationStatus> AppTasks::Describe(const std::string& id, TimePoint now) const {
  if (!driver_.begun()) return {};
  const taskcontroller::TaskController& state = driver_.state();
  return DescribeOperations(state.held(), state.reports(), state.answers(), id, now);
}

std::vector<v1::RolloutStatus> AppTasks::DescribeRollouts(TimePoint now) const {
  if (!driver_.begun()) return {};
  const taskcontroller::TaskController& state = driver_.state();
  return taskcontroller::DescribeRollouts(state.held(), state.reports(), state.answers(),
                                          state.rollouts(), now);
}

absl::Status AppTasks::Approve(const v1::ApproveOperationRequest& request) {
  std::vector<taskcontroller::OperationKey> found;
  if (driver_.begun()) {
    for (const auto& [name, manager] : driver_.state().reports().managers()) {
      const bool meant = request.manager().empty() || request.manager() == name;
      if (meant && manager.operations.contains(request.id())) found.push_back({name, request.id()});
    }
  }
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no cluster manager reports an operation \"",
                                            request.id(), "\" of app \"", request.app(), "\""));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("manager: found nothing; allowed: one of those that report an operation \"",
                     request.id(), "\": ", found[0].manager, ", ", found[1].manager));
  }
  const taskcontroller::TaskController& state = driver_.state();
  const taskcontroller::ReportedOperation& reported = state.reports().Find(found.front())->reported;
  if (reported.info.kind == v1::START || reported.info.life == Incarnation(0) ||
      reported.stage == taskcontroller::ReportedStage::kFinished) {
    return absl::FailedPreconditionError(
        "there is nothing to approve: the operation is a start, is finished, or does not say which "
        "life of its server it means");
  }
  for (const auto& [key, held] : state.held()) {
    if (held.info.server != reported.info.server || key == found.front()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("operation ", key.manager, "/", key.id, " of the same server is under way"));
  }
  driver_.Force({found.front(), request.who()});
  return absl::OkStatus();
}

absl::Status AppTasks::End(const v1::EndOperationRequest& request) {
  std::vector<taskcontroller::OperationKey> found;
  if (driver_.begun()) {
    for (const auto& [key, held] : driver_.state().held()) {
      const bool meant = request.manager().empty() || request.manager() == key.manager;
      const bool begun = held.stage == taskcontroller::HeldStage::kBegun;
      if (meant && begun && key.id == request.id()) found.push_back(key);
    }
  }
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat("no operation \"", request.id(), "\" of app \"",
                                            request.app(), "\" has begun"));
  }
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "manager: found nothing; allowed: one of those that have begun an operation \"",
        request.id(), "\": ", found[0].manager, ", ", found[1].manager));
  }
  driver_.End({found.front(), request.who()});
  return absl::OkStatus();
}

}  // namespace shardmanager::orchestrator
