// Whether a call may be made: the connection's certificate says who calls, the cell's policy which
// roles it was granted, and security/access.h which role the call needs.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/logging.h"
#include "security/access.h"
#include "security/limits.h"
#include "shardmanager/v1/access.pb.h"
#include "shardmanager/v1/admin.pb.h"
#include "wire/transport.h"

namespace shardmanager::wire {

// Of the services of one process. Immutable, thread-safe; cheap to copy.
class Gate {
 public:
  using Policy = std::shared_ptr<const v1::StoredPolicy>;
  // What was granted, or why that is not known here: FAILED_PRECONDITION, another process leads.
  using Policies = std::function<absl::StatusOr<Policy>()>;

  // Everybody may do everything.
  static Gate OfAnOpenCell() { return Gate(Transport::Insecure()); }
  // Null: this process knows no grants, and goes by certificates alone.
  // `limits`: of what one identity takes, and where refusals are counted. Null: there are none.
  explicit Gate(std::shared_ptr<const Transport> transport, Policies policies = nullptr,
                std::shared_ptr<security::Limits> limits = nullptr);

  // The call comes without a certificate where that is allowed: the transport is insecure, or the
  // cell is on its way to TLS. Then nothing is looked at.
  bool IsUnknown(const grpc::ServerContextBase* context) const;

  // A call that holds a thread, or a stream of shard maps, which counts until what is returned is
  // gone. RESOURCE_EXHAUSTED: the caller makes too many. There are no limits for callers that
  // nobody knows, nor for those on trial, whose certificate all processes of a machine have.
  absl::StatusOr<security::OpenCounts::Open> BeginCall(
      const grpc::ServerContextBase* context) const;
  absl::StatusOr<security::OpenCounts::Open> BeginStream(
      const grpc::ServerContextBase* context) const;

  // OK: the call may be made. UNAUTHENTICATED, PERMISSION_DENIED, which are counted and logged;
  // else, where it needs to be known what was granted, the errors of Policies. `app`: as MayCall()
  // says. Null: there is no such call.
  absl::Status Check(const grpc::ServerContextBase* context, const security::Rule* rule,
                     std::string_view app) const;

  // Who calls, with all of its roles. Errors as above. REQUIRES: not IsUnknown().
  absl::StatusOr<security::Caller> CallerOf(const grpc::ServerContextBase& context) const;
  // REQUIRES: policies are known here.
  absl::StatusOr<Policy> GetPolicy() const { return policies_(); }

  // For events and logs: "operator/alice", or "unknown (insecure)".
  std::string WhoCalls(const grpc::ServerContextBase* context) const;

  // A call that was let in was ended for this reason: counted, and logged, like those above.
  void Refused(security::Refusal why, const std::string& text) const;

 private:
  using Open = security::OpenCounts::Open;
  absl::StatusOr<security::Identity> IdentityOf(const grpc::ServerContextBase& context) const;
  absl::Status Judge(const grpc::ServerContextBase& context, const security::Rule* rule,
                     std::string_view app) const;
  // `begin`, for the identity whose share is limited; there may be none.
  absl::StatusOr<Open> Begin(
      const grpc::ServerContextBase* context,
      const std::function<absl::StatusOr<Open>(const std::string& who)>& begin) const;

  std::shared_ptr<const Transport> transport_;
  Policies policies_;
  std::shared_ptr<security::Limits> limits_;
  std::shared_ptr<Repeater> refusals_;
};

// The app that a request names; "": none.
template <typename Request>
std::string AppOf(const Request& request) {
  if constexpr (requires { request.app(); }) {
    return request.app();
  } else if constexpr (requires { request.spec().name(); }) {
    return request.spec().name();
  } else {
    return "";
  }
}

// Of the change that is previewed.
std::string AppOf(const v1::PreviewRequest& request);

// The row of the call with this request.
template <typename Request>
const security::Rule* RuleFor() {
  return security::RuleOfRequest(Request::descriptor()->name());
}

// Puts `who` wherever the request says who asks: what callers say of themselves is not believed.
void PutWho(const std::string& who, google::protobuf::Message& request);

}  // namespace shardmanager::wire
