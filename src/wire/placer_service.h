// The Placer service (placer.proto): plans for systems that keep their own
// orchestrator.
#pragma once

#include <memory>

#include "wire/access/gate.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace shardmanager::wire {

class PlacerService {
 public:
  // At most so many problems are being solved at a time; each takes a core.
  PlacerService(int most_at_once, Gate gate);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~PlacerService();

  // For grpc::ServerBuilder::RegisterService.
  grpc::Service* service();

  // Ends what is being solved, with the plans found so far. Call it before
  // grpc::Server::Shutdown().
  void EndCalls();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::wire
