// What a server joins: a private ZooKeeper with a cell and an app in it, and the
// control plane's side of the protocol, spoken by hand.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "coordination/paths.h"
#include "coordination/store.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "shardmanager/server.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/coordination/tcp_proxy.h"

namespace shardmanager {

// Looks again and again until `done`, for at most 20 s.
bool Eventually(const std::function<bool()>& done);

class ServerWorld {
 public:
  static constexpr std::chrono::milliseconds kSessionTimeout{2'000};
  struct Timing {
    uint32_t tick_ms = 200;
    uint32_t session_timeout_ms = static_cast<uint32_t>(kSessionTimeout.count());
  };

  // Session time-out and tick of ZooKeeper and of the cell.
  explicit ServerWorld(const Timing& timing);
  ServerWorld() : ServerWorld(Timing{}) {}
  ~ServerWorld();

  PrivateZookeeper& zookeeper() { return *zookeeper_; }
  // Between the servers and ZooKeeper.
  TcpProxy& link() { return *link_; }
  const Paths& paths() const { return paths_; }

  void ApplyApp();
  // What the stored assignment says; replaces what it said.
  void Assign(const std::string& server, std::vector<v1::AssignedReplica> replicas);
  // NOT_FOUND when it is not there.
  absl::StatusOr<std::string> Read(const std::string& path);
  std::string ServerPath(const std::string& server) const;
  std::string LivePath(const std::string& server, uint64_t incarnation) const;

  // Options of a server that joins this cell through the link.
  ServerOptions Options(const std::string& name) const;

 private:
  absl::Status Write(std::vector<WriteOp> ops);

  std::string folder_;
  std::unique_ptr<PrivateZookeeper> zookeeper_;
  std::unique_ptr<TcpProxy> link_;
  std::unique_ptr<CoordinationStore> store_;
  const Paths paths_{"cell"};
};

v1::AssignedReplica Granted(const std::string& shard, uint64_t epoch);

// Remembers what the library asked of it. Thread-safe.
class RecordingHandler final : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant& grant, const LoadProgress& progress) override;
  absl::Status DropShard(const ShardId& shard) override;

  // "add s@5", "drop s", in order.
  std::vector<std::string> calls() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
};

// To whom a shard is handed over, and under which grant.
struct NewOwner {
  std::string server;
  std::string endpoint;
  uint64_t epoch = 0;
};

// The control plane's commands to one life of a server.
class Commander {
 public:
  Commander(const std::string& endpoint, std::string server, uint64_t incarnation);
  Commander(const std::shared_ptr<grpc::Channel>& channel, std::string server,
            uint64_t incarnation);

  // The final result of one shard, or the refusal.
  absl::StatusOr<v1::ShardResult> Add(const std::string& shard, uint64_t epoch);
  absl::StatusOr<v1::ShardResult> Drop(const std::string& shard, uint64_t epoch);
  // The two ends of a handover.
  absl::StatusOr<v1::ShardResult> PrepareAdd(const std::string& shard, uint64_t epoch,
                                             const std::string& old_owner);
  absl::StatusOr<v1::ShardResult> PrepareDrop(const std::string& shard, uint64_t epoch,
                                              const NewOwner& next);
  // To a secondary, kv-9 being the next primary.
  absl::StatusOr<v1::ShardResult> Demote(const std::string& shard, uint64_t epoch);
  // To the primary of the shards, which all have these members: the final results by shard.
  // `version` tells this list from others, and grows.
  std::map<std::string, v1::ShardState> SetMembers(const std::vector<std::string>& shards,
                                                   uint64_t epoch, const Members& members,
                                                   uint64_t version);
  absl::StatusOr<v1::CollectLoadResponse> Collect();

  uint64_t leader_epoch = 1;

 private:
  template <typename Request>
  Request Fill(const std::string& shard, uint64_t epoch) const;
  void FillHeader(v1::CommandHeader* header) const;

  const std::string server_;
  const uint64_t incarnation_;
  std::unique_ptr<v1::ShardServer::Stub> stub_;
};

}  // namespace shardmanager
