#include "store.h"

#include <chrono>
#include <mutex>
#include <utility>

namespace kvstore {

using shardmanager::ShardGrant;
using shardmanager::ShardId;

Store::Store(std::string folder, std::string server)
    : folder_(std::move(folder)), server_(std::move(server)) {}

absl::Status Store::AddShard(const ShardGrant& grant, const shardmanager::LoadProgress&) {
  std::shared_ptr<ShardDb> shard = Find(grant.shard);  // still open from an earlier grant?
  if (shard == nullptr) {
    auto opened = ShardDb::Open(folder_ + "/" + grant.shard.value() + ".db", server_);
    if (!opened.ok()) return opened.status();
    shard = *std::move(opened);
  }
  if (absl::Status status = shard->Fence(grant.epoch); !status.ok()) return status;
  std::unique_lock lock(mutex_);
  shards_[grant.shard.value()] = std::move(shard);
  return absl::OkStatus();
}

absl::Status Store::DropShard(const ShardId& shard) {
  std::unique_lock lock(mutex_);
  auto closing = shards_.extract(shard.value());
  lock.unlock();  // the file is closed outside the lock
  return absl::OkStatus();
}

std::map<std::string, double> Store::CollectLoad(const ShardId& id) {
  const std::shared_ptr<ShardDb> shard = Find(id);
  if (shard == nullptr) return {};
  const ShardDb::Load load = shard->TakeLoad(std::chrono::steady_clock::now());
  return {{"requests", load.requests_per_s}, {"bytes", load.bytes}};
}

std::shared_ptr<ShardDb> Store::Find(const ShardId& shard) const {
  std::shared_lock lock(mutex_);
  auto it = shards_.find(shard.value());
  return it == shards_.end() ? nullptr : it->second;
}

}  // namespace kvstore
