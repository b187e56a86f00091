#include "cli/admin_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/endpoint.h"
#include "model/request_metadata.h"
#include "shardmanager/v1/access.grpc.pb.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "wire/grpc_status.h"
#include "wire/keepalive.h"
#include "wire/transport.h"

namespace shardmanager::cli {
namespace {

std::shared_ptr<grpc::Channel> Connect(const wire::Transport& transport,
                                       const std::string& server) {
  grpc::ChannelArguments arguments;
  // All shards of a large app come in one answer.
  arguments.SetMaxReceiveMessageSize(-1);
  // A watch that waits for hours must notice that the other side is gone.
  wire::SetKeepalive({.ping_after = Seconds(30), .give_up = Seconds(10)}, arguments);
  return transport.Open(server, security::AControlPlane(), std::move(arguments));
}

}  // namespace

class AdminClient::Impl {
 public:
  Impl(const Options& options, std::shared_ptr<const wire::Transport> transport)
      : timeout_(options.timeout),
        operation_(options.operation),
        homes_(EndpointList(options.server)),
        transport_(std::move(transport)) {
    if (homes_.empty()) homes_.push_back(options.server);
    TurnTo(homes_.front());
  }

  const std::string& server() const { return server_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  const std::string& operation() const { return operation_; }

  template <typename Stub, typename Request, typename Response>
  using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

  // A change that was not answered in time may have happened, and says so.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Change(Method<Stub, Request, Response> method, const Request& request) {
    absl::StatusOr<Response> response = Call(method, request);
    if (!absl::IsDeadlineExceeded(response.status())) return response;
    return absl::DeadlineExceededError(
        "whether the change happened is unknown, and it may still happen; ask with `shardctl get "
        "apps` and `shardctl describe app`");
  }

  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Method<Stub, Request, Response> method, const Request& request) {
    Response response;
    std::string leader;
    TurnToOneThatIsReached();
    absl::Status status = CallOnce(method, request, &response, &leader);
    if (!leader.empty() && leader != server_) {
      TurnTo(leader);
      status = CallOnce(method, request, &response, &leader);
    }
    if (absl::IsDeadlineExceeded(status)) return absl::DeadlineExceededError("");
    if (!status.ok()) return status;
    return response;
  }

  absl::Status Watch(const v1::WatchEventsRequest& request,
                     const std::function<void(const v1::ControlEvent&)>& on_event) {
    absl::Status found = FindLeader().status();
    for (const std::string& home : homes_) {
      if (found.ok()) break;
      if (home == server_) continue;
      TurnTo(home);
      found = FindLeader().status();
    }
    if (!found.ok()) return found;
    grpc::ClientContext context;
    const auto stream = stub_->WatchEvents(&context, request);
    v1::ControlEvent event;
    while (stream->Read(&event)) on_event(event);
    return wire::FromGrpc(stream->Finish());
  }

  // Turns from server() to the leader that it knows, and returns what that one says. A stream has
  // no deadline that would end a fruitless attempt to connect: so both are heard to answer.
  absl::StatusOr<v1::GetStatusResponse> FindLeader() {
    auto status = Call(&v1::Admin::Stub::GetStatus, v1::GetStatusRequest());
    if (status.ok() && !status->leading() && !status->leader_endpoint().empty()) {
      TurnTo(status->leader_endpoint());
      status = Call(&v1::Admin::Stub::GetStatus, v1::GetStatusRequest());
    }
    if (!status.ok() || status->leading()) return status;
    if (status->cut_off_ms() == 0) return absl::UnavailableError("nobody leads now");
    return absl::UnavailableError(absl::StrCat("who leads is unknown: ", server_,
                                               " is cut off from ZooKeeper since ",
                                               status->cut_off_ms() / 1'000, " s"));
  }

  void AwaitChange(std::chrono::milliseconds longest) {
    channel_->WaitForStateChange(channel_->GetState(/*try_to_connect=*/true),
                                 std::chrono::system_clock::now() + longest);
  }

 private:
  // With several endpoints: nothing was sent yet, so another one may be asked instead of one that
  // cannot be reached. Stays where it is if none can be.
  void TurnToOneThatIsReached() {
    if (homes_.size() < 2 || IsReached()) return;
    const std::string before = server_;
    for (const std::string& home : homes_) {
      if (home == before) continue;
      TurnTo(home);
      if (IsReached()) return;
    }
    TurnTo(before);
  }

  bool IsReached() const {
    const auto until = std::chrono::system_clock::now() +
                       std::min<std::chrono::milliseconds>(timeout_, kConnectPatience);
    grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
      if (!channel_->WaitForStateChange(state, until)) return false;
      state = channel_->GetState(/*try_to_connect=*/true);
    }
    return true;
  }

  static constexpr std::chrono::milliseconds kConnectPatience{2'000};

  v1::Admin::Stub& StubOf(v1::Admin::Stub*) { return *stub_; }
  v1::Access::Stub& StubOf(v1::Access::Stub*) { return *access_stub_; }

  void TurnTo(std::string server) {
    server_ = std::move(server);
    channel_ = Connect(*transport_, server_);
    stub_ = v1::Admin::NewStub(channel_);
    access_stub_ = v1::Access::NewStub(channel_);
  }

  // `leader`: where a standby points to, else "".
  template <typename Stub, typename Request, typename Response>
  absl::Status CallOnce(Method<Stub, Request, Response> method, const Request& request,
                        Response* response, std::string* leader) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout_);
    if (!operation_.empty()) context.AddMetadata(request_metadata::kOperation, operation_);
    const grpc::Status status =
        (StubOf(static_cast<Stub*>(nullptr)).*method)(&context, request, response);
    leader->clear();
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) {
      const auto& trailing = context.GetServerTrailingMetadata();
      const auto found = trailing.find(request_metadata::kLeader);
      if (found != trailing.end()) leader->assign(found->second.data(), found->second.size());
    }
    return wire::FromGrpc(status);
  }

  const std::chrono::milliseconds timeout_;
  const std::string operation_;
  std::vector<std::string> homes_;  // as the user named them; at least one
  const std::shared_ptr<const wire::Transport> transport_;
  std::string server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Admin::Stub> stub_;
  std::unique_ptr<v1::Access::Stub> access_stub_;
};

