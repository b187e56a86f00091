#include "tests/router/echo_server.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "base/check.h"
#include "model/request_metadata.h"

namespace shardmanager::router {
namespace {

std::string Metadata(const grpc::ServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return "";
  return std::string(found->second.data(), found->second.size());
}

}  // namespace

class EchoServer::Service final : public echo::Echo::Service {
 public:
  explicit Service(EchoServer& server) : server_(server) {}

  grpc::Status Say(grpc::ServerContext* context, const echo::EchoRequest* request,
                   echo::EchoResponse* response) override {
    return Answer(*context, request->text(), *response);
  }

  grpc::Status Spell(grpc::ServerContext* context, const echo::EchoRequest* request,
                     grpc::ServerWriter<echo::EchoResponse>* writer) override {
    for (const char letter : request->text()) {
      echo::EchoResponse response;
      if (auto status = Answer(*context, {letter}, response); !status.ok()) return status;
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  grpc::Status Join(grpc::ServerContext* context, grpc::ServerReader<echo::EchoRequest>* reader,
                    echo::EchoResponse* response) override {
    std::string text;
    for (echo::EchoRequest request; reader->Read(&request);) text += request.text();
    return Answer(*context, text, *response);
  }

  grpc::Status Talk(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<echo::EchoResponse, echo::EchoRequest>* stream) override {
    for (echo::EchoRequest request; stream->Read(&request);) {
      echo::EchoResponse response;
      if (auto status = Answer(*context, request.text(), response); !status.ok()) return status;
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  grpc::Status Answer(grpc::ServerContext& context, const std::string& text,
                      echo::EchoResponse& response) {
    Behaviour behaviour;
    {
      std::lock_guard lock(server_.mutex_);
      ++server_.requests_;
      behaviour = server_.behaviour_;
      server_.changed_.notify_all();
    }
    response.set_text(text);
    response.set_server(server_.name());
    response.set_app(Metadata(context, request_metadata::kApp));
    response.set_meant_server(Metadata(context, request_metadata::kServer));
    response.set_shard(Metadata(context, request_metadata::kShard));
    return behaviour(context);
  }

  EchoServer& server_;
};

EchoServer::EchoServer(std::string name, int port,
                       std::shared_ptr<grpc::ServerCredentials> credentials)
    : name_(std::move(name)), service_(std::make_unique<Service>(*this)) {
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (credentials == nullptr) credentials = grpc::InsecureServerCredentials();
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), std::move(credentials), &port_);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  SM_CHECK(server_ != nullptr, "the port is free");
}

EchoServer::~EchoServer() {
  LetGo();
  server_->Shutdown(std::chrono::system_clock::now());
}

void EchoServer::Do(Behaviour behaviour) {
  std::lock_guard lock(mutex_);
  behaviour_ = std::move(behaviour);
}

bool EchoServer::AwaitRequests(int count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return requests_ >= count; });
}

void EchoServer::LetGo() {
  std::lock_guard lock(mutex_);
  let_go_ = true;
  changed_.notify_all();
}

EchoServer::Behaviour EchoServer::Process() { return Answer(grpc::Status::OK); }

EchoServer::Behaviour EchoServer::Refuse(std::string reason) {
  return [reason](grpc::ServerContext& context) {
    context.AddTrailingMetadata(request_metadata::kRefused, reason);
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not here: " + reason);
  };
}

EchoServer::Behaviour EchoServer::Answer(grpc::Status status) {
  return [status](grpc::ServerContext& context) {
    context.AddTrailingMetadata(request_metadata::kAdmitted, "1");
    return status;
  };
}

EchoServer::Behaviour EchoServer::Hang() {
  return [this](grpc::ServerContext&) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return let_go_; });
    return grpc::Status(grpc::StatusCode::UNKNOWN, "let go");
  };
}

}  // namespace shardmanager::router
