// What the hooks of RouterOptions see of one call (include/shardmanager/observe.h).
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/time.h"
#include "router/call_machine.h"
#include "shardmanager/observe.h"
#include "shardmanager/router.h"

namespace shardmanager::router_internal {

struct Route;

// Not thread-safe, as a CallState.
class CallWatch {
 public:
  // Null: no hook is set. The hooks live as long as `options`.
  static std::unique_ptr<CallWatch> Begin(const RouterOptions& hooks, const CallTarget& target,
                                          const CallOptions& options);
  // The call is over, with this status.
  void End(const grpc::Status& status);

  // An attempt is about to be sent: its span, whose headers are in the context from now on. Null:
  // it is not traced.
  std::unique_ptr<Span> BeginAttempt(const Route& route, grpc::ClientContext& context);
  // `span` may be null.
  void EndAttempt(router::AttemptEnd end, const grpc::Status& status, Span* span);
  // An attempt found no connection.
  void CountUnsent() { Count(router::AttemptEnd::kUnsent); }

 private:
  CallWatch(const RouterOptions& hooks, const CallTarget& target, const CallOptions& options);
  void Count(router::AttemptEnd end);

  const RouterOptions& hooks_;
  const std::string& app_;
  const std::string method_;  // "kv.KeyValue/Get"; "": not known
  const TimePoint begin_;
  std::unique_ptr<Span> span_;
  int64_t attempts_ = 0;
};

}  // namespace shardmanager::router_internal
