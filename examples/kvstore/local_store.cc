#include "local_store.h"

#include <filesystem>
#include <utility>

namespace kvstore {

using shardmanager::ShardGrant;
using shardmanager::ShardId;

LocalStore::LocalStore(std::string folder, shardmanager::TransferOptions options)
    : folder_(std::move(folder)), transfer_(std::move(options), *this) {}

absl::Status LocalStore::PrepareAddShard(const ShardGrant& grant) {
  return transfer_.PrepareAddShard(grant);
}

absl::Status LocalStore::AddShard(const ShardGrant& grant, const shardmanager::LoadProgress&) {
  if (absl::Status status = transfer_.AddShard(grant); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  Store::Open(grant.shard, files_.at(grant.shard));  // the transfer has opened it
  return absl::OkStatus();
}

absl::Status LocalStore::PrepareDropShard(const ShardId& shard) {
  return transfer_.PrepareDropShard(shard);
}

absl::Status LocalStore::DropShard(const ShardId& shard) {
  Close(shard);
  return transfer_.DropShard(shard);
}

// ---- what the transfer asks ----

absl::StatusOr<std::shared_ptr<shardmanager::TransferableShard>> LocalStore::Open(
    const ShardId& shard) {
  auto opened = LocalShard::Open(folder_ + "/" + shard.value() + ".db");
  if (!opened.ok()) return opened.status();
  std::lock_guard lock(mutex_);
  files_[shard] = *opened;
  return *std::move(opened);
}

absl::StatusOr<std::vector<ShardId>> LocalStore::List() {
  std::vector<ShardId> shards;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
    if (file.path().extension() == ".db") shards.emplace_back(file.path().stem().string());
  }
  if (error) return absl::InternalError("list " + folder_ + ": " + error.message());
  return shards;
}

}  // namespace kvstore
