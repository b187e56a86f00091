// One call, from the key to the answer: carries out what CallMachine decides.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "router/app_router.h"
#include "router/call_machine.h"
#include "router/replica_choice.h"
#include "router/router_impl.h"
#include "runtime/clock.h"

namespace shardmanager::router_internal {
namespace {

using router::AttemptEnd;
using router::CallMachine;
using router::MappedServer;
using router::ShardMap;
using wire::ServerChannel;

// A server that does not answer the connect at once is probably gone: look again at
// the map after this, while the connect goes on.
constexpr Duration kConnectPatience = Milliseconds(250);

gpr_timespec ToGrpc(TimePoint deadline) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros((deadline - MonotonicNow()).count(), GPR_TIMESPAN));
}

// Is the status the application's? A connection that breaks gives a status of its own,
// which nothing but this tells from one that the other side sent.
bool WasAdmitted(const grpc::ClientContext& context) {
  return context.GetServerTrailingMetadata().contains(request_metadata::kAdmitted);
}

std::string RefusalOf(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return "";
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto refusal = metadata.find(request_metadata::kRefused);
  return refusal == metadata.end() ? ""
                                   : std::string(refusal->second.data(), refusal->second.size());
}

// Codes by which an application says that it cannot serve; the others are about the request.
bool IsServersOwn(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return true;
    default:
      return false;
  }
}

router::Impression ImpressionOf(AttemptEnd end, const grpc::Status& status) {
  switch (end) {
    case AttemptEnd::kAnswered:
      return IsServersOwn(status.error_code()) ? router::Impression::kBad
                                               : router::Impression::kGood;
    case AttemptEnd::kUnsent:
    case AttemptEnd::kBroken:
    case AttemptEnd::kTimedOut:
      return router::Impression::kBad;
    case AttemptEnd::kRefused:
    case AttemptEnd::kSuperseded:
      return router::Impression::kNone;
  }
  return router::Impression::kNone;
}

std::optional<Problem> ProblemOf(AttemptEnd end, const grpc::Status& status) {
  switch (end) {
    case AttemptEnd::kTimedOut:
      return Problem::kNoAnswer;
    case AttemptEnd::kBroken:
      return Problem::kBroken;
    case AttemptEnd::kAnswered:
      if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) return std::nullopt;
      return Problem::kErrors;
    default:
      return std::nullopt;
  }
}

class CallRun {
 public:
  CallRun(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
          Attempt attempt)
      : app_(target.app),
        router_(target.app.router()),
        target_(target),
        options_(options),
        make_stub_(make_stub),
        attempt_(attempt),
        deadline_(MonotonicNow() + options.timeout),
        machine_({MonotonicNow(), deadline_, options.idempotent, router_.NextRandom(),
                  &app_.retries()}) {}

  grpc::Status Run() {
    ++router_.counters().calls;
    app_.retries().OnCall();
    for (;;) {
      const Found found = Look();
      if (found == Found::kNoShard) return Fail(grpc::StatusCode::NOT_FOUND, NoShard());
      CallMachine::Step step =
          found == Found::kServer ? TryOnce() : machine_.OnNobody(MonotonicNow());
      if (step.next == CallMachine::Next::kWaitThenAttempt) {
        WaitForOtherServers(step.until);
        step = machine_.OnWaited(MonotonicNow());
      }
      if (step.next != CallMachine::Next::kAttempt) return Finish(step.next);
    }
  }

 private:
  enum class Found { kServer, kNobody, kNoShard };

  Found Look();
  ShardIndex Find(const ShardMap& map) const;
  CallMachine::Step TryOnce();
  AttemptEnd Send(ServerChannel& channel, grpc::ClientContext& context);
  void Address(grpc::ClientContext& context, TimePoint deadline) const;
  AttemptEnd Judge(const grpc::ClientContext& context, bool superseded);
  void WaitForOtherServers(TimePoint until);

