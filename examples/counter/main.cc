// counter: the smallest service that shards. Counts go with their shard, through a file that all
// servers can read. (Not from a server that dies or was cut off: kvstore's storage is safe.)
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "counter.grpc.pb.h"
#include "shardmanager/server.h"
#include "shardmanager/shard_table.h"

class Counter final : public counter::Counter::Service, public shardmanager::ShardHandler {
 public:
  Counter(shardmanager::Server& server, std::string folder)
      : server_(server), folder_(std::move(folder)) {}

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

  grpc::Status Add(grpc::ServerContext* context, const counter::AddRequest* request,
                   counter::AddResponse* response) override {
    const auto admission = server_.Admit(*context, &Stub::Add, request, response);
    if (!admission.ok()) return admission.status();
    Shard& shard = *shards_.Find(admission.shard());  // there as long as the admission
    std::lock_guard lock(shard.mutex);
    response->set_value(++shard.counts[request->key()]);
    response->set_epoch(admission.epoch().value());
    return grpc::Status::OK;
  }

 private:
  using Stub = counter::Counter::Stub;
  struct Shard {
    std::mutex mutex;
    std::map<std::string, uint64_t> counts;
  };
  using Shards = shardmanager::ShardTable<Shard>;
  shardmanager::Server& server_;
  const std::string folder_;
  Shards shards_;
};

int main(int argc, char** argv) {
  shardmanager::ServerOptions options;
  std::string data;
  CLI::App cli{"A sharded counter."};
  cli.add_option("--app", options.app)->default_val("counter");
  cli.add_option("--name", options.name)->required();
  cli.add_option("--cell", options.cell)->capture_default_str();
  cli.add_option("--zookeeper", options.zookeeper)->capture_default_str();
  cli.add_option("--listen", options.listen)->capture_default_str();
  cli.add_option("--region", options.fault_domain.region);
  cli.add_option("--datacenter", options.fault_domain.datacenter);
  cli.add_option("--rack", options.fault_domain.rack);
  cli.add_option("--data", data, "The shared folder")->required();
  CLI11_PARSE(cli, argc, argv);

  shardmanager::Server server(options);
  Counter counter(server, data);
  const absl::Status status = server.Run(counter, {&counter});  // until SIGTERM
  if (!status.ok()) std::fprintf(stderr, "counter: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
