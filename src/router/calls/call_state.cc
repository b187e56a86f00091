#include "router/calls/call_state.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "router/deadlines.h"
#include "router/replica_choice.h"
#include "runtime/clock.h"

namespace shardmanager::router_internal {
namespace {

using router::CallMachine;
using router::ShardMap;
using std::chrono::system_clock;

// gRPC tells nobody but its own calls that the server's call was cancelled.
constexpr Duration kBetweenLooksAtParent = Milliseconds(50);

TimePoint DeadlineAt(TimePoint now, system_clock::time_point deadline) {
  const auto wall = system_clock::now();
  if (deadline <= wall) return now;
  if (deadline > wall + kFarthest) return now + kFarthest;
  return now + std::chrono::duration_cast<Duration>(deadline - wall);
}

TimePoint DeadlineOf(TimePoint now, const CallOptions& options) {
  const TimePoint own =
      options.deadline ? DeadlineAt(now, *options.deadline) : After(now, options.timeout);
  if (options.parent == nullptr) return own;
  return std::min(own, DeadlineAt(now, options.parent->deadline()));
}

}  // namespace

CallState::CallState(const CallTarget& target, const CallOptions& options)
    : app_(target.app),
      router_(target.app.router()),
      target_(target),
      options_(options),
      begin_(MonotonicNow()),
      deadline_(DeadlineOf(begin_, options)),
      machine_({.begin = begin_,
                .deadline = deadline_,
                .idempotent = options.idempotent,
                .seed = router_.NextRandom(),
                .budget = &app_.retries(),
                .hedge_after = options.hedge_after}),
      watch_(CallWatch::Begin(router_.options(), target, options)) {
  ++router_.counters().calls;
  app_.retries().OnCall();
}

CallState::Found CallState::Look() {
  route_.map = app_.map();
  route_.server = nullptr;
  nobody_.clear();
  if (route_.map == nullptr) {
    hopeless_ = app_.WhyNoMapComes();
    if (!hopeless_.ok()) return Found::kNothing;
    nobody_ =
        absl::StrCat("no shard map has come: ", std::string(app_.discovery_status().message()));
    return Found::kNobody;
  }
  const ShardMap& map = *route_.map;
  route_.shard = Find(map);
  if (!route_.shard.valid()) return Found::kNothing;
  const router::MappedReplica* replica = Choose(route_, failed_server_);
  if (replica == nullptr) {
    nobody_ = absl::StrCat(map.replicas(route_.shard).empty() ? "no server serves it in map "
                                                              : "it has no primary in map ",
                           map.version().ToString());
    return Found::kNobody;
  }
  route_.server = &map.server(replica->server());
  route_.for_primary = replica->role() == Role::kPrimary && !options_.any_replica;
  return Found::kServer;
}

const router::MappedReplica* CallState::Choose(const Route& route, std::string_view avoid) {
  const router::ReplicaPreference preference{
      .location = &router_.options().location,
      .avoid = avoid,
      .any_replica = options_.any_replica,
      .leave_out_outliers = router_.options().leave_out_outliers,
      .random = router_.NextRandom(),
      .now = MonotonicNow()};
  const auto [replica, left_out] = router::ChooseReplica(*route.map, route.shard, preference);
  if (left_out) ++router_.counters().left_out;
  return replica;
}

std::optional<Route> CallState::LookForOther(const Route& first) {
  Route other{.map = app_.map()};
  other.shard = Find(*other.map);
  if (!other.shard.valid()) return std::nullopt;
  const router::MappedReplica* replica = Choose(other, first.server->name);
  if (replica == nullptr) return std::nullopt;
  // What the primary is asked, nobody else may answer.
  if (replica->role() == Role::kPrimary && !options_.any_replica) return std::nullopt;
  other.server = &other.map->server(replica->server());
  if (other.server->name == first.server->name) return std::nullopt;
  return other;
}

ShardIndex CallState::Find(const ShardMap& map) const {
  return target_.by_shard ? map.layout().FindById(target_.key_or_shard)
                          : map.layout().FindByKey(target_.key_or_shard);
}

bool CallState::ServersChanged(const ShardMap* newest) const {
  if (newest == nullptr || newest == route_.map.get()) return false;
  if (route_.map == nullptr) return true;
  const ShardIndex shard = Find(*newest);
  return !shard.valid() || !SameServers(*route_.map, route_.shard, *newest, shard);
}

TimePoint CallState::NextLook(TimePoint now, TimePoint until) const {
  return options_.parent == nullptr ? until : std::min(until, now + kBetweenLooksAtParent);
}

void CallState::LookAtParent() {
  if (options_.parent != nullptr && options_.parent->IsCancelled()) machine_.OnCancel();
}

CallMachine::Step CallState::OnStreamEnded(const Route& route, const std::string& problem) {
  route_ = route;
  failed_server_ = route.server->name;
  Blame(route, problem);
  return machine_.OnAttemptEnd(MonotonicNow(), router::AttemptEnd::kRefused);
}

std::string_view CallState::KeyToName() const {
  if (target_.by_shard || !router_.options().name_keys) return "";
  if (target_.key_or_shard.size() > request_metadata::kLongestNamedKey) return "";
  const bool named = router_.NextRandom() % request_metadata::kOneInNamesKey == 0;
  return named ? target_.key_or_shard : "";
}

void CallState::OnAttempt(const Route& route) {
  ++router_.counters().attempts;
  failed_server_ = route.server->name;
}

void CallState::OnUnsent(const Route& route) {
  ++router_.counters().transport_errors;
  if (watch_ != nullptr) watch_->CountUnsent();
  Blame(route, "cannot be connected to");
  route.server->health->OnUnsent();
}

void CallState::Blame(const Route& route, const std::string& problem) {
  last_attempt_ = absl::StrCat(route.server->name, " (", route.server->endpoint, ") ", problem);
}

grpc::Status CallState::FaultOfOptions() {
  const bool is_read = options_.idempotent || options_.any_replica;
  if (options_.hedge_after <= Duration(0) || is_read) return grpc::Status::OK;
  return FailWith(grpc::StatusCode::INVALID_ARGUMENT,
                  "CallOptions::hedge_after without idempotent or any_replica: only a read is "
                  "hedged, as two servers may process it");
}

grpc::Status CallState::Nothing() {
  if (route_.map == nullptr) {
    return FailWith(static_cast<grpc::StatusCode>(hopeless_.code()),
                    std::string(hopeless_.message()));
  }
  return FailWith(grpc::StatusCode::NOT_FOUND,
                  absl::StrCat(target_.by_shard ? "there is no shard " : "no shard holds the key ",
                               std::string(target_.key_or_shard), " in map ",
                               route_.map->version().ToString()));
}

grpc::Status CallState::Fail(CallMachine::Next next) {
  switch (next) {
    case CallMachine::Next::kFailAmbiguous:
      return FailWith(grpc::StatusCode::UNAVAILABLE, "the request may have been processed");
    case CallMachine::Next::kFailCancelled:
      return FailWith(grpc::StatusCode::CANCELLED, "the call was cancelled");
    default:
      return FailWith(
          grpc::StatusCode::DEADLINE_EXCEEDED,
          absl::StrCat("no answer within ", (deadline_ - begin_) / Milliseconds(1), " ms"));
  }
}

// Example: "kv: shard users-0042: no answer within 5000 ms (7 attempts); the last:
// kv-3 (10.0.0.3:7000) refused: not-owner".
grpc::Status CallState::FailWith(grpc::StatusCode code, const std::string& what) {
  ++router_.counters().failed_calls;
  std::string message = absl::StrCat(app_.name(), ": ");
  if (route_.map != nullptr && route_.shard.valid()) {
    absl::StrAppend(&message, "shard ", std::string(route_.map->layout().id(route_.shard)), ": ");
  }
  absl::StrAppend(&message, what);
  if (!nobody_.empty()) absl::StrAppend(&message, "; ", nobody_);
  if (machine_.attempts() > 0) {
    absl::StrAppend(&message, " (", machine_.attempts(), " attempts); the last: ", last_attempt_);
  }
  return grpc::Status(code, message);
}

}  // namespace shardmanager::router_internal
