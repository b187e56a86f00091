// The ShardServer service (shard_server.proto) in front of a ShardBook.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine.h"
#include "server/shards/shard_book.h"
#include "shardmanager/server.h"
#include "shardmanager/v1/shard_server.pb.h"

namespace grpc {
class ServerContextBase;
class Service;
}  // namespace grpc

namespace shardmanager::server {

class ShardServerService {
 public:
  struct Callbacks {
    // May the caller command this server? Asked first, of each call.
    std::function<absl::Status(const grpc::ServerContextBase& context)> check_caller;
    std::function<void(Command)> command;
    // Gives what is held, on any thread, to the function passed. Refused like a
    // command when the header is not for us.
    std::function<void(Command header, std::function<void(absl::StatusOr<Engine::Holdings>)>)>
        collect;
    // Asks the application; answers on any thread. Refused like a command.
    std::function<void(Command header, Reshape, std::function<void(absl::Status)>)> reshape;
    // May take its time. Called where `collect` gives what is held.
    std::function<std::map<std::string, double>(const ShardId&)> load;
    // Likewise. Requests since the last call, by the region of their client.
    std::function<std::map<std::string, uint64_t>(const ShardId&)> requests;
    // Likewise. Adds what was counted of requests since the last call.
    std::function<void(v1::CollectLoadResponse& response)> traffic;
    // Likewise.
    std::function<std::map<std::string, double>()> capacity;
  };

  explicit ShardServerService(Callbacks callbacks);
  // REQUIRES: the gRPC server that it was registered with is gone.
  ~ShardServerService();

  // In the form of the application's services: with callbacks, or, if these all block, blocking. A
  // server of both has threads that wait for connections of both kinds, and a request that is read
  // by the one kind costs a switch of threads to the other; scripts/bench call.
  grpc::Service* Beside(const std::vector<grpc::Service*>& services);

  // To the call that waits; nothing happens if it has gone.
  void Send(const Reply& reply);
  void Send(const Refuse& refuse);

 private:
  class Impl;
  class ByCallbacks;
  class Blocking;
  std::unique_ptr<Impl> impl_;
  std::unique_ptr<ByCallbacks> by_callbacks_;
  std::unique_ptr<Blocking> blocking_;
};

}  // namespace shardmanager::server
