// The Admin service (admin.proto) over a Controller.
#pragma once

#include <memory>
#include <string>

#include "wire/access/gate.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace shardmanager::orchestrator {
class Controller;
}  // namespace shardmanager::orchestrator

namespace shardmanager::wire {

class AdminService {
 public:
  // `controller` must outlive this.
  AdminService(orchestrator::Controller& controller, std::string version, Gate gate);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~AdminService();

  // For grpc::ServerBuilder::RegisterService.
  grpc::Service* service();

  // Ends the event streams. Call it before grpc::Server::Shutdown().
  void EndStreams();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
