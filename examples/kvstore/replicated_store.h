// --storage=replicated: each server keeps its shards in files of its own, and the primary of
// a shard copies each write to the secondaries. For apps with strategy primary-secondary.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "kv.grpc.pb.h"
#include "replicated_shard.h"
#include "store.h"

namespace kvstore {

// How the app's servers reach each other, and know that it is one of them who calls: what
// shardmanager::Server has for that.
struct OtherServers {
  std::function<std::shared_ptr<grpc::Channel>(const std::string& endpoint,
                                               const grpc::ChannelArguments& arguments)>
      open;
  std::function<absl::Status(const grpc::ServerContextBase& context)> check;
};

class ReplicatedStore final : public Store {
 public:
  // Files are `<folder>/<shard>.db`: a folder of this server alone.
  ReplicatedStore(std::string folder, std::string server, OtherServers others);
  ~ReplicatedStore() override;

  // To be registered beside the service that clients call.
  grpc::Service* replica_service();

  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress& progress) override;
  absl::Status ChangeRole(const shardmanager::ShardGrant& grant) override;
  absl::Status UpdateMembership(const shardmanager::ShardId& shard,
                                const shardmanager::Members& members) override;
  absl::Status DropShard(const shardmanager::ShardId& shard) override;
  // Always: each server makes the new files of its own old ones.
  absl::Status PrepareReshape(const shardmanager::Reshape& reshape) override;

  // Null: it is not held here.
  std::shared_ptr<ReplicatedShard> Replica(const std::string& shard) const;
  // The same, but waits until then: its primary may hear of a new shard before this server does.
  std::shared_ptr<ReplicatedShard> AwaitReplica(const std::string& shard,
                                                std::chrono::system_clock::time_point until) const;

 private:
  class Service;

  std::string FileOf(const shardmanager::ShardId& shard) const;
  absl::StatusOr<std::unique_ptr<ShardDb>> OpenFile(const shardmanager::ShardGrant& grant) const;
  std::shared_ptr<kv::KvReplica::Stub> StubFor(const std::string& endpoint);

  const std::string folder_;
  const std::string server_;
  const OtherServers others_;
  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::map<std::string, std::shared_ptr<ReplicatedShard>> replicas_;
  std::map<std::string, std::shared_ptr<kv::KvReplica::Stub>> stubs_;  // by endpoint
  const std::unique_ptr<Service> service_;
};

}  // namespace kvstore
