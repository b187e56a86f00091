// What blocking and asynchronous calls have in common: where an attempt goes, what its end means,
// and what a failed call says. CallMachine decides what comes next.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "router/app_router.h"
#include "router/call_machine.h"
#include "router/calls/call_watch.h"
#include "router/router_impl.h"
#include "shardmanager/router.h"

namespace shardmanager::router_internal {

// Where an attempt goes.
struct Route {
  AppRouter::MapPointer map;
  ShardIndex shard;
  const router::MappedServer* server = nullptr;  // of `map`
  bool for_primary = false;
};

// Not thread-safe, but for ServersChanged.
class CallState {
 public:
  // Target, key and options must outlive it.
  CallState(const CallTarget& target, const CallOptions& options);

  AppRouter& app() { return app_; }
  RouterImpl& router() { return router_; }
  const CallOptions& options() const { return options_; }
  router::CallMachine& machine() { return machine_; }

  // Looks at the newest map.
  enum class Found {
    kServer,   // route()
    kNobody,   // who serves the shard is not known, or nobody does
    kNothing,  // to wait would not help: see Nothing()
  };
  Found Look();
  const Route& route() const { return route_; }
  grpc::Status Nothing();
  // Another replica that may answer instead of the one that `first` goes to.
  std::optional<Route> LookForOther(const Route& first);

  // INVALID_ARGUMENT: the options contradict each other.
  grpc::Status FaultOfOptions();

  // Do other servers serve the shard than route() says? For who waits: may be asked from any
  // thread between two Look()s.
  bool ServersChanged(const router::ShardMap* newest) const;
  // Who waits for that is not told that the server's own call was cancelled: it looks at this
  // time, at the latest.
  TimePoint NextLook(TimePoint now, TimePoint until) const;
  // Is the server's own call, out of which this one is made, over?
  void LookAtParent();

  // A stream to `route` ended; see AttemptEnd for how. What to do now?
  router::CallMachine::Step OnStreamEnded(const Route& route, const std::string& problem);

  void OnAttempt(const Route& route);
  void OnUnsent(const Route& route);
  // For whoever reads the error.
  void Blame(const Route& route, const std::string& problem);

  // The call is over, without an answer. REQUIRES: `next` is a failure.
  grpc::Status Fail(router::CallMachine::Next next);
  // With what the caller gets.
  void OnEnd(const grpc::Status& status) {
    if (watch_ != nullptr) watch_->End(status);
  }
  // Null: no hook is set.
  CallWatch* watch() { return watch_.get(); }
  // Of one call in so many: the key, for the server to count. Empty: of the others.
  std::string_view KeyToName() const;
  void OnFinish() { router_.counters().held_back += machine_.held_back(); }

 private:
  ShardIndex Find(const router::ShardMap& map) const;
  const router::MappedReplica* Choose(const Route& route, std::string_view avoid);
  grpc::Status FailWith(grpc::StatusCode code, const std::string& what);

  AppRouter& app_;
  RouterImpl& router_;
  const CallTarget& target_;
  const CallOptions& options_;
  const TimePoint begin_;
  const TimePoint deadline_;
  router::CallMachine machine_;
  Route route_;
  std::string failed_server_;
  // What was wrong with the last attempt, and why there is nobody to try now.
  std::string last_attempt_;
  std::string nobody_;
  absl::Status hopeless_;
  const std::unique_ptr<CallWatch> watch_;
};

}  // namespace shardmanager::router_internal
