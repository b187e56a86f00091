// An application to test the kit with: counts, in storage that all servers of a test share.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "counter.grpc.pb.h"
#include "shardmanager/server.h"
#include "shardmanager/testing.h"

namespace shardmanager {

// Thread-safe.
class TallyStorage {
 public:
  using Counts = std::map<std::string, uint64_t>;  // by key
  Counts Read(const ShardId& shard) {
    std::lock_guard lock(mutex_);
    return shards_[shard];
  }
  void Write(const ShardId& shard, Counts counts) {
    std::lock_guard lock(mutex_);
    shards_[shard] = std::move(counts);
  }

 private:
  std::mutex mutex_;
  std::map<ShardId, Counts> shards_;
};

// Keeps a shard in memory while it has it, and writes it when it lets it go.
class Tally final : public ShardHandler, public counter::Counter::Service {
 public:
  Tally(const ServerOptions& options, TallyStorage& storage)
      : storage_(storage), server_(options), started_(server_.Start(*this, {this})) {}
  ~Tally() override { server_.Shutdown(); }

  const absl::Status& started() const { return started_; }
  Server& server() { return server_; }
  bool Serves(const std::string& shard) { return server_.Admit(ShardId(shard)).ok(); }

 private:
  absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
    TallyStorage::Counts counts = storage_.Read(grant.shard);
    std::lock_guard lock(mutex_);
    shards_[grant.shard] = std::move(counts);
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId& shard) override {
    std::lock_guard lock(mutex_);
    storage_.Write(shard, std::move(shards_[shard]));
    shards_.erase(shard);
    return absl::OkStatus();
  }
  std::map<std::string, double> CollectLoad(const ShardId& shard) override {
    std::lock_guard lock(mutex_);
    return {{"keys", static_cast<double>(shards_[shard].size())}};
  }
  std::map<std::string, double> CollectCapacity() override { return {{"keys", 1'000}}; }
  grpc::Status Add(grpc::ServerContext* context, const counter::AddRequest* request,
                   counter::AddResponse* response) override {
    auto admission = server_.Admit(*context, &counter::Counter::Stub::Add, request, response);
    if (!admission.ok()) return admission.status();
    std::lock_guard lock(mutex_);
    response->set_value(++shards_[admission.shard()][request->key()]);
    response->set_epoch(admission.epoch().value());
    return admission.Ended(grpc::Status::OK);
  }

  TallyStorage& storage_;
  std::mutex mutex_;
  std::map<ShardId, TallyStorage::Counts> shards_;
  Server server_;
  absl::Status started_;
};

// Two servers of a cell, kv-1 and kv-2, and calls to the shard "s".
struct TallyCell {
  explicit TallyCell(TestCellOptions options = {}) : cell(std::move(options)) {}

  // What the count is now. `why`: null, or how the call ended.
  uint64_t Add(const std::string& at, grpc::Status* why = nullptr) {
    counter::AddRequest request;
    request.set_key("apples");
    const grpc::Status status =
        cell.Call(at, "s", &counter::Counter::Stub::Add, request, &response);
    if (why != nullptr) *why = status;
    return status.ok() ? response.value() : 0;
  }
  // "": it was processed.
  std::string Refusal(const std::string& at) {
    grpc::Status status;
    Add(at, &status);
    return status.error_message();
  }

  TestCell cell;
  TallyStorage storage;
  Tally one{cell.Options("kv-1"), storage};
  Tally two{cell.Options("kv-2"), storage};
  counter::AddResponse response;  // of the last call
};

}  // namespace shardmanager
