// The Admin service (admin.proto) over a Controller.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "shardmanager/v1/admin.pb.h"
#include "wire/access/gate.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace shardmanager::history {
class History;
}  // namespace shardmanager::history

namespace shardmanager::orchestrator {
class Controller;
}  // namespace shardmanager::orchestrator

namespace shardmanager::wire {

class AdminService {
 public:
  // What is answered beside what the controller knows.
  struct Around {
    // For GetStatus. Thread-safe; must return at once. Empty: nothing.
    std::function<std::vector<v1::RelayStatus>()> relays;
    std::function<std::vector<v1::ZookeeperMember>()> zookeeper;
    history::History* history;  // null: none is kept
  };

  // `controller` and the history must outlive this.
  AdminService(orchestrator::Controller& controller, std::string version, Gate gate,
               Around around = {});
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
