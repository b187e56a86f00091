#include "server/traffic/request_watch.h"

#include <array>
#include <string>

#include "runtime/clock.h"
#include "server/request_reader.h"
#include "wire/grpc_status.h"

namespace shardmanager::server_internal {

Watched::Watched(const ServerOptions& options, const grpc::ServerContextBase& context,
                 const Admission& admission)
    : options_(options), begin_(MonotonicNow()) {
  if (options.tracer == nullptr) return;
  const std::array attributes = {
      Attribute{attribute::kRpcSystem, "grpc"},
      Attribute{attribute::kApp, options.app},
      Attribute{attribute::kServer, options.name},
      Attribute{attribute::kShard, admission.shard().value()},
      Attribute{attribute::kEpoch, static_cast<int64_t>(admission.epoch().value())},
      Attribute{attribute::kRole, admission.role() == Role::kPrimary ? "primary" : "secondary"}};
  const auto header = [&](std::string_view name) { return server::Header(context, name); };
  span_ = options.tracer->Start({.name = "shardmanager.request",
                                 .kind = SpanKind::kServer,
                                 .header = header,
                                 .attributes = attributes});
}

Watched::~Watched() {
  if (options_.metrics == nullptr) return;
  const std::string_view code = code_ ? wire::NameOf(*code_) : "";
  const std::array attributes = {Attribute{attribute::kApp, options_.app},
                                 Attribute{attribute::kRpcStatus, code}};
  options_.metrics->Record(metric::kServerRequestDuration, InSeconds(MonotonicNow() - begin_),
                           Attributes(attributes).first(code_ ? 2 : 1));
}

void Watched::Ended(const grpc::Status& status) {
  code_ = status.error_code();
  if (span_ == nullptr) return;
  span_->Set({attribute::kRpcStatus, wire::NameOf(*code_)});
  if (wire::IsServersOwn(*code_)) span_->SetError(status.error_message());
}

std::shared_ptr<Watched> RequestHooks::Answered(const grpc::ServerContextBase& context,
                                                const Admission& admission) const {
  Count(admission.ok() ? "admitted" : admission.refusal());
  if (!admission.ok()) return nullptr;
  return std::make_shared<Watched>(options_, context, admission);
}

void RequestHooks::Count(std::string_view outcome) const {
  if (options_.metrics == nullptr) return;
  const std::array attributes = {Attribute{attribute::kApp, options_.app},
                                 Attribute{attribute::kOutcome, outcome}};
  options_.metrics->Count(metric::kServerRequests, 1, attributes);
}

}  // namespace shardmanager::server_internal
