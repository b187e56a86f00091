// How an application sees what the SDK does: logs, metrics and traces, in whatever the application
// uses for these. Nothing here needs a library of others; docs/observability.md has adapters.
//
//   RouterOptions router{.discovery = {"127.0.0.1:7401"}};
//   router.metrics = std::make_shared<MyMetrics>();   // implements MetricsSink
//   router.tracer = std::make_shared<MyTracer>();     // implements Tracer
//   shardmanager::SetLogger(std::make_shared<MyLogger>());
//
// All of them are called by many threads at once, on the path of requests: they must be thread-safe
// and quick, and must neither block nor throw. Without one, a call costs a comparison with null.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "absl/functional/function_ref.h"

namespace shardmanager {

// ---- logs

enum class LogLevel : uint8_t { kTrace, kDebug, kInfo, kWarning, kError };

class Logger {
 public:
  virtual ~Logger() = default;
  // One line without a line end. Not called for what ShouldLog() declines.
  virtual void Log(LogLevel level, std::string_view message) = 0;
  virtual bool ShouldLog(LogLevel level) const { return level >= LogLevel::kInfo; }
};

// Takes all that the SDK says in this process, of all Routers and Servers: the libraries below it
// (gRPC, ZooKeeper) have one log for each process, too. Null: the default again. Thread-safe.
//
// Default: spdlog's default logger, if the application has set one that does not write to the
// standard output; else lines on stderr, from the level on that the environment's SM_LOG_LEVEL
// names (default "info"). Nothing is ever written to the standard output.
void SetLogger(std::shared_ptr<Logger> logger);

// ---- attributes of metrics and spans

// Text lives as long as the call that it is given to.
using AttributeValue = std::variant<std::string_view, int64_t>;
struct Attribute {
  std::string_view name;
  AttributeValue value;
};
using Attributes = std::span<const Attribute>;

// Names of attributes. Those of OpenTelemetry's conventions for RPC
// (opentelemetry.io/docs/specs/semconv/rpc) ...
namespace attribute {
inline constexpr std::string_view kRpcSystem = "rpc.system.name";           // "grpc"
inline constexpr std::string_view kRpcMethod = "rpc.method";                // CallOptions::method
inline constexpr std::string_view kRpcStatus = "rpc.response.status_code";  // "OK", "NOT_FOUND"
inline constexpr std::string_view kServerAddress = "server.address";        // "host:port"
// ... and our own.
inline constexpr std::string_view kApp = "shardmanager.app";          // "kv"
inline constexpr std::string_view kShard = "shardmanager.shard";      // spans only: "users-0042"
inline constexpr std::string_view kServer = "shardmanager.server";    // spans only: "kv-3"
inline constexpr std::string_view kEpoch = "shardmanager.epoch";      // spans of servers only
inline constexpr std::string_view kRole = "shardmanager.role";        // likewise: "primary"
inline constexpr std::string_view kAttempt = "shardmanager.attempt";  // spans: 1, 2, ...
inline constexpr std::string_view kOutcome = "shardmanager.outcome";  // see the metrics below
}  // namespace attribute

// ---- metrics

// All metrics are constants below: an adapter may find its own counter by their address.
struct Metric {
  std::string_view name;
  std::string_view unit;  // of UCUM, as OpenTelemetry has it: "s", "{attempt}"
  std::string_view description;
};

// Attributes are few, and have few values: shards, servers and keys are never among them.
class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  virtual void Count(const Metric& metric, double amount, Attributes attributes) = 0;
  // To a histogram.
  virtual void Record(const Metric& metric, double value, Attributes attributes) = 0;
};

namespace metric {
// Histogram. A whole call, with all its attempts and waits. Attributes: rpc.system.name, rpc.method
// (if it is known), rpc.response.status_code, shardmanager.app.
inline constexpr Metric kClientCallDuration{"rpc.client.call.duration", "s",
                                            "How long calls through the router took."};
// Counter. Attributes: shardmanager.app and shardmanager.outcome: "answered"; "erred" (answered
// with INTERNAL, UNAVAILABLE or the like); "refused" (not processed); "unsent" (no connection);
// "broken"; "timed-out"; "superseded" (given up, for a newer map, another attempt, or nobody
// waits).
inline constexpr Metric kClientAttempts{"shardmanager.client.attempts", "{attempt}",
                                        "Attempts of calls."};
// Counter. Attributes: shardmanager.app and shardmanager.outcome: "admitted", "forwarded", or why
// it was refused ("not-owner", "loading", "moving", "lease-lapsed", "wrong-server", "stopping",
// "no-shard").
inline constexpr Metric kServerRequests{"shardmanager.server.requests", "{request}",
                                        "Requests that asked to be admitted."};
// Histogram. How long requests held their admission. Attributes: shardmanager.app, and
// rpc.response.status_code if the application tells how requests end (Admission::Ended).
inline constexpr Metric kServerRequestDuration{"shardmanager.server.request.duration", "s",
                                               "How long requests were processed."};
}  // namespace metric

// ---- traces

enum class SpanKind : uint8_t { kInternal, kClient, kServer };

// Used by one thread at a time. Destroyed when it is over.
class Span {
 public:
  virtual ~Span() = default;
  virtual void Set(const Attribute& attribute) = 0;
  // What happened went wrong. `message` is for people.
  virtual void SetError(std::string_view message) = 0;
  // Gives each header that carries this span to the other side to `add`: for W3C,
  // add("traceparent", "00-..."). Header names are in lower case.
  virtual void Inject(
      absl::FunctionRef<void(std::string_view header, std::string_view value)> add) const = 0;
};

struct SpanStart {
  // Example: "kv.KeyValue/Get".
  std::string_view name;
  SpanKind kind = SpanKind::kInternal;
  // Null: the parent is what the tracer takes for the current span of this thread, or what `header`
  // says.
  const Span* parent = nullptr;
  // Of kServer: finds a header of the request by its name; "": there is none.
  std::optional<absl::FunctionRef<std::string_view(std::string_view name)>> header = std::nullopt;
  Attributes attributes = {};
};

class Tracer {
 public:
  virtual ~Tracer() = default;
  // Null: this one is not traced, nor is what would be below it.
  virtual std::unique_ptr<Span> Start(const SpanStart& start) = 0;
};

}  // namespace shardmanager
