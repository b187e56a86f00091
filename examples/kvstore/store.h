// The shards that this server holds: what the Shard Manager tells the application.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "shard_db.h"
#include "shardmanager/server.h"

namespace kvstore {

// Thread-safe.
class Store : public shardmanager::ShardHandler {
 public:
  // Files are `<folder>/<shard>.db`.
  Store(std::string folder, std::string server);

  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress& progress) override;
  absl::Status DropShard(const shardmanager::ShardId& shard) override;
  // "requests", a second, and "bytes".
  std::map<std::string, double> CollectLoad(const shardmanager::ShardId& shard) override;

  // The open shard. While an admission for it is held it is there and stays open.
  std::shared_ptr<ShardDb> Find(const shardmanager::ShardId& shard) const;

 private:
  const std::string folder_;
  const std::string server_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<ShardDb>> shards_;
};

}  // namespace kvstore