AdminClient::AdminClient(const Options& options, std::shared_ptr<const wire::Transport> transport)
    : impl_(std::make_unique<Impl>(options, std::move(transport))) {}
AdminClient::~AdminClient() = default;

const std::string& AdminClient::server() const { return impl_->server(); }
std::chrono::milliseconds AdminClient::timeout() const { return impl_->timeout(); }
const std::string& AdminClient::operation() const { return impl_->operation(); }

absl::StatusOr<v1::ApplyAppResponse> AdminClient::ApplyApp(const v1::ApplyAppRequest& request) {
  return impl_->Change(&v1::Admin::Stub::ApplyApp, request);
}
absl::StatusOr<v1::DeleteAppResponse> AdminClient::DeleteApp(const v1::DeleteAppRequest& request) {
  return impl_->Change(&v1::Admin::Stub::DeleteApp, request);
}
absl::StatusOr<v1::GetAppsResponse> AdminClient::GetApps(const v1::GetAppsRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetApps, request);
}
absl::StatusOr<v1::DrainResponse> AdminClient::Drain(const v1::DrainRequest& request) {
  return impl_->Change(&v1::Admin::Stub::Drain, request);
}
absl::StatusOr<v1::UndrainResponse> AdminClient::Undrain(const v1::UndrainRequest& request) {
  return impl_->Change(&v1::Admin::Stub::Undrain, request);
}
absl::StatusOr<v1::GetServersResponse> AdminClient::GetServers(
    const v1::GetServersRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetServers, request);
}
absl::StatusOr<v1::GetShardsResponse> AdminClient::GetShards(const v1::GetShardsRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetShards, request);
}
absl::StatusOr<v1::ExplainShardResponse> AdminClient::ExplainShard(
    const v1::ExplainShardRequest& request) {
  return impl_->Call(&v1::Admin::Stub::ExplainShard, request);
}
absl::StatusOr<v1::GetOperationsResponse> AdminClient::GetOperations(
    const v1::GetOperationsRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetOperations, request);
}
absl::StatusOr<v1::GetRolloutsResponse> AdminClient::GetRollouts(
    const v1::GetRolloutsRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetRollouts, request);
}
absl::StatusOr<v1::ApproveOperationResponse> AdminClient::ApproveOperation(
    const v1::ApproveOperationRequest& request) {
  return impl_->Change(&v1::Admin::Stub::ApproveOperation, request);
}
absl::StatusOr<v1::EndOperationResponse> AdminClient::EndOperation(
    const v1::EndOperationRequest& request) {
  return impl_->Change(&v1::Admin::Stub::EndOperation, request);
}
absl::StatusOr<v1::PauseAppResponse> AdminClient::PauseApp(const v1::PauseAppRequest& request) {
  return impl_->Change(&v1::Admin::Stub::PauseApp, request);
}
absl::StatusOr<v1::ResumeAppResponse> AdminClient::ResumeApp(const v1::ResumeAppRequest& request) {
  return impl_->Change(&v1::Admin::Stub::ResumeApp, request);
}
absl::StatusOr<v1::PreferRegionsResponse> AdminClient::PreferRegions(
    const v1::PreferRegionsRequest& request) {
  return impl_->Change(&v1::Admin::Stub::PreferRegions, request);
}
absl::StatusOr<v1::ReshapeShardsResponse> AdminClient::ReshapeShards(
    const v1::ReshapeShardsRequest& request) {
  return impl_->Change(&v1::Admin::Stub::ReshapeShards, request);
}

