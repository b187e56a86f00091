#include "store.h"

#include <chrono>
#include <mutex>
#include <utility>

namespace kvstore {

using shardmanager::ShardGrant;
using shardmanager::ShardId;

// ---- what is open ----

std::map<std::string, double> Store::CollectLoad(const ShardId& id) {
  const std::shared_ptr<KvShard> shard = Find(id);
  if (shard == nullptr) return {};
  const KvShard::Load load = shard->TakeLoad(std::chrono::steady_clock::now());
  return {{"requests", load.requests_per_s}, {"bytes", load.bytes}};
}

std::shared_ptr<KvShard> Store::Find(const ShardId& shard) const {
  std::shared_lock lock(mutex_);
  auto it = shards_.find(shard.value());
  return it == shards_.end() ? nullptr : it->second;
}

void Store::Open(const ShardId& id, std::shared_ptr<KvShard> shard) {
  std::unique_lock lock(mutex_);
  shards_[id.value()] = std::move(shard);
}

void Store::Close(const ShardId& id) {
  std::unique_lock lock(mutex_);
  auto closing = shards_.extract(id.value());
  lock.unlock();  // the file is closed outside the lock
}

// ---- --storage=shared ----

SharedStore::SharedStore(std::string folder, std::string server)
    : folder_(std::move(folder)), server_(std::move(server)) {}

absl::Status SharedStore::AddShard(const ShardGrant& grant, const shardmanager::LoadProgress&) {
  // Still open from an earlier grant? Another connection to the file does no harm.
  auto shard = ShardDb::Open(FileOf(grant.shard), server_);
  if (!shard.ok()) return shard.status();
  if (absl::Status status = (*shard)->Fence(grant.epoch); !status.ok()) return status;
  const auto origin = grant.origin.value_or(shardmanager::ShardOrigin());
  for (const ShardId& from : origin.made_of) {
    auto file = ShardDb::Open(FileOf(from), server_);
    if (!file.ok()) return file.status();
    if (absl::Status s = (*shard)->TakeOver(**file, from.value(), origin, grant.epoch); !s.ok()) {
      return s;
    }
  }
  Open(grant.shard, *std::move(shard));
  return absl::OkStatus();
}

std::string SharedStore::FileOf(const ShardId& shard) const {
  return folder_ + "/" + shard.value() + ".db";
}

absl::Status SharedStore::PrepareReshape(const shardmanager::Reshape&) { return absl::OkStatus(); }

absl::Status SharedStore::DropShard(const ShardId& shard) {
  Close(shard);
  return absl::OkStatus();
}

}  // namespace kvstore
