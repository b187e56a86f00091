// The TaskControl service (task_control.proto) over a Controller.
#pragma once

#include <memory>

#include "wire/access/gate.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace shardmanager::orchestrator {
class Controller;
}  // namespace shardmanager::orchestrator

namespace shardmanager::wire {

class TaskControlService {
 public:
  // `controller` must outlive this.
  TaskControlService(orchestrator::Controller& controller, Gate gate);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~TaskControlService();

  // For grpc::ServerBuilder::RegisterService.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