absl::StatusOr<v1::PinShardResponse> AdminClient::PinShard(const v1::PinShardRequest& request) {
  return impl_->Change(&v1::Admin::Stub::PinShard, request);
}
absl::StatusOr<v1::UnpinShardResponse> AdminClient::UnpinShard(
    const v1::UnpinShardRequest& request) {
  return impl_->Change(&v1::Admin::Stub::UnpinShard, request);
}
absl::StatusOr<v1::AddMaintenanceResponse> AdminClient::AddMaintenance(
    const v1::AddMaintenanceRequest& request) {
  return impl_->Change(&v1::Admin::Stub::AddMaintenance, request);
}
absl::StatusOr<v1::GetMaintenancesResponse> AdminClient::GetMaintenances(
    const v1::GetMaintenancesRequest& request) {
  return impl_->Call(&v1::Admin::Stub::GetMaintenances, request);
}
absl::StatusOr<v1::CancelMaintenanceResponse> AdminClient::CancelMaintenance(
    const v1::CancelMaintenanceRequest& request) {
  return impl_->Change(&v1::Admin::Stub::CancelMaintenance, request);
}
absl::StatusOr<v1::ReleaseServerResponse> AdminClient::ReleaseServer(
    const v1::ReleaseServerRequest& request) {
  return impl_->Change(&v1::Admin::Stub::ReleaseServer, request);
}
absl::StatusOr<v1::GetStatusResponse> AdminClient::GetStatus() {
  return impl_->Call(&v1::Admin::Stub::GetStatus, v1::GetStatusRequest());
}
absl::StatusOr<v1::GetStatusResponse> AdminClient::GetStatusOfLeader() {
  return impl_->FindLeader();
}
absl::Status AdminClient::WatchEvents(
    const v1::WatchEventsRequest& request,
    const std::function<void(const v1::ControlEvent&)>& on_event) {
  return impl_->Watch(request, on_event);
}

namespace {

using AccessStub = v1::Access::Stub;
auto MethodOf(const v1::GrantRequest&) { return &AccessStub::Grant; }
auto MethodOf(const v1::RevokeRequest&) { return &AccessStub::Revoke; }
auto MethodOf(const v1::GetPolicyRequest&) { return &AccessStub::GetPolicy; }
auto MethodOf(const v1::WhoAmIRequest&) { return &AccessStub::WhoAmI; }
auto MethodOf(const v1::CanIRequest&) { return &AccessStub::CanI; }

auto MethodOf(const v1::RetryShardRequest&) { return &v1::Admin::Stub::RetryShard; }
auto MethodOf(const v1::MoveShardRequest&) { return &v1::Admin::Stub::MoveShard; }
auto MethodOf(const v1::LiftQuarantineRequest&) { return &v1::Admin::Stub::LiftQuarantine; }
auto MethodOf(const v1::ForgetServerRequest&) { return &v1::Admin::Stub::ForgetServer; }
auto MethodOf(const v1::PreviewRequest&) { return &v1::Admin::Stub::Preview; }
auto MethodOf(const v1::GetHistoryRequest&) { return &v1::Admin::Stub::GetHistory; }

template <typename Request>
constexpr bool IsChange() {
  return requires(const Request& request) { request.who(); }
  || std::is_same_v<Request, v1::RetryShardRequest> ||
      std::is_same_v<Request, v1::MoveShardRequest> ||
      std::is_same_v<Request, v1::LiftQuarantineRequest> ||
      std::is_same_v<Request, v1::ForgetServerRequest>;
}

}  // namespace

template <typename Response, typename Request>
absl::StatusOr<Response> AdminClient::Send(const Request& request) {
  if constexpr (IsChange<Request>())
    return impl_->Change(MethodOf(request), request);
  else
    return impl_->Call(MethodOf(request), request);
}
template absl::StatusOr<v1::GrantResponse> AdminClient::Send(const v1::GrantRequest&);
template absl::StatusOr<v1::RevokeResponse> AdminClient::Send(const v1::RevokeRequest&);
template absl::StatusOr<v1::GetPolicyResponse> AdminClient::Send(const v1::GetPolicyRequest&);
template absl::StatusOr<v1::WhoAmIResponse> AdminClient::Send(const v1::WhoAmIRequest&);
template absl::StatusOr<v1::CanIResponse> AdminClient::Send(const v1::CanIRequest&);
template absl::StatusOr<v1::RetryShardResponse> AdminClient::Send(const v1::RetryShardRequest&);
template absl::StatusOr<v1::MoveShardResponse> AdminClient::Send(const v1::MoveShardRequest&);
template absl::StatusOr<v1::LiftQuarantineResponse> AdminClient::Send(
    const v1::LiftQuarantineRequest&);
template absl::StatusOr<v1::ForgetServerResponse> AdminClient::Send(const v1::ForgetServerRequest&);
template absl::StatusOr<v1::PreviewResponse> AdminClient::Send(const v1::PreviewRequest&);
template absl::StatusOr<v1::GetHistoryResponse> AdminClient::Send(const v1::GetHistoryRequest&);

void AdminClient::AwaitChange(std::chrono::milliseconds longest) { impl_->AwaitChange(longest); }

}  // namespace shardmanager::cli
