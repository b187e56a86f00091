// The servers of scripts/bench call, in a process of their own.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/child_process.h"
#include "shardmanager/security.h"
#include "wire/transport.h"

namespace shardmanager::call_bench {

// Of gRPC's two server APIs.
enum class Form { kSync, kCallback };

inline const char* ToString(Form form) { return form == Form::kSync ? "sync" : "callback"; }

// How its connections are secured. kTls: with the certificate for trials that $SM_CERTS names.
enum class Wire { kPlainText, kTls };

inline const char* ToString(Wire wire) { return wire == Wire::kTls ? "tls" : "text"; }
inline Wire WireOf(const std::string& name) {
  return name == ToString(Wire::kTls) ? Wire::kTls : Wire::kPlainText;
}
Security SecurityOf(Wire wire);
std::shared_ptr<const wire::Transport> TransportOf(Wire wire);

inline constexpr int kShards = 64;
std::string ShardName(int shard);

// What a server asks before it processes a request.
enum class Asks { kNobody, kAdmit };
inline const char* ToString(Asks asks) { return asks == Asks::kNobody ? "nobody" : "admit"; }

// A process with one gRPC server: as any other, or in a shardmanager::Server that holds all shards
// of the app as server kServerName. (Two in one process would wait for each other's connections.)
struct ServerProcess {
  ChildProcess process;
  std::string endpoint;
};

inline std::string AppOf(Form form, Asks asks) {
  return std::string(ToString(form)) + "-" + ToString(asks);
}
// A request with this key is answered with the nanoseconds that its admission took, as text. Only
// where calls block.
inline constexpr char kTimed[] = "timed";
// A blocking server that asks nobody answers a call with this header with this trailer.
inline constexpr char kHeader[] = "x-to";
inline constexpr char kTrailer[] = "x-admitted";
inline constexpr char kServerName[] = "server-1";

// Returns before it listens.
absl::StatusOr<ServerProcess> StartServer(Form form, Asks asks, Wire wire);
// What that process does: main() of "serve FORM ASKS WIRE PORT".
int Serve(const std::string& form, const std::string& asks, Wire wire, int port);

}  // namespace shardmanager::call_bench
