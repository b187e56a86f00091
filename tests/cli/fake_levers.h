// What a control plane of canned answers says of levers.
#pragma once

#include <string>

#include "tests/cli/fake_events.h"

namespace shardmanager::cli {

class FakeLevers : public FakeEvents {
 public:
  v1::MoveShardResponse moved;
  v1::PreviewResponse previewed;
  v1::ForgetServerResponse forgotten;

 private:
  template <typename Response>
  grpc::Status Give(grpc::ServerContext* context, const std::string& name,
                    const google::protobuf::Message& request, const Response& answer,
                    Response* response) {
    grpc::Status status = Answered(context, name, request);
    if (status.ok()) *response = answer;
    return status;
  }
  grpc::Status RetryShard(grpc::ServerContext* context, const v1::RetryShardRequest* request,
                          v1::RetryShardResponse* response) override {
    return Give(context, "RetryShard", *request, {}, response);
  }
  grpc::Status MoveShard(grpc::ServerContext* context, const v1::MoveShardRequest* request,
                         v1::MoveShardResponse* response) override {
    return Give(context, "MoveShard", *request, moved, response);
  }
  grpc::Status LiftQuarantine(grpc::ServerContext* context,
                              const v1::LiftQuarantineRequest* request,
                              v1::LiftQuarantineResponse* response) override {
    return Give(context, "LiftQuarantine", *request, {}, response);
  }
  grpc::Status ForgetServer(grpc::ServerContext* context, const v1::ForgetServerRequest* request,
                            v1::ForgetServerResponse* response) override {
    return Give(context, "ForgetServer", *request, forgotten, response);
  }
  grpc::Status Preview(grpc::ServerContext* context, const v1::PreviewRequest* request,
                       v1::PreviewResponse* response) override {
    return Give(context, "Preview", *request, previewed, response);
  }
};

}  // namespace shardmanager::cli
