#include "servers.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "ping.grpc.pb.h"
#include "runtime/signals.h"
#include "shardmanager/server.h"
#include "shardmanager/testing.h"

namespace shardmanager::call_bench {
namespace {

using ping::Ping;
using ping::SayRequest;
using ping::SayResponse;

// If the call brings the header.
void SayTrailer(grpc::ServerContextBase& context) {
  if (context.client_metadata().contains(kHeader)) context.AddTrailingMetadata(kTrailer, "1");
}

void Answer(SayResponse& response) { response.mutable_value()->assign(64, 'v'); }

class EmptyHandler final : public ShardHandler {
 public:
  absl::Status AddShard(const ShardGrant&, const LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const ShardId&) override { return absl::OkStatus(); }
};

class SyncPing final : public Ping::Service {
 public:
  // Null: admits everything, and asks nobody.
  explicit SyncPing(Server* server) : server_(server) {}

 private:
  using Stream = grpc::ServerReaderWriter<SayResponse, SayRequest>;

  grpc::Status Say(grpc::ServerContext* context, const SayRequest* request,
                   SayResponse* response) override {
    if (server_ == nullptr) {
      SayTrailer(*context);
      Answer(*response);
      return grpc::Status::OK;
    }
    if (request->key() == kTimed) return SayHowLong(*context, *request, *response);
    const auto admission = server_->Admit(*context, &Ping::Stub::Say, request, response);
    if (!admission.ok()) return admission.status();
    Answer(*response);
    return grpc::Status::OK;
  }

  // What the admission takes, its end included.
  grpc::Status SayHowLong(grpc::ServerContext& context, const SayRequest& request,
                          SayResponse& response) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    {
      const auto admission = server_->Admit(context, &Ping::Stub::Say, &request, &response);
      if (!admission.ok()) return admission.status();
    }
    const std::chrono::nanoseconds took = Clock::now() - begin;
    response.set_value(std::to_string(took.count()));
    return grpc::Status::OK;
  }

  grpc::Status Talk(grpc::ServerContext* context, Stream* stream) override {
    if (server_ == nullptr) {
      SayTrailer(*context);
      return Talk(stream);
    }
    const auto admission = server_->Admit(*context, &Ping::Stub::Talk, stream);
    return admission.ok() ? Talk(stream) : admission.status();
  }
  static grpc::Status Talk(Stream* stream) {
    SayResponse response;
    Answer(response);
    for (SayRequest request; stream->Read(&request);) stream->Write(response);
    return grpc::Status::OK;
  }

  Server* const server_;
};

class Talker final : public grpc::ServerBidiReactor<SayRequest, SayResponse> {
 public:
  explicit Talker(std::optional<Admission> admission) : admission_(std::move(admission)) {
    Answer(response_);
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

  const std::optional<Admission> admission_;
  SayRequest request_;
  SayResponse response_;
};

class CallbackPing final : public Ping::CallbackService {
 public:
  explicit CallbackPing(Server* server) : server_(server) {}

 private:
  grpc::ServerUnaryReactor* Say(grpc::CallbackServerContext* context, const SayRequest* request,
                                SayResponse* response) override {
    if (server_ == nullptr) {
      Answer(*response);
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
    return server_->Admit<Ping>(*context, &Ping::Stub::async::Say, request, response,
                                [response](const Admission&) {
                                  Answer(*response);
                                  return grpc::Status::OK;
                                });
  }

  grpc::ServerBidiReactor<SayRequest, SayResponse>* Talk(
      grpc::CallbackServerContext* context) override {
    if (server_ == nullptr) return new Talker(std::nullopt);
    return server_->Admit<Ping>(*context, &Ping::Stub::async::Talk, [](Admission admission) {
      return new Talker(std::move(admission));
    });
  }

  Server* const server_;
};

std::unique_ptr<grpc::Service> MakeService(Form form, Server* server) {
  if (form == Form::kSync) return std::make_unique<SyncPing>(server);
  return std::make_unique<CallbackPing>(server);
}

std::string Loopback(int port) { return absl::StrCat("127.0.0.1:", port); }

int ServePlain(Form form, Wire wire, int port) {
  StopSignals signals;
  const auto service = MakeService(form, nullptr);
  grpc::ServerBuilder builder;
  auto listening =
      TransportOf(wire)->ListenAt(Loopback(port), {security::Anybody()}, builder, nullptr);
  builder.RegisterService(service.get());
  const wire::ServerAndPort serving = wire::StartWith(std::move(listening), builder);
  SM_CHECK(serving.server != nullptr, "the port is free");
  signals.Wait();
  serving.server->Shutdown();
  return 0;
}

int ServeShards(Form form, int port) {
  StopSignals signals;
  TestCell cell({.app = AppOf(form, Asks::kAdmit)});
  ServerOptions options = cell.Options(kServerName);
  options.listen = Loopback(port);
  Server server(options);
  EmptyHandler handler;
  const auto service = MakeService(form, &server);
  absl::Status status = server.Start(handler, {service.get()});
  for (int i = 0; status.ok() && i < kShards; ++i) {
    status = cell.Assign(ShardName(i), kServerName);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "bench_call serve: %s\n", status.ToString().c_str());
    return 1;
  }
  signals.Wait();
  server.Shutdown();
  return 0;
}

}  // namespace

std::string ShardName(int shard) { return absl::StrFormat("shard-%06d", shard); }

Security SecurityOf(Wire wire) { return {.insecure = wire == Wire::kPlainText}; }

std::shared_ptr<const wire::Transport> TransportOf(Wire wire) {
  auto transport = wire::Transport::Make(SecurityOf(wire), "", {security::Anybody()});
  SM_CHECK(transport.ok(), "there are certificates");
  return *std::move(transport);
}

absl::StatusOr<ServerProcess> StartServer(Form form, Asks asks, Wire wire) {
  const int port = FreePort();
  auto process = ChildProcess::Start(
      {.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "serve", ToString(form),
                ToString(asks), ToString(wire), absl::StrCat(port)}});
  if (!process.ok()) return process.status();
  return ServerProcess{*std::move(process), Loopback(port)};
}

int Serve(const std::string& form, const std::string& asks, Wire wire, int port) {
  const Form of = form == ToString(Form::kSync) ? Form::kSync : Form::kCallback;
  return asks == ToString(Asks::kNobody) ? ServePlain(of, wire, port) : ServeShards(of, port);
}

}  // namespace shardmanager::call_bench
