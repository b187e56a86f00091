// A small cluster manager, as a model for an adapter to any other one: it restarts, stops and
// starts containers, and asks the control plane (task_control.proto) before it stops one.
//
// What an adapter needs is in Round(): report everything, act on what is answered with GO.
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
#include "shardmanager/v1/task_control.grpc.pb.h"

namespace shardmanager::local {

// The containers of one machine, or one region: here each is a process.
struct ContainerPort {
  // Stops the container's process and returns when it has ended (SIGTERM; the server finishes its
  // requests).
  std::function<void(const std::string& container)> stop;
  // Starts it again.
  std::function<absl::Status(const std::string& container)> start;
  // Is this process ("host/pid", as the control plane knows it) the container's?
  std::function<bool(const std::string& container, const std::string& process)> is_process;
};

struct ClusterManagerOptions {
  std::string name;  // Example: "manager-eu-west"
  std::string app;
  // shardmanagerd, any of them: it is followed to the leader.
  std::string endpoint;
};

class ClusterManager {
 public:
  ClusterManager(ClusterManagerOptions options, ContainerPort containers);

  // A container is to be restarted, or stopped, as soon as that is allowed.
  void Restart(const std::string& container, const std::string& reason,
               std::chrono::milliseconds expected = std::chrono::seconds(10));
  void Stop(const std::string& container, const std::string& reason);

  // One report, and what follows from the answers: containers whose operation may begin are stopped
  // and started before this returns. Returns how long to wait before the next round. UNAVAILABLE:
  // nobody leads, or the control plane does not answer; call again.
  absl::StatusOr<std::chrono::milliseconds> Round();

  // Nothing is left to do, and the control plane knows.
  bool idle() const { return wanted_.empty(); }
  size_t waiting() const;
  // Why operations wait, by container; for people.
  std::map<std::string, std::string> delays() const;
  const std::string& name() const { return options_.name; }

 private:
  struct Wanted {
    v1::ContainerOperation operation;
    std::string delay;
  };

  void Want(v1::OperationKind kind, const std::string& container, const std::string& reason);
  absl::StatusOr<v1::ReportResponse> Report();
  // True: there is something to be reported at once.
  bool Hear(const v1::OperationAnswer& answer, std::vector<std::string>& go);
  absl::Status Act(const std::vector<std::string>& ids);
  void Connect(const std::string& endpoint);

  const ClusterManagerOptions options_;
  const ContainerPort containers_;
  std::unique_ptr<v1::TaskControl::Stub> stub_;
  uint64_t life_;
  uint64_t sequence_ = 0;
  uint64_t operations_ = 0;
  std::map<std::string, Wanted> wanted_;  // by id
};

}  // namespace shardmanager::local
