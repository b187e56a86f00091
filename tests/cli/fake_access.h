// The Access service of a control plane of canned answers.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>
#include <utility>

#include "shardmanager/v1/access.grpc.pb.h"

namespace shardmanager::cli {

// Set the answers before the first call.
class FakeAccess final : public v1::Access::Service {
 public:
  // `on_request`: hears of each request, as "Name{fields}"; what it returns is the answer unless
  // OK.
  explicit FakeAccess(std::function<grpc::Status(std::string)> on_request)
      : on_request_(std::move(on_request)) {}

  bool changed = true;
  v1::RevokeResponse revoked;
  v1::GetPolicyResponse policy;
  v1::WhoAmIResponse who;
  v1::CanIResponse can;

 private:
  using Context = grpc::ServerContext*;

  grpc::Status Grant(Context, const v1::GrantRequest* request,
                     v1::GrantResponse* response) override {
    v1::GrantResponse granted;
    granted.set_changed(changed);
    granted.mutable_grant()->set_identity(request->identity());
    granted.mutable_grant()->set_role(request->role());
    *granted.mutable_grant()->mutable_apps() = request->apps();
    return Answer("Grant", *request, granted, response);
  }
  grpc::Status Revoke(Context, const v1::RevokeRequest* request,
                      v1::RevokeResponse* response) override {
    return Answer("Revoke", *request, revoked, response);
  }
  grpc::Status GetPolicy(Context, const v1::GetPolicyRequest* request,
                         v1::GetPolicyResponse* response) override {
    v1::GetPolicyResponse asked_for;
    for (const v1::RoleGrant& grant : policy.grants()) {
      if (request->identity().empty() || request->identity() == grant.identity()) {
        *asked_for.add_grants() = grant;
      }
    }
    return Answer("GetPolicy", *request, asked_for, response);
  }
  grpc::Status WhoAmI(Context, const v1::WhoAmIRequest* request,
                      v1::WhoAmIResponse* response) override {
    return Answer("WhoAmI", *request, who, response);
  }
  grpc::Status CanI(Context, const v1::CanIRequest* request, v1::CanIResponse* response) override {
    return Answer("CanI", *request, can, response);
  }

  template <typename Response>
  grpc::Status Answer(const std::string& name, const google::protobuf::Message& request,
                      const Response& answer, Response* response) {
    const grpc::Status status = on_request_(name + "{" + request.ShortDebugString() + "}");
    if (status.ok()) *response = answer;
    return status;
  }

  const std::function<grpc::Status(std::string)> on_request_;
};

}  // namespace shardmanager::cli
