#include "wire/access/access_service.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/control/controller.h"
#include "security/policy.h"
#include "shardmanager/v1/access.grpc.pb.h"
#include "wire/controller_calls.h"

namespace shardmanager::wire {

using orchestrator::LedPolicy;
using security::Caller;
using security::Rule;

class AccessService::Impl final : public v1::Access::Service {
 public:
  Impl(orchestrator::Controller& controller, std::string cell, Gate gate)
      : cell_(std::move(cell)),
        calls_({.controller = controller,
                .gate = std::move(gate),
                .advice = "Ask with `shardctl get grants`"}) {}

  grpc::Status Grant(grpc::ServerContext* context, const v1::GrantRequest* request,
                     v1::GrantResponse* response) override {
    return calls_.Change(context, request, response, &LedPolicy::Grant);
  }
  grpc::Status Revoke(grpc::ServerContext* context, const v1::RevokeRequest* request,
                      v1::RevokeResponse* response) override {
    return calls_.Change(context, request, response, &LedPolicy::Revoke);
  }
  grpc::Status GetPolicy(grpc::ServerContext* context, const v1::GetPolicyRequest* request,
                         v1::GetPolicyResponse* response) override {
    return calls_.Ask(context, request, response, &LedPolicy::GetPolicy);
  }

  grpc::Status WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest* request,
                      v1::WhoAmIResponse* response) override {
    const auto checked = calls_.Check(context, *request);
    if (!checked.ok()) return checked.status;
    response->set_cell(cell_);
    response->set_insecure(gate().IsUnknown(context));
    if (response->insecure()) return grpc::Status::OK;
    const auto caller = gate().CallerOf(*context);
    if (!caller.ok()) return calls_.Refused(context, caller.status());
    const auto policy = gate().GetPolicy();
    if (!policy.ok()) return calls_.Refused(context, policy.status());
    response->set_identity(security::ToPath(caller->identity));
    for (v1::RoleGrant& grant : security::GrantsOf(caller->identity, **policy)) {
      *response->add_roles() = std::move(grant);
    }
    return grpc::Status::OK;
  }

  grpc::Status CanI(grpc::ServerContext* context, const v1::CanIRequest* request,
                    v1::CanIResponse* response) override {
    const auto checked = calls_.Check(context, *request);
    if (!checked.ok()) return checked.status;
    const size_t dot = request->call().find('.');
    const Rule* rule = dot == std::string::npos ? nullptr
                                                : security::RuleOf(request->call().substr(0, dot),
                                                                   request->call().substr(dot + 1));
    if (rule == nullptr) {
      return ToGrpc(absl::NotFoundError(absl::StrCat("no call ", Quoted(request->call()),
                                                     "; allowed: SERVICE.METHOD, as Admin.Drain")));
    }
    for (std::string& role : security::RolesFor(*rule, request->app())) {
      response->add_roles(std::move(role));
    }
    response->set_insecure(gate().IsUnknown(context));
    response->set_allowed(response->insecure());
    if (response->insecure()) return grpc::Status::OK;
    const auto caller = Meant(*context, request->identity());
    if (!caller.ok()) return calls_.Refused(context, caller.status());
    const absl::Status may = security::MayCall(*caller, *rule, request->app());
    response->set_allowed(may.ok());
    response->set_reason(std::string(may.message()));
    return grpc::Status::OK;
  }

 private:
  const Gate& gate() const { return calls_.gate(); }

  // Who is asked about: the caller, or `path`, if the caller may see what others were granted.
  absl::StatusOr<Caller> Meant(const grpc::ServerContext& context, const std::string& path) const {
    auto caller = gate().CallerOf(context);
    if (!caller.ok() || path.empty() || path == security::ToPath(caller->identity)) return caller;
    const Rule* rule = RuleFor<v1::GetPolicyRequest>();
    if (absl::Status may = security::MayCall(*caller, *rule, ""); !may.ok()) return may;
    const auto policy = gate().GetPolicy();
    if (!policy.ok()) return policy.status();
    const auto identity = security::IdentityOfPath(cell_, path);
    if (!identity.ok()) return identity.status();
    return Caller{*identity, security::RolesOf(*identity, **policy)};
  }

  const std::string cell_;
  ControllerCalls calls_;
};

AccessService::AccessService(orchestrator::Controller& controller, std::string cell, Gate gate)
    : impl_(std::make_unique<Impl>(controller, std::move(cell), std::move(gate))) {}
AccessService::~AccessService() = default;

grpc::Service* AccessService::service() { return impl_.get(); }

}  // namespace shardmanager::wire
