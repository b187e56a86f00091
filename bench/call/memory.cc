#include "memory.h"

#include <grpcpp/grpcpp.h>
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_format.h"
#include "ping.grpc.pb.h"
#include "runtime/child_process.h"
#include "shardmanager/router.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::call_bench {
namespace {

constexpr char kApp[] = "large";
constexpr int kShards = 100'000;
constexpr int kServers = 500;
constexpr std::chrono::seconds kPatience{60};

// Each shard with an id of 12 bytes, a range of user names, and a primary.
v1::MapSnapshot MakeMap() {
  v1::MapSnapshot whole;
  whole.mutable_version()->set_leader_epoch(1);
  whole.mutable_version()->set_sequence(1);
  for (int i = 0; i < kServers; ++i) {
    v1::MapServer* server = whole.add_servers();
    server->set_index(static_cast<uint32_t>(i));
    server->set_name(absl::StrFormat("kv-%d", i));
    server->set_endpoint(absl::StrFormat("10.0.%d.%d:7000", i / 250, i % 250));
  }
  const auto start = [](int i) { return absl::StrFormat("user:%08d", i * 100); };
  for (int i = 0; i < kShards; ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(static_cast<uint32_t>(i));
    shard->set_id(absl::StrFormat("shard-%06d", i));
    if (i > 0) shard->mutable_range()->set_start(start(i));
    if (i + 1 < kShards) shard->mutable_range()->set_end(start(i + 1));
    v1::MapReplica* replica = shard->add_replicas();
    replica->set_server(static_cast<uint32_t>(i * 7 % kServers));
    replica->set_role(v1::PRIMARY);
  }
  return whole;
}

// In MB. `field`: VmRSS, or VmHWM for the most since the last ResetPeak().
double Resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::stod(line.substr(field.size() + 1)) * 1024 / 1e6;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace

absl::StatusOr<RouterMemory> MeasureRouterMemory(discovery::Hub& hub, const std::string& discovery,
                                                 const std::string& folder) {
  hub.Publish(AppName(kApp), MakeMap());
  const std::string file = folder + "/memory";
  auto process =
      ChildProcess::Start({.argv = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                    "memory", discovery, file}});
  if (!process.ok()) return process.status();
  const auto end = process->Wait(kPatience * 2);
  RouterMemory memory{};
  std::ifstream(file) >> memory.base_mb >> memory.added_mb >> memory.most_mb;
  if (end == 0 && memory.added_mb > 0) return memory;
  return absl::InternalError("the process whose memory is measured has failed");
}

int MeasureOwnMemory(const std::string& discovery, const std::string& file) {
  // gRPC's own threads and pools are no part of it: a call to a service that is not there.
  const auto channel = grpc::CreateChannel(discovery, grpc::InsecureChannelCredentials());
  const auto stub = ping::Ping::NewStub(channel);
  grpc::ClientContext context;
  ping::SayResponse response;
  stub->Say(&context, {}, &response);
  malloc_trim(0);
  const double before = Resident("VmRSS:");
  ResetPeak();

  Router router({.discovery = {discovery}, .security = {.insecure = true}});
  if (const absl::Status status = router.WaitReady(kApp, kPatience); !status.ok()) {
    std::fprintf(stderr, "bench_call memory: %s\n", status.ToString().c_str());
    return 1;
  }
  std::ofstream(file) << before << " " << Resident("VmRSS:") - before << " "
                      << Resident("VmHWM:") - before;
  return 0;
}

}  // namespace shardmanager::call_bench
