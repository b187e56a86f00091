// The shell around one TaskController: one app's container operations. Clock, store and whoever
// knows the fleet are here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/core_driver.h"
#include "runtime/executor.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/core/task_controller.h"
#include "taskcontroller/shell/operation_store.h"

namespace shardmanager::taskcontroller {

// Whoever knows the fleet, and can prepare servers for operations.
struct FleetPorts {
  // Calls `use` at once with what is there now.
  std::function<void(const std::function<void(const FleetView&)>& use)> look;
  // All orders that hold from now on.
  std::function<void(const std::vector<ServerOrder>& orders)> order;
  // For logs and events.
  std::function<void(const Note& note)> note;
  // Another process leads.
  std::function<void()> deposed;
};

// Made, used and destroyed on the executor's thread.
class TaskDriver {
 public:
  using Reply = std::function<void(absl::StatusOr<v1::ReportResponse>)>;

  // The executor must outlive it. What `store.post` was given must not run once this is gone.
  TaskDriver(Executor& executor, OperationStore::Context store, FleetPorts ports);
  ~TaskDriver();

  // Reads what is stored. `done`: the state is there; or why it cannot be read: see OperationStore.
  void Read(std::function<void(absl::Status)> done);
  // Orders what follows from what is stored. REQUIRES: Read() was answered with OK.
  void Begin(const Policy& policy);
  bool begun() const { return begun_; }

  void ChangePolicy(const Policy& policy) { core_.Handle(PolicyChanged{policy}); }
  // REQUIRES for all below: begun().
  void Report(Report report, Reply reply);
  // REQUIRES: a manager reports it.
  void Force(Forced forced) { core_.Handle(std::move(forced)); }
  // REQUIRES: it has begun.
  void End(Ended ended) { core_.Handle(std::move(ended)); }
  const TaskController& state() const { return core_.core(); }

 private:
  void Do(LookAtFleet& action);
  void Do(Persist& action);
  void Do(Answer& action);
  void Do(Order& action) { ports_.order(action.orders); }
  void Do(Note& action) { ports_.note(action); }

  Executor& executor_;
  const FleetPorts ports_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
  OperationStore store_;
  HeldOperations stored_;  // until Begin()
  bool begun_ = false;
  CoreDriver<TaskController> core_;
  uint64_t tickets_ = 0;
  std::map<uint64_t, Reply> replies_;
};

}  // namespace shardmanager::taskcontroller
