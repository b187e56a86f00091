// The shards that this server holds: what the Shard Manager tells the application.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "kv_shard.h"
#include "shard_db.h"
#include "shardmanager/server.h"

namespace kvstore {

// Those that are open for requests. Thread-safe.
class Store : public shardmanager::ShardHandler {
 public:
  // "requests", a second, and "bytes".
  std::map<std::string, double> CollectLoad(const shardmanager::ShardId& shard) override;

  // The open shard. While an admission for it is held it is there and stays open.
  std::shared_ptr<KvShard> Find(const shardmanager::ShardId& shard) const;

 protected:
  void Open(const shardmanager::ShardId& id, std::shared_ptr<KvShard> shard);
  void Close(const shardmanager::ShardId& id);

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<KvShard>> shards_;
};

// --storage=shared: files on a folder that all servers share.
class SharedStore final : public Store {
 public:
  // Files are `<folder>/<shard>.db`.
  SharedStore(std::string folder, std::string server);

  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress& progress) override;
  absl::Status DropShard(const shardmanager::ShardId& shard) override;
  // Always: the rows are copied into the new files when those are opened.
  absl::Status PrepareReshape(const shardmanager::Reshape& reshape) override;

 private:
  std::string FileOf(const shardmanager::ShardId& shard) const;

  const std::string folder_;
  const std::string server_;
};

}  // namespace kvstore
