// The public face (include/shardmanager/server.h).
#include "shardmanager/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <cstring>
#include <thread>
#include <utility>

#include "model/request_metadata.h"
#include "runtime/clock.h"
#include "runtime/signals.h"
#include "server/admission_table.h"
#include "server/server_impl.h"
#include "server/traffic/request_watch.h"
#include "wire/grpc_status.h"

namespace shardmanager {
namespace {

const char* Explain(const char* refusal) {
  namespace meta = request_metadata;
  if (std::strcmp(refusal, meta::kNotOwner) == 0) {
    return "this server does not hold the shard, or is not its primary";
  }
  if (std::strcmp(refusal, meta::kLoading) == 0) return "the shard is still loading here";
  if (std::strcmp(refusal, meta::kMoving) == 0) {
    return "the shard is on its way to another server: try again";
  }
  if (std::strcmp(refusal, meta::kLeaseLapsed) == 0) {
    return "this server has no valid lease: the coordination store does not answer it in time, "
           "or has ended its session (the server's log says which)";
  }
  if (std::strcmp(refusal, meta::kWrongServer) == 0) {
    return "the request is for another server or app";
  }
  if (std::strcmp(refusal, meta::kStopping) == 0) return "the server is shutting down";
  return "the request names no shard (is it sent through the router?)";
}

}  // namespace

// ---- ShardHandler's defaults ----

absl::Status ShardHandler::ChangeRole(const ShardGrant& grant) {
  return AddShard(grant, [](double) {});
}
absl::Status ShardHandler::PrepareAddShard(const ShardGrant&) { return absl::OkStatus(); }
absl::Status ShardHandler::PrepareDropShard(const ShardId&) { return absl::OkStatus(); }
absl::Status ShardHandler::UpdateMembership(const ShardId&, const Members&) {
  return absl::OkStatus();
}
std::map<std::string, double> ShardHandler::CollectLoad(const ShardId&) { return {}; }
absl::Status ShardHandler::PrepareReshape(const Reshape&) {
  return absl::UnimplementedError("the application neither splits nor merges shards");
}

std::map<std::string, double> ShardHandler::CollectCapacity() { return {}; }

// ---- Admission ----

Admission::Admission(Admission&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)),
      refusal_(other.refusal_),
      epoch_(other.epoch_),
      role_(other.role_),
      timed_from_us_(other.timed_from_us_),
      answer_(std::move(other.answer_)),
      watched_(std::move(other.watched_)) {}

Admission::Admission(const grpc::Status& answer)
    : answer_(std::make_unique<grpc::Status>(answer)) {}

Admission& Admission::operator=(Admission&& other) noexcept {
  std::swap(slot_, other.slot_);
  std::swap(refusal_, other.refusal_);
  std::swap(epoch_, other.epoch_);
  std::swap(role_, other.role_);
  std::swap(timed_from_us_, other.timed_from_us_);
  std::swap(answer_, other.answer_);
  std::swap(watched_, other.watched_);
  return *this;
}

Admission::~Admission() {
  if (slot_ == nullptr) return;
  if (timed_from_us_ != 0) {
    slot_->counts().Took(MonotonicNow() - TimePoint(Duration(timed_from_us_)));
  }
  watched_.reset();
  slot_->Release();
}

const grpc::Status& Admission::Ended(const grpc::Status& status) const {
  if (wire::IsServersOwn(status.error_code())) slot_->counts().Failed();
  if (watched_ != nullptr) watched_->Ended(status);
  return status;
}

grpc::Status Admission::status() const {
  if (answer_ != nullptr) return *answer_;
  if (refusal_ == nullptr) return grpc::Status::OK;
  return {grpc::StatusCode::UNAVAILABLE,
          std::string("refused (") + refusal_ + "): " + Explain(refusal_)};
}

const ShardId& Admission::shard() const { return slot_->shard(); }

// ---- Server ----

Server::Server(ServerOptions options)
    : impl_(std::make_unique<ServerImpl>(options, server::EnvironmentOf(options))) {}
Server::~Server() = default;

absl::Status Server::Run(ShardHandler& handler, std::vector<grpc::Service*> services) {
  StopSignals signals;
  std::thread watcher([&] {
    signals.Wait();
    impl_->RequestStop();
  });
  absl::Status status = impl_->Start(handler, services);
  if (status.ok()) impl_->Wait();
  impl_->Shutdown();
  signals.RequestStop();
  watcher.join();
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

absl::Status Server::Start(ShardHandler& handler, std::vector<grpc::Service*> services) {
  return impl_->Start(handler, services);
}

void Server::Wait() {
  StopSignals signals;
  std::thread watcher([&] {
    signals.Wait();
    impl_->RequestStop();
  });
  impl_->Wait();
  signals.RequestStop();
  watcher.join();
}

std::shared_ptr<grpc::Channel> Server::OpenChannel(const std::string& endpoint,
                                                   const grpc::ChannelArguments& arguments) {
  return impl_->others().Open(endpoint, arguments);
}
absl::Status Server::IsOfServer(const grpc::ServerContextBase& context,
                                const std::string& name) const {
  return impl_->others().Contains(context, name);
}

void Server::Shutdown() { impl_->Shutdown(); }

Admission Server::Admit(grpc::ServerContext& context) { return impl_->Admit(context); }
Admission Server::AdmitOrForward(grpc::ServerContext& context, sdk_internal::StubFactory make_stub,
                                 server_internal::Onward onward) {
  return impl_->AdmitOrForward(context, make_stub, onward);
}
Admission Server::Admit(const ShardId& shard, std::chrono::milliseconds patience) {
  return impl_->Admit(shard, patience);
}
std::optional<Admission> Server::AdmitAtOnce(grpc::CallbackServerContext& context,
                                             server_internal::EndedBy ended_by) {
  return impl_->callbacks().AdmitAtOnce(context, ended_by);
}
std::shared_ptr<server_internal::Wait> Server::AdmitLater(grpc::CallbackServerContext& context,
                                                          sdk_internal::StubFactory make_stub,
                                                          server_internal::Arrival& arrival,
                                                          server_internal::EndedBy ended_by) {
  return impl_->callbacks().AdmitLater(context, make_stub, arrival, ended_by);
}
void Server::Admit(const ShardId& shard, std::chrono::milliseconds patience,
                   std::function<void(Admission)> then) {
  impl_->callbacks().Admit(shard, patience, std::move(then));
}
Server::BytesReactor* Server::AdmitGeneric(grpc::GenericCallbackServerContext& context,
                                           MakeReactor<BytesReactor> make) {
  using Late = server_internal::LateBidi<grpc::ByteBuffer, grpc::ByteBuffer>;
  return AdmitStream<Late>(context, &sdk_internal::MakeStub<grpc::GenericStub>, std::move(make),
                           [&context](void* stub, grpc::ClientContext* call, auto* pump) {
                             static_cast<grpc::GenericStub*>(stub)->PrepareBidiStreamingCall(
                                 call, context.method(), {}, pump);
                           });
}
std::string Server::endpoint() const { return impl_->endpoint(); }
std::string Server::MetricsText() const { return impl_->MetricsText(); }

}  // namespace shardmanager
