// Container operations of one app: the task controller over the app's partition.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/partition_state.h"
#include "runtime/executor.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/shell/task_driver.h"

namespace shardmanager::orchestrator {

// On the partition driver's thread.
class AppTasks {
 public:
  struct Ports {
    std::function<const PartitionState&()> state;
    std::function<void(OrdersChanged)> order;
    // For the event log.
    std::function<void(v1::ControlEvent)> record;
    std::function<void()> deposed;
  };
  AppTasks(Executor& executor, taskcontroller::OperationStore::Context store, Ports ports);

  // OK: Begin() may be called. Not OK: the store does not answer. A record that cannot be read is
  // problem().
  void Read(std::function<void(absl::Status)> done);
  // `spec`: with its defaults. Orders come before it returns. Does nothing while there is a
  // problem().
  void Begin(const v1::AppSpec& spec);
  void ChangeSpec(const v1::AppSpec& spec);

  // See task_control.proto. DATA_LOSS: there is a problem().
  void Report(const v1::ReportRequest& request, taskcontroller::TaskDriver::Reply reply);
  // All operations, as operators see them. `id`: only these, unless it is empty.
  std::vector<v1::OperationStatus> Describe(const std::string& id, TimePoint now) const;
  // All rollouts, as operators see them.
  std::vector<v1::RolloutStatus> DescribeRollouts(TimePoint now) const;
  // NOT_FOUND: no manager reports it. INVALID_ARGUMENT: several managers do, and `manager` is
  // empty.
  absl::Status Approve(const v1::ApproveOperationRequest& request);
  // NOT_FOUND: no such operation has begun.
  absl::Status End(const v1::EndOperationRequest& request);
  // Why nothing is approved, if what is stored cannot be read: what was approved is not known then.
  const absl::Status& problem() const { return problem_; }

 private:
  taskcontroller::FleetPorts MakePorts();

  const Ports ports_;
  absl::Status problem_;
  taskcontroller::TaskDriver driver_;
};

}  // namespace shardmanager::orchestrator
