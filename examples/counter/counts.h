// The shards of a counter, and what is counted in them. Counts go with their shard, through a file
// that all servers can read. (Not from a server that dies or was cut off: kvstore's storage is
// safe.)
#pragma once

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "counter.pb.h"
#include "shardmanager/server.h"
#include "shardmanager/shard_table.h"

class Counts final : public shardmanager::ShardHandler {
 public:
  explicit Counts(std::string folder) : folder_(std::move(folder)) {}

  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress&) override {
    auto shard = Shards::New();
    std::ifstream file(folder_ + "/" + grant.shard.value());
    for (std::string key; file >> key;) file >> shard->counts[key];
    shards_.Insert(grant.shard, std::move(shard));
    return absl::OkStatus();
  }

  absl::Status DropShard(const shardmanager::ShardId& shard) override {
    const auto dropped = shards_.Remove(shard);
    if (!dropped) return absl::OkStatus();
    const std::string path = folder_ + "/" + shard.value();
    std::remove(path.c_str());  // requests wait: to write over a file may wait for the disk
    std::ofstream file(path);
    for (const auto& [key, count] : dropped->counts) file << key << " " << count << "\n";
    return file.flush() ? absl::OkStatus() : absl::DataLossError("the counts are not written");
  }

  // For what was admitted.
  void Add(const shardmanager::Admission& admission, const counter::AddRequest& request,
           counter::AddResponse& response) {
    Shard& shard = *shards_.Find(admission.shard());  // there as long as the admission
    std::lock_guard lock(shard.mutex);
    response.set_value(++shard.counts[request.key()]);
    response.set_epoch(admission.epoch().value());
  }

 private:
  struct Shard {
    std::mutex mutex;
    std::map<std::string, uint64_t> counts;
  };
  using Shards = shardmanager::ShardTable<Shard>;
  const std::string folder_;
  Shards shards_;
};
