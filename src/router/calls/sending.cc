#include "router/calls/sending.h"

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "wire/grpc_status.h"
#include "wire/request_address.h"

namespace shardmanager::router_internal {
namespace {

using router::AttemptEnd;
using router::Impression;

AttemptEnd AnsweredWith(const grpc::Status& status) {
  return wire::IsServersOwn(status.error_code()) ? AttemptEnd::kErred : AttemptEnd::kAnswered;
}

Impression ImpressionOf(AttemptEnd end, bool outrun) {
  switch (end) {
    case AttemptEnd::kAnswered:
      return Impression::kGood;
    case AttemptEnd::kErred:
    case AttemptEnd::kUnsent:
    case AttemptEnd::kBroken:
    case AttemptEnd::kTimedOut:
      return Impression::kBad;
    case AttemptEnd::kRefused:
      return Impression::kNone;
    case AttemptEnd::kSuperseded:
      return outrun ? Impression::kSlow : Impression::kNone;
  }
  return Impression::kNone;
}

std::optional<Problem> ProblemOf(AttemptEnd end, const grpc::Status& status) {
  switch (end) {
    case AttemptEnd::kTimedOut:
      return Problem::kNoAnswer;
    case AttemptEnd::kBroken:
      return Problem::kBroken;
    case AttemptEnd::kErred:
      if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) return std::nullopt;
      return Problem::kErrors;
    default:
      return std::nullopt;
  }
}

void AddTo(AppRouter& app, const Route& route, grpc::ClientContext& context) {
  thread_local const std::string key = request_metadata::kTo;
  thread_local std::string value;  // its memory is used again
  value.clear();
  wire::Append({.app = app.name(),
                .server = route.server->name,
                .shard = route.map->layout().id(route.shard),
                .for_primary = route.for_primary},
               value);
  context.AddMetadata(key, value);
}

void AddSeveral(AppRouter& app, const Route& route, grpc::ClientContext& context) {
  context.AddMetadata(request_metadata::kApp, app.name());
  context.AddMetadata(request_metadata::kServer, route.server->name);
  context.AddMetadata(request_metadata::kShard, std::string(route.map->layout().id(route.shard)));
  if (route.for_primary) context.AddMetadata(request_metadata::kRole, request_metadata::kPrimary);
}

}  // namespace

gpr_timespec ToGrpc(TimePoint deadline) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_micros((deadline - MonotonicNow()).count(), GPR_TIMESPAN));
}

HeaderForm Address(AppRouter& app, const Route& route, grpc::ClientContext& context) {
  const HeaderForm form =
      route.server->health->knows_to() ? HeaderForm::kOne : HeaderForm::kSeveral;
  if (form == HeaderForm::kOne) {
    AddTo(app, route, context);
  } else {
    AddSeveral(app, route, context);
  }
  const std::string& region = app.router().options().location.region;
  if (!region.empty() && app.router().NextRandom() % request_metadata::kOneInNamesRegion == 0) {
    context.AddMetadata(request_metadata::kRegion, region);
  }
  return form;
}

void LearnForm(const Route& route, HeaderForm used, const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  if (used == HeaderForm::kOne) {
    const auto refused = metadata.find(request_metadata::kRefused);
    const bool unknown = refused != metadata.end() && refused->second == request_metadata::kNoShard;
    if (unknown) route.server->health->SetKnowsTo(false);
    return;
  }
  const auto admitted = metadata.find(request_metadata::kAdmitted);
  const bool knows =
      admitted != metadata.end() && admitted->second == request_metadata::kYesAndKnowsTo;
  if (knows) route.server->health->SetKnowsTo(true);
}

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

Sending::Sending(CallState& call, const Route& route) : call_(call), route_(route) {
  const grpc::ServerContextBase* parent = call.options().parent;
  if (parent == nullptr) {
    own_.emplace();
  } else {
    child_ = grpc::ClientContext::FromServerContext(*parent);
  }
  in_flight_ = {&context(), route.map->layout().id(route.shard), route.server};
}

Sending::~Sending() {
  if (registered_) call_.app().End(in_flight_);
}

bool Sending::Begin(TimePoint deadline) {
  if (call_.options().prepare) call_.options().prepare(context());
  context().set_deadline(ToGrpc(deadline));
  form_ = Address(call_.app(), route_, context());
  if (const std::string_view key = call_.KeyToName(); !key.empty()) {
    context().AddMetadata(request_metadata::kKey, std::string(key));
  }
  if (call_.options().idempotent) {
    registered_ = call_.app().Begin(in_flight_);
    if (!registered_) {
      call_.Blame(route_, "lost the shard");
      return false;
    }
  }
  route_.server->health->OnSend();
  if (call_.watch() != nullptr) span_ = call_.watch()->BeginAttempt(route_, context());
  sent_at_ = MonotonicNow();
  return true;
}

AttemptEnd Sending::End(const grpc::Status& status, GivenUp given_up) {
  if (!status.ok() || form_ == HeaderForm::kSeveral) LearnForm(route_, form_, context());
  const bool superseded = std::exchange(registered_, false) && call_.app().End(in_flight_);
  const AttemptEnd end = Judge(status, superseded || given_up != GivenUp::kNo);
  route_.server->health->OnEnd(ImpressionOf(end, given_up == GivenUp::kOutrun),
                               MonotonicNow() - sent_at_, ProblemOf(end, status));
  if (call_.watch() != nullptr) call_.watch()->EndAttempt(end, status, span_.get());
  span_.reset();
  return end;
}

AttemptEnd Sending::Judge(const grpc::Status& status, bool given_up) {
  if (status.ok() || WasAdmitted(context())) return AnsweredWith(status);
  RouterImpl::Counters& counters = call_.router().counters();
  if (const std::string refusal = RefusalOf(status, context()); !refusal.empty()) {
    ++counters.refused;
    call_.Blame(route_, absl::StrCat("refused: ", refusal));
    return AttemptEnd::kRefused;
  }
  const grpc::StatusCode code = status.error_code();
  if (code == grpc::StatusCode::DEADLINE_EXCEEDED) {
    ++counters.transport_errors;
    call_.Blame(route_, "did not answer");
    return AttemptEnd::kTimedOut;
  }
  if (code == grpc::StatusCode::CANCELLED && !given_up && call_.options().parent != nullptr) {
    // gRPC may tell the calls that were made out of the server's call before the server.
    call_.machine().OnCancel();
    given_up = true;
  }
  if (given_up && code == grpc::StatusCode::CANCELLED) {
    call_.Blame(route_, "did not answer before it was given up");
    return AttemptEnd::kSuperseded;
  }
  if (code != grpc::StatusCode::UNAVAILABLE && code != grpc::StatusCode::CANCELLED) {
    // Of gRPC (a message above its size limit, say), or of an application that does not
    // use the server library: another attempt would not change it.
    return AnsweredWith(status);
  }
  ++counters.transport_errors;
  call_.Blame(route_, absl::StrCat("the connection broke: ", status.error_message()));
  return AttemptEnd::kBroken;
}

}  // namespace shardmanager::router_internal
