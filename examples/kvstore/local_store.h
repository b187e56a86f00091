// --storage=local: each server keeps its shards on its own disk, and state transfer
// (shardmanager/transfer.h) moves them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "local_shard.h"
#include "shardmanager/transfer.h"
#include "store.h"

namespace kvstore {

class LocalStore final : public Store, private shardmanager::TransferStorage {
 public:
  // Files are `<folder>/<shard>.db`: a folder of this server alone.
  LocalStore(std::string folder, shardmanager::TransferOptions options);

  // To be registered beside the service that clients call.
  grpc::Service* transfer_service() { return transfer_.service(); }

  absl::Status PrepareAddShard(const shardmanager::ShardGrant& grant) override;
  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress& progress) override;
  absl::Status PrepareDropShard(const shardmanager::ShardId& shard) override;
  absl::Status DropShard(const shardmanager::ShardId& shard) override;
  void Stopping() override { transfer_.Stop(); }

 private:
  absl::StatusOr<std::shared_ptr<shardmanager::TransferableShard>> Open(
      const shardmanager::ShardId& shard) override;
  absl::StatusOr<std::vector<shardmanager::ShardId>> List() override;

  const std::string folder_;
  std::mutex mutex_;
  std::map<shardmanager::ShardId, std::shared_ptr<LocalShard>> files_;  // also of shards not held
  shardmanager::Transfer transfer_;                                     // after what it uses
};

}  // namespace kvstore
