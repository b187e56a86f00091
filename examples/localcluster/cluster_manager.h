// How a cluster manager asks the control plane before it stops a container (task_control.proto):
// the model for an adapter to any other cluster manager. README.md in this folder is the guide.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "examples/localcluster/operation_ledger.h"
#include "shardmanager/v1/task_control.grpc.pb.h"
#include "wire/transport.h"

namespace shardmanager::local {

// What the manager can do with containers. None of these may wait for a container: reports go on
// while containers stop and start.
struct ContainerPort {
  // Begins to carry the operation out. Called once for each operation, after the answer GO.
  std::function<void(const v1::ContainerOperation& operation)> begin;
  // The operation that was begun last on this container is over: the container has stopped, or its
  // new process runs.
  std::function<bool(const std::string& container)> done;
  // Is this process ("host/pid", as the control plane knows it) the container's?
  std::function<bool(const std::string& container, const std::string& process)> is_process;
};

struct ClusterManagerOptions {
  std::string name;  // Example: "manager-eu-west"
  std::string app;
  // shardmanagerd, any of them: the answers of others name the leader.
  std::string endpoint;
  // REQUIRED. How it is connected to.
  std::shared_ptr<const wire::Transport> transport = nullptr;
  // OPTIONAL. Gets a line for people when other operations wait than before, and why.
  std::function<void(const std::string& line)> say;
  // OPTIONAL. The longest wait between two reports while operations wait, if that is shorter than
  // what the control plane allows (half a second and more). Default: what it allows.
  Duration report_every = Seconds(60);
};

// Not thread-safe.
class ClusterManager {
 public:
  ClusterManager(ClusterManagerOptions options, ContainerPort containers);

  // What is wanted from now on belongs to another rollout: the first part of its ids differs, and
  // `shardctl rollout status` counts it apart.
  void BeginRollout() { ++rollouts_; }

  // The container is to be restarted (stopped, started, moved) as soon as that is allowed.
  // ALREADY_EXISTS: the same is already wanted for it.
  absl::Status Want(v1::OperationKind kind, const std::string& container, const std::string& reason,
                    std::chrono::milliseconds expected = std::chrono::seconds(10));

  // Reports if it is time to, or if something has changed, and does what the answers say. Call it
  // every 50 ms or so. It waits for the control plane, 2 s at most, and never for a container.
  // UNAVAILABLE: nobody leads, or the control plane does not answer; the next calls try again.
  absl::Status Tick();

  // Nothing is left to do, and the control plane knows.
  bool idle() const { return ledger_.entries().empty(); }
  // Operations that are not finished.
  size_t waiting() const;
  // Why operations wait, by container; for people.
  std::map<std::string, std::string> delays() const;
  const std::string& name() const { return options_.name; }
  // Reports that were answered.
  uint64_t answered() const { return answered_; }

 private:
  void Add(v1::ContainerOperation operation, const std::string& rollout);
  bool FinishWhatIsDone();
  // True: there is something new to report at once.
  absl::StatusOr<bool> Round();
  absl::StatusOr<v1::ReportResponse> Send(const v1::ReportRequest& report);
  bool TellLives();
  void TellDelays();
  void Connect(const std::string& endpoint);

  const ClusterManagerOptions options_;
  const ContainerPort containers_;
  std::unique_ptr<v1::TaskControl::Stub> stub_;
  OperationLedger ledger_;
  uint64_t rollouts_ = 0;
  uint64_t operations_ = 0;
  uint64_t answered_ = 0;
  TimePoint next_report_{};
  std::map<std::string, std::string> told_;  // reason -> containers, as said last
};

}  // namespace shardmanager::local
