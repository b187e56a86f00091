#include "taskcontroller/shell/task_driver.h"

#include <utility>
#include <variant>

namespace shardmanager::taskcontroller {
TaskDriver::TaskDriver(Executor& executor, OperationStore::Context store, FleetPorts ports)
    : executor_(executor),
      ports_(std::move(ports)),
      store_(std::move(store)),
      core_(executor, TaskController(),
            [this](Action& action) { std::visit([this](auto& a) { Do(a); }, action); }) {}

TaskDriver::~TaskDriver() {
  for (auto& [ticket, reply] : std::exchange(replies_, {})) {
    reply(absl::UnavailableError("this process does not manage the app any more; report again"));
  }
}

void TaskDriver::Read(std::function<void(absl::Status)> done) {
  store_.Read([this, done](absl::StatusOr<HeldOperations> held) {
    if (held.ok()) stored_ = *std::move(held);
    done(held.status());
  });
}

void TaskDriver::Begin(const Policy& policy) {
  begun_ = true;
  core_.Handle(Recovered{policy, std::exchange(stored_, {})});
}

void TaskDriver::Report(taskcontroller::Report report, Reply reply) {
  report.ticket = ++tickets_;
  replies_.emplace(report.ticket, std::move(reply));
  core_.Handle(Reported{std::move(report)});
}

void TaskDriver::Do(LookAtFleet&) {
  executor_.Post([this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    ports_.look([this](const FleetView& view) { core_.Handle(FleetSeen{&view}); });
  });
}

void TaskDriver::Do(Persist& action) {
  store_.Write(action.held, [this, write = action.write](const absl::Status& status) {
    if (absl::IsFailedPrecondition(status)) return ports_.deposed();
    core_.Handle(Written{write, status.ok()});
  });
}

void TaskDriver::Do(Answer& action) {
  const auto found = replies_.find(action.ticket);
  if (found == replies_.end()) return;
  const Reply reply = std::move(found->second);
  replies_.erase(found);
  if (!action.status.ok()) return reply(action.status);
  reply(std::move(action.response));
}

}  // namespace shardmanager::taskcontroller
