// The Access service (access.proto): grants over a Controller, and what a caller may do by them.
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

class AccessService {
 public:
  // `controller` must outlive this. `cell`: its name. `gate`: one that knows grants, by GateOf().
  AccessService(orchestrator::Controller& controller, std::string cell, Gate gate);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~AccessService();

  // For grpc::ServerBuilder::RegisterService.
  grpc::Service* service();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