  grpc::Status Finish(CallMachine::Next next);
  grpc::Status Fail(grpc::StatusCode code, const std::string& what);
  std::string NoShard() const;
  void Blame(const std::string& problem);

  AppRouter& app_;
  RouterImpl& router_;
  const CallTarget& target_;
  const CallOptions& options_;
  const StubFactory make_stub_;
  const Attempt attempt_;
  const TimePoint deadline_;
  CallMachine machine_;

  // The last look at the map; `server_` null: nobody serves the shard.
  AppRouter::MapPointer map_;
  ShardIndex shard_;
  const MappedServer* server_ = nullptr;
  bool for_primary_ = false;
  // The last attempt.
  grpc::Status status_;
  std::string failed_server_;
  // For whoever reads the error: what was wrong with the last attempt, and why there
  // is nobody to try now.
  std::string last_attempt_;
  std::string nobody_;
};

CallRun::Found CallRun::Look() {
  map_ = app_.map();
  server_ = nullptr;
  nobody_.clear();
  if (map_ == nullptr) {
    nobody_ =
        absl::StrCat("no shard map has come: ", std::string(app_.discovery_status().message()));
    return Found::kNobody;
  }
  shard_ = Find(*map_);
  if (!shard_.valid()) return Found::kNoShard;
  const router::ReplicaPreference preference{
      .location = &router_.options().location,
      .avoid = failed_server_,
      .any_replica = options_.any_replica,
      .leave_out_outliers = router_.options().leave_out_outliers,
      .random = router_.NextRandom(),
      .now = MonotonicNow()};
  const auto [replica, left_out] = router::ChooseReplica(*map_, shard_, preference);
  if (left_out) ++router_.counters().left_out;
  if (replica == nullptr) {
    nobody_ = absl::StrCat(map_->replicas(shard_).empty() ? "no server serves it in map "
                                                          : "it has no primary in map ",
                           map_->version().ToString());
    return Found::kNobody;
  }
  server_ = &map_->server(replica->server());
  for_primary_ = replica->role() == Role::kPrimary && !options_.any_replica;
  return Found::kServer;
}

ShardIndex CallRun::Find(const ShardMap& map) const {
  return target_.by_shard ? map.layout().FindById(target_.key_or_shard)
                          : map.layout().FindByKey(target_.key_or_shard);
}

CallMachine::Step CallRun::TryOnce() {
  ++router_.counters().attempts;
  const TimePoint begin = MonotonicNow();
  const TimePoint deadline = machine_.AttemptDeadline(begin);
  failed_server_ = server_->name;
  const std::shared_ptr<ServerChannel> channel = router_.channels().Get(server_->endpoint);
  if (!channel->WaitConnected(std::min(deadline, begin + kConnectPatience))) {
    ++router_.counters().transport_errors;
    Blame("cannot be connected to");
    server_->health->OnUnsent();
    return machine_.OnAttemptEnd(MonotonicNow(), AttemptEnd::kUnsent);
  }
  grpc::ClientContext context;
  Address(context, deadline);
  const AttemptEnd end = Send(*channel, context);
  return machine_.OnAttemptEnd(MonotonicNow(), end);
}

AttemptEnd CallRun::Send(ServerChannel& channel, grpc::ClientContext& context) {
  AppRouter::InFlight in_flight{&context, map_->layout().id(shard_), server_};
  if (options_.idempotent && !app_.Begin(in_flight)) {
    Blame("lost the shard");
    return AttemptEnd::kSuperseded;
  }
  server_->health->OnSend();
  const TimePoint sent_at = MonotonicNow();
  status_ = attempt_(channel.Stub(make_stub_).get(), &context);
  const bool superseded = options_.idempotent && app_.End(in_flight);
  const AttemptEnd end = Judge(context, superseded);
  server_->health->OnEnd(ImpressionOf(end, status_), MonotonicNow() - sent_at,
                         ProblemOf(end, status_));
  return end;
}

