// The clients of scripts/bench call: closed loops of one kind each, for as long as they are told.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "ping.grpc.pb.h"
#include "servers.h"
#include "shardmanager/router.h"

namespace shardmanager::call_bench {

enum class Kind {
  kUnary,
  kStream,  // of kMessages messages, each with an answer
};
inline constexpr int kMessages = 32;

enum class Way {
  kPlain,     // a stub on a channel, to the server without Admit; with a deadline, as each call
              // should have one
  kBeside,    // the same, in a process that has a router, and so waits for maps
  kHeaded,    // that, with a header as long as the router's and a trailer as long as Admit's
              // has in a blocking service: what gRPC takes for them alone
  kRouted,    // through the router, to the server without Admit
  kMeasured,  // that, through a router with metrics (observe.h)
  kAdmitted,  // through the router, to the server with Admit
};

struct Variant {
  Form form;
  Wire wire;
  Kind kind;
  Way way;
  int threads;  // of callbacks: calls under way
};

// Example: "callback_unary_8", "tls_sync_unary_1".
std::string NameOf(const Variant& variant);  // without the way

// Where a variant's calls go.
struct Target {
  std::shared_ptr<grpc::Channel> channel;  // of kPlain, kBeside and kHeaded
  Router* router = nullptr;                // of the others
  Router* measured = nullptr;              // of kMeasured
};

// Of calls, or of messages on streams. Ends the program if one fails.
uint64_t CallFor(std::chrono::milliseconds time, const Variant& variant, const Target& target);

}  // namespace shardmanager::call_bench
