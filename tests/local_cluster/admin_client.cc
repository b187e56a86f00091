#include "tests/local_cluster/admin_client.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager::local {
namespace {

constexpr std::chrono::milliseconds kRetryPause{50};

template <typename Request, typename Response>
using Method = grpc::Status (v1::Admin::Stub::*)(grpc::ClientContext*, const Request&, Response*);

using Deadline = std::chrono::system_clock::time_point;

template <typename Request, typename Response>
absl::StatusOr<Response> CallOnce(const std::shared_ptr<grpc::Channel>& channel,
                                  Method<Request, Response> method, const Request& request,
                                  Deadline deadline) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(deadline);
  Response response;
  const auto stub = v1::Admin::NewStub(channel);
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (!status.ok()) return wire::FromGrpc(status);
  return response;
}

// UNAVAILABLE: nothing was done, for example because it does not lead yet.
template <typename Request, typename Response>
absl::StatusOr<Response> Call(const std::shared_ptr<grpc::Channel>& channel,
                              Method<Request, Response> method, const Request& request,
                              std::chrono::milliseconds timeout) {
  const Deadline deadline = std::chrono::system_clock::now() + timeout;
  while (true) {
    auto response = CallOnce(channel, method, request, deadline);
    if (!absl::IsUnavailable(response.status())) return response;
    if (std::chrono::system_clock::now() + kRetryPause >= deadline) return response;
    std::this_thread::sleep_for(kRetryPause);  // it has no event for this
  }
}

}  // namespace

absl::Status AdminClient::AwaitLeading(std::chrono::milliseconds timeout) {
  const Deadline deadline = std::chrono::system_clock::now() + timeout;
  while (true) {
    const auto status =
        CallOnce(channel_, &v1::Admin::Stub::GetStatus, v1::GetStatusRequest(), deadline);
    if (status.ok() && status->leading()) return absl::OkStatus();
    if (std::chrono::system_clock::now() + kRetryPause >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("shardmanagerd does not lead: ", status.status().ToString()));
    }
    std::this_thread::sleep_for(kRetryPause);  // it has no event for this
  }
}

absl::StatusOr<v1::ApplyAppResponse> AdminClient::Apply(const v1::AppSpec& spec, bool force) {
  v1::ApplyAppRequest request;
  *request.mutable_spec() = spec;
  request.set_force(force);
  return Call(channel_, &v1::Admin::Stub::ApplyApp, request, deadline_);
}

absl::Status AdminClient::Delete(const std::string& app) {
  v1::DeleteAppRequest request;
  request.set_app(app);
  return Call(channel_, &v1::Admin::Stub::DeleteApp, request, deadline_).status();
}

absl::StatusOr<v1::GetAppsResponse> AdminClient::GetApps() {
  return Call(channel_, &v1::Admin::Stub::GetApps, v1::GetAppsRequest(), deadline_);
}

absl::StatusOr<v1::GetServersResponse> AdminClient::GetServers(const std::string& app) {
  v1::GetServersRequest request;
  request.set_app(app);
  return Call(channel_, &v1::Admin::Stub::GetServers, request, deadline_);
}

absl::StatusOr<v1::GetShardsResponse> AdminClient::GetShards(const std::string& app) {
  v1::GetShardsRequest request;
  request.set_app(app);
  return Call(channel_, &v1::Admin::Stub::GetShards, request, deadline_);
}

absl::Status AdminClient::Drain(const std::string& app, const v1::DrainScope& scope) {
  v1::DrainRequest request;
  request.set_app(app);
  *request.mutable_drain()->mutable_scope() = scope;
  return Call(channel_, &v1::Admin::Stub::Drain, request, deadline_).status();
}

absl::Status AdminClient::Undrain(const std::string& app, const v1::DrainScope& scope) {
  v1::UndrainRequest request;
  request.set_app(app);
  *request.mutable_scope() = scope;
  return Call(channel_, &v1::Admin::Stub::Undrain, request, deadline_).status();
}

absl::Status AdminClient::AddMaintenance(const v1::Maintenance& notice) {
  v1::AddMaintenanceRequest request;
  *request.mutable_maintenance() = notice;
  return Call(channel_, &v1::Admin::Stub::AddMaintenance, request, deadline_).status();
}

absl::StatusOr<v1::GetMaintenancesResponse> AdminClient::GetMaintenances(const std::string& app) {
  v1::GetMaintenancesRequest request;
  request.set_app(app);
  return Call(channel_, &v1::Admin::Stub::GetMaintenances, request, deadline_);
}

absl::StatusOr<v1::ExplainShardResponse> AdminClient::ExplainShard(const std::string& app,
                                                                   const std::string& shard,
                                                                   const std::string& server) {
  v1::ExplainShardRequest request;
  request.set_app(app);
  request.set_shard(shard);
  request.set_server(server);
  return Call(channel_, &v1::Admin::Stub::ExplainShard, request, deadline_);
}

EventWatcher::EventWatcher(std::shared_ptr<grpc::Channel> admin, std::string app)
    : channel_(std::move(admin)), app_(std::move(app)), thread_([this] { Run(); }) {}

EventWatcher::~EventWatcher() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (current_ != nullptr) current_->TryCancel();
    changed_.notify_all();
  }
  thread_.join();
}

std::optional<EventWatcher::Event> EventWatcher::WaitFor(const std::string& kind,
                                                         const std::string& server, TimePoint since,
                                                         std::chrono::milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  const Event* found = nullptr;
  auto look = [&] {
    for (const Event& e : events_) {
      if (e.seen < since || e.event.kind() != kind) continue;
      if (!server.empty() && e.event.server() != server) continue;
      found = &e;
      return true;
    }
    return false;
  };
  if (!changed_.wait_for(lock, timeout, look)) return std::nullopt;
  return *found;
}

std::vector<EventWatcher::Event> EventWatcher::events() const {
  std::lock_guard lock(mutex_);
  return events_;
}

void EventWatcher::Run() {
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      current_ = &context;
    }
    v1::WatchEventsRequest request;
    request.set_app(app_);
    auto stream = v1::Admin::NewStub(channel_)->WatchEvents(&context, request);
    v1::ControlEvent event;
    while (stream->Read(&event)) {
      std::lock_guard lock(mutex_);
      // A new stream begins with the events that its predecessor brought already.
      if (!known_.insert(event.SerializeAsString()).second) continue;
      events_.push_back({event, MonotonicNow()});
      changed_.notify_all();
    }
    (void)stream->Finish();
    std::unique_lock lock(mutex_);
    current_ = nullptr;
    changed_.wait_for(lock, kRetryPause, [this] { return stopping_; });
  }
}

}  // namespace shardmanager::local