void CallRun::Address(grpc::ClientContext& context, TimePoint deadline) const {
  context.set_deadline(ToGrpc(deadline));
  context.AddMetadata(request_metadata::kApp, app_.name());
  context.AddMetadata(request_metadata::kServer, server_->name);
  context.AddMetadata(request_metadata::kShard, map_->layout().id(shard_));
  if (for_primary_) context.AddMetadata(request_metadata::kRole, request_metadata::kPrimary);
}

AttemptEnd CallRun::Judge(const grpc::ClientContext& context, bool superseded) {
  if (status_.ok() || WasAdmitted(context)) return AttemptEnd::kAnswered;
  if (const std::string refusal = RefusalOf(status_, context); !refusal.empty()) {
    ++router_.counters().refused;
    Blame(absl::StrCat("refused: ", refusal));
    return AttemptEnd::kRefused;
  }
  const grpc::StatusCode code = status_.error_code();
  if (code == grpc::StatusCode::DEADLINE_EXCEEDED) {
    ++router_.counters().transport_errors;
    Blame("did not answer");
    return AttemptEnd::kTimedOut;
  }
  if (superseded && code == grpc::StatusCode::CANCELLED) {
    Blame("did not answer, and lost the shard");
    return AttemptEnd::kSuperseded;
  }
  if (code != grpc::StatusCode::UNAVAILABLE && code != grpc::StatusCode::CANCELLED) {
    // Of gRPC (a message above its size limit, say), or of an application that does not
    // use the server library: another attempt would not change it.
    return AttemptEnd::kAnswered;
  }
  ++router_.counters().transport_errors;
  Blame(absl::StrCat("the connection broke: ", status_.error_message()));
  return AttemptEnd::kBroken;
}

void CallRun::WaitForOtherServers(TimePoint until) {
  app_.WaitForMap(until, [this](const ShardMap* newest) {
    if (newest == nullptr || newest == map_.get()) return false;
    if (map_ == nullptr) return true;
    const ShardIndex shard = Find(*newest);
    return !shard.valid() || !SameServers(*map_, shard_, *newest, shard);
  });
}

grpc::Status CallRun::Finish(CallMachine::Next next) {
  router_.counters().held_back += machine_.held_back();
  if (next == CallMachine::Next::kFinish) return status_;
  if (next == CallMachine::Next::kFailAmbiguous) {
    return Fail(grpc::StatusCode::UNAVAILABLE, "the request may have been processed");
  }
  return Fail(grpc::StatusCode::DEADLINE_EXCEEDED,
              absl::StrCat("no answer within ", options_.timeout.count(), " ms"));
}

// Example: "kv: shard users-0042: no answer within 5000 ms (7 attempts); the last:
// kv-3 (10.0.0.3:7000) refused: not-owner".
grpc::Status CallRun::Fail(grpc::StatusCode code, const std::string& what) {
  ++router_.counters().failed_calls;
  std::string message = absl::StrCat(app_.name(), ": ");
  if (map_ != nullptr && shard_.valid()) {
    absl::StrAppend(&message, "shard ", map_->layout().id(shard_), ": ");
  }
  absl::StrAppend(&message, what);
  if (!nobody_.empty()) absl::StrAppend(&message, "; ", nobody_);
  if (machine_.attempts() > 0) {
    absl::StrAppend(&message, " (", machine_.attempts(), " attempts); the last: ", last_attempt_);
  }
  return grpc::Status(code, message);
}

void CallRun::Blame(const std::string& problem) {
  last_attempt_ = absl::StrCat(server_->name, " (", server_->endpoint, ") ", problem);
}

std::string CallRun::NoShard() const {
  const std::string key(target_.key_or_shard);
  return absl::StrCat(target_.by_shard ? "there is no shard " : "no shard holds the key ", key,
                      " in map ", map_->version().ToString());
}

}  // namespace

grpc::Status Call(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
                  Attempt attempt) {
  return CallRun(target, options, make_stub, attempt).Run();
}

}  // namespace shardmanager::router_internal
