// The servers of scripts/bench call, in a process of their own.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "runtime/child_process.h"

namespace shardmanager::call_bench {

// Of gRPC's two server APIs.
enum class Form { kSync, kCallback };

inline const char* ToString(Form form) { return form == Form::kSync ? "sync" : "callback"; }

inline constexpr int kShards = 64;
std::string ShardName(int shard);

// One service, at two ports of one process: as any gRPC server has it, and in a
// shardmanager::Server with Admit.
struct ServerPair {
  ChildProcess process;
  std::string plain;     // endpoints
  std::string admitted;  // holds all shards of the app AppOf(form), as server "server-1"
};

inline std::string AppOf(Form form) { return std::string("admitted-") + ToString(form); }
// A request with this key is answered with the nanoseconds that its admission took, as text. Only
// where calls block.
inline constexpr char kTimed[] = "timed";
inline constexpr char kServerName[] = "server-1";

// Returns before it listens.
absl::StatusOr<ServerPair> StartServers(Form form);
// What that process does: main() of "serve FORM PLAIN_PORT ADMITTED_PORT".
int Serve(Form form, int plain_port, int admitted_port);

}  // namespace shardmanager::call_bench
