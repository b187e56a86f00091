#include "router/calls/call_watch.h"

#include <array>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "router/calls/call_state.h"
#include "runtime/clock.h"
#include "wire/grpc_status.h"

namespace shardmanager::router_internal {
namespace {

using router::AttemptEnd;

// "kv.KeyValue/Get"; without a method the name of the service.
std::string NameOf(const CallTarget& target, const CallOptions& options) {
  if (options.method.empty()) return std::string(target.service);
  return absl::StrCat(std::string(target.service), "/", std::string(options.method));
}

std::string_view OutcomeOf(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kAnswered:
      return "answered";
    case AttemptEnd::kErred:
      return "erred";
    case AttemptEnd::kRefused:
      return "refused";
    case AttemptEnd::kUnsent:
      return "unsent";
    case AttemptEnd::kBroken:
      return "broken";
    case AttemptEnd::kTimedOut:
      return "timed-out";
    case AttemptEnd::kSuperseded:
      return "superseded";
  }
  return "unknown";
}

}  // namespace

std::unique_ptr<CallWatch> CallWatch::Begin(const RouterOptions& hooks, const CallTarget& target,
                                            const CallOptions& options) {
  if (hooks.metrics == nullptr && hooks.tracer == nullptr) return nullptr;
  return std::unique_ptr<CallWatch>(new CallWatch(hooks, target, options));
}

CallWatch::CallWatch(const RouterOptions& hooks, const CallTarget& target,
                     const CallOptions& options)
    : hooks_(hooks),
      app_(target.app.name()),
      method_(options.method.empty() ? "" : NameOf(target, options)),
      begin_(MonotonicNow()) {
  if (hooks.tracer == nullptr) return;
  const std::array attributes = {Attribute{attribute::kRpcSystem, "grpc"},
                                 Attribute{attribute::kApp, app_},
                                 Attribute{attribute::kRpcMethod, method_}};
  span_ =
      hooks.tracer->Start({.name = NameOf(target, options),
                           .kind = SpanKind::kClient,
                           .parent = options.parent_span,
                           .attributes = Attributes(attributes).first(method_.empty() ? 2 : 3)});
}

void CallWatch::End(const grpc::Status& status) {
  const std::string_view code = wire::NameOf(status.error_code());
  if (hooks_.metrics != nullptr) {
    const std::array attributes = {
        Attribute{attribute::kRpcSystem, "grpc"}, Attribute{attribute::kApp, app_},
        Attribute{attribute::kRpcStatus, code}, Attribute{attribute::kRpcMethod, method_}};
    hooks_.metrics->Record(metric::kClientCallDuration, InSeconds(MonotonicNow() - begin_),
                           Attributes(attributes).first(method_.empty() ? 3 : 4));
  }
  if (span_ == nullptr) return;
  span_->Set({attribute::kRpcStatus, code});
  span_->Set({attribute::kAttempt, attempts_});
  if (!status.ok()) span_->SetError(status.error_message());
  span_.reset();
}

std::unique_ptr<Span> CallWatch::BeginAttempt(const Route& route, grpc::ClientContext& context) {
  ++attempts_;
  if (span_ == nullptr) return nullptr;
  const std::array attributes = {Attribute{attribute::kApp, app_},
                                 Attribute{attribute::kShard, route.map->layout().id(route.shard)},
                                 Attribute{attribute::kServer, route.server->name},
                                 Attribute{attribute::kServerAddress, route.server->endpoint},
                                 Attribute{attribute::kAttempt, attempts_}};
  std::unique_ptr<Span> span = hooks_.tracer->Start({.name = "shardmanager.attempt",
                                                     .kind = SpanKind::kClient,
                                                     .parent = span_.get(),
                                                     .attributes = attributes});
  if (span == nullptr) return nullptr;
  span->Inject([&](std::string_view header, std::string_view value) {
    context.AddMetadata(std::string(header), std::string(value));
  });
  return span;
}

void CallWatch::EndAttempt(AttemptEnd end, const grpc::Status& status, Span* span) {
  Count(end);
  if (span == nullptr) return;
  span->Set({attribute::kOutcome, OutcomeOf(end)});
  span->Set({attribute::kRpcStatus, wire::NameOf(status.error_code())});
  if (end != AttemptEnd::kAnswered) span->SetError(status.error_message());
}

void CallWatch::Count(AttemptEnd end) {
  if (hooks_.metrics == nullptr) return;
  const std::array attributes = {Attribute{attribute::kApp, app_},
                                 Attribute{attribute::kOutcome, OutcomeOf(end)}};
  hooks_.metrics->Count(metric::kClientAttempts, 1, attributes);
}

}  // namespace shardmanager::router_internal
