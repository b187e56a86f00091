// A server of shards whose service counts, and keeps what it has counted in a log that all
// servers of a test share, as they would share storage.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "shardmanager/server.h"
#include "tests/server/forwarding/counter.grpc.pb.h"
#include "tests/server/server_world.h"

namespace shardmanager {

// Lets pass, until it is closed: then whoever comes waits. Thread-safe.
class Turnstile {
 public:
  void Close();
  void Open();
  // Called by whoever comes.
  void Pass();
  // Until somebody came since it was made or closed.
  void AwaitArrival();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  bool arrived_ = false;
};

// What was processed, in this order. Thread-safe.
class CountLog {
 public:
  struct Entry {
    uint64_t epoch = 0;
    uint64_t number = 0;
  };
  void Add(const Entry& entry);
  std::vector<Entry> entries() const;
  // Until `count` more than there are now were processed under this epoch.
  void AwaitMoreOf(uint64_t epoch, size_t count);

 private:
  size_t CountOf(uint64_t epoch) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry> entries_;
};

// Of a gRPC service.
enum class Form { kBlocking, kCallback };

// How a test reaches a server, at its endpoint.
using Connect = std::function<std::shared_ptr<grpc::Channel>(const std::string& endpoint)>;
std::shared_ptr<grpc::Channel> ConnectInsecurely(const std::string& endpoint);

class CounterServer final : public ShardHandler {
 public:
  // Started: has its lease.
  CounterServer(const ServerOptions& options, CountLog& log, Form form,
                const Connect& as_control_plane = ConnectInsecurely,
                const Connect& as_client = ConnectInsecurely);
  ~CounterServer() override;

  Server& server() { return server_; }
  Commander& commander() { return *commander_; }
  counter::Counter::Stub& stub() { return *stub_; }
  const std::string& name() const { return name_; }
  NewOwner As(uint64_t epoch) const { return {name_, server_.endpoint(), epoch}; }

  // Passed by AddShard, by DropShard, and by Sum and CountEach with each message that they
  // have read.
  Turnstile adding;
  Turnstile dropping;
  Turnstile reading;
  // What Count, Sum, and Talk with a 0 do, once admitted, instead of logging the number. Set before
  // it is asked.
  std::function<grpc::Status(grpc::ServerContextBase& context)> process;

  // ---- for its service
  CountLog& log() { return log_; }
  // Of a request that was admitted under this epoch: counts, and fills the response.
  grpc::Status Process(grpc::ServerContextBase& context, ShardEpoch epoch, uint64_t number,
                       counter::CountResponse* response);
  void Fill(ShardEpoch epoch, uint64_t number, counter::CountResponse* response) const;

 private:
  absl::Status AddShard(const ShardGrant& grant, const LoadProgress& progress) override;
  absl::Status DropShard(const ShardId& shard) override;

  const std::string name_;
  CountLog& log_;
  const std::unique_ptr<grpc::Service> service_;
  Server server_;
  std::unique_ptr<Commander> commander_;
  std::unique_ptr<counter::Counter::Stub> stub_;
};

}  // namespace shardmanager
