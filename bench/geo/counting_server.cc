#include "geo/counting_server.h"

#include <grpcpp/grpcpp.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <string>

#include "counter.grpc.pb.h"
#include "runtime/clock.h"
#include "shardmanager/server.h"
#include "tests/local_cluster/server_flags.h"

namespace shardmanager {
namespace {

// Another one for each shard, the same wherever it is.
double WeightOf(const std::string& shard) {
  uint32_t sum = 0;
  for (const char c : shard) sum = 31 * sum + static_cast<unsigned char>(c);
  return 1 + sum % 20;
}

class CountingServer final : public counter::Counter::Service, public ShardHandler {
 public:
  explicit CountingServer(Server& server) : server_(server) {}

  absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
    const std::lock_guard lock(mutex_);
    meters_[grant.shard.value()] = {0, MonotonicNow()};
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId& shard) override {
    const std::lock_guard lock(mutex_);
    meters_.erase(shard.value());
    return absl::OkStatus();
  }
  std::map<std::string, double> CollectLoad(const ShardId& shard) override {
    const std::lock_guard lock(mutex_);
    const TimePoint now = MonotonicNow();
    Meter& meter = meters_[shard.value()];
    const double seconds = std::max(0.1, InSeconds(now - meter.since));
    const double rate = static_cast<double>(meter.requests) / seconds;
    meter = {0, now};
    return {{"requests", rate}, {"weight", WeightOf(shard.value())}};
  }
  grpc::Status Add(grpc::ServerContext* context, const counter::AddRequest* request,
                   counter::AddResponse* response) override {
    const auto admission = server_.Admit(*context, &counter::Counter::Stub::Add, request, response);
    if (!admission.ok()) return admission.status();
    const std::lock_guard lock(mutex_);
    ++meters_[admission.shard().value()].requests;
    return grpc::Status::OK;
  }

 private:
  struct Meter {
    uint64_t requests = 0;
    TimePoint since{};
  };
  Server& server_;
  std::mutex mutex_;
  std::map<std::string, Meter> meters_;
};

}  // namespace

int RunCountingServer(int argc, char** argv) {
  ServerOptions options;
  std::string data;
  CLI::App cli("A server that counts its requests.");
  local::AddServerFlags(cli, options, data);
  CLI11_PARSE(cli, argc, argv);
  Server server(options);
  CountingServer counter(server);
  const absl::Status status = server.Run(counter, {&counter});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace shardmanager
