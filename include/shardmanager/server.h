// The server library. Start here if your process holds shards.
//
//   class Store : public shardmanager::ShardHandler {
//     absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override;  // open it
//     absl::Status DropShard(const ShardId& shard) override;                         // close it
//   };
//
//   int main() {
//     Store store;
//     shardmanager::Server server({.app = "kv", .name = "kv-3", .zookeeper = "127.0.0.1:2181"});
//     KvService service(server, store);               // your gRPC service
//     absl::Status status = server.Run(store, {&service});   // until SIGTERM
//   }
//
// and in each method of the service:
//
//   auto admission = server.Admit(*context);
//   if (!admission.ok()) return admission.status();   // the router finds the right server
//   ... work on admission.shard(); give admission.epoch() to your storage ...
//
// The library registers the process, renews its lease, reads its assignment from
// the coordination store (so it starts with the control plane down), carries out
// the control plane's commands, and stops admitting work by itself the moment its
// right to serve lapses. See examples/kvstore for all of it in one small program.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "shardmanager/types.h"

namespace grpc {
class Service;
class ServerContext;
class Status;
}  // namespace grpc

namespace shardmanager {

// The right to serve one shard.
struct ShardGrant {
  ShardId shard;
  Role role = Role::kPrimary;
  ShardEpoch epoch;
};

// Call it with a fraction from 0 to 1 while a long AddShard works; it is shown to
// operators. Cheap; thread-safe.
using LoadProgress = std::function<void(double fraction)>;

// What the application implements. Calls for one shard never overlap; calls for
// different shards may run at once, on the library's threads
// (ServerOptions::command_threads).
class ShardHandler {
 public:
  virtual ~ShardHandler() = default;

  // Makes the shard ready to serve. No request is admitted before it returns OK.
  // May take minutes. After an error the shard is not held: clean up before returning
  // one, as DropShard may not be called. The control plane hears of it and tries again,
  // here or elsewhere. It is called again with a higher epoch when the
  // right to serve was lost and given again; the shard was not dropped in between
  // if the process never heard so: be idempotent.
  virtual absl::Status AddShard(const ShardGrant& grant, const LoadProgress& progress) = 0;

  // Lets the shard go. No request of it is in flight when it is called, and none
  // comes after it. An error is logged; the shard counts as dropped all the same.
  virtual absl::Status DropShard(const ShardId& shard) = 0;

  // The rest have defaults and serve strategies that are not supported yet.
  virtual absl::Status ChangeRole(const ShardGrant& grant);
  virtual absl::Status PrepareAddShard(const ShardGrant& grant);
  virtual absl::Status PrepareDropShard(const ShardId& shard);
  virtual absl::Status UpdateMembership(const ShardId& shard,
                                        const std::vector<ServerName>& members);

  // Load of one shard by metric of the app's spec, in the metric's own unit, 0 to 1e12:
  // what it costs to serve it now, not since the start. Asked every
  // moves.collect_interval_ms (30 s), on the library's threads; answer from memory.
  // Never during AddShard or DropShard of that shard. Default: none (only shard counts
  // balance).
  virtual std::map<std::string, double> CollectLoad(const ShardId& shard);
};

struct ServerOptions {
  // REQUIRED. Example: "kv".
  std::string app;
  // REQUIRED. Unique in the app, stable over restarts. 1 to 127 of [A-Za-z0-9._-].
  std::string name;
  // ZooKeeper's connect string, "host:port[,host:port...]".
  std::string zookeeper = "127.0.0.1:2181";
  // The cell (one control plane and what it manages).
  std::string cell = "default";
  // Where the gRPC server listens. Port 0: a free one.
  std::string listen = "0.0.0.0:0";
  // Host that clients reach this server at. Default: the listen address's host, or
  // this machine's name when that is a wildcard.
  std::string advertise_host;
  // Where this server stands. `region` should be given in geo-distributed apps.
  FaultDomain fault_domain;
  // Most replicas it should hold. 0: no limit.
  uint32_t capacity = 0;
  // What it can carry of each metric, in the metric's own unit, 0 to 1e12. Example:
  // {{"cpu", 16}}. Default: what the app's spec says.
  std::map<std::string, double> metric_capacity;
  // Threads for AddShard and DropShard.
  int command_threads = 4;
  // Longest wait for requests in flight. When a shard is dropped: past it the drop
  // reports an error and the shard stays. When the process stops: past it the gRPC
  // calls that still run are cancelled; see Server::Shutdown.
  std::chrono::milliseconds drain_timeout{10'000};
};

namespace server {
class AdmissionSlot;
}  // namespace server

// The answer to "may I process this request?". Holds the shard open while it
// lives: keep it until the work is done, on any thread. Movable, not copyable. Must
// not outlive its Server.
class Admission {
 public:
  Admission(Admission&& other) noexcept;
  Admission& operator=(Admission&& other) noexcept;
  ~Admission();

  bool ok() const { return slot_ != nullptr; }
  // Why not; return it from the gRPC method as it is. OK when admitted.
  grpc::Status status() const;
  // One of the words of model/request_metadata.h ("not-owner", "loading", ...);
  // null when admitted.
  const char* refusal() const { return refusal_; }

  // REQUIRES of the rest: ok().
  const ShardId& shard() const;
  // The fencing token of the grant under which the request was admitted.
  ShardEpoch epoch() const { return epoch_; }
  Role role() const { return role_; }

 private:
  friend class ServerImpl;
  explicit Admission(const char* refusal) : refusal_(refusal) {}
  Admission(server::AdmissionSlot* slot, ShardEpoch epoch, Role role)
      : slot_(slot), epoch_(epoch), role_(role) {}

  server::AdmissionSlot* slot_ = nullptr;  // null: refused
  const char* refusal_ = nullptr;
  ShardEpoch epoch_;
  Role role_ = Role::kPrimary;
};

// One application server. Thread-safe.
class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Start(), then Wait(), then Shutdown(): the whole life of a process.
  absl::Status Run(ShardHandler& handler, std::vector<grpc::Service*> services);

  // Listens, registers, and loads the shards that the stored assignment grants.
  // Returns once registered; waits (saying so once in the log) while the
  // coordination store is out of reach or a former life's session still stands.
  // Errors: INVALID_ARGUMENT (options), UNAVAILABLE (the port is taken),
  // ALREADY_EXISTS (another live process has this name). `handler` and `services`
  // must outlive the server.
  absl::Status Start(ShardHandler& handler, std::vector<grpc::Service*> services);

  // Blocks until SIGTERM, SIGINT or Shutdown(). The library installs no handlers
  // unless this is called.
  void Wait();

  // Stops admitting, lets requests in flight finish, calls DropShard for each shard,
  // stops listening, says good-bye to the coordination store (so nobody waits for a
  // time-out). If an Admission is still held after all that, there is no good-bye and
  // the session ends only when the lease has lapsed.
  void Shutdown();

  // May this request, which the router sent, be processed here? Adds the refusal
  // to the trailing metadata. No lock, no I/O: call it for every request.
  Admission Admit(grpc::ServerContext& context);
  // The same for work that did not come through the router.
  Admission Admit(const ShardId& shard);

  // "host:port" where it listens. REQUIRES: Start() returned OK.
  std::string endpoint() const;

 private:
  std::unique_ptr<class ServerImpl> impl_;
};

}  // namespace shardmanager
