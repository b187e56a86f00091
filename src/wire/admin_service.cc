#include "wire/admin_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "orchestrator/control/controller.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager::wire {
namespace {

using orchestrator::Controller;
using orchestrator::Operations;

using Clock = std::chrono::system_clock;

// Longest wait for the controller; it answers at once unless the store hangs.
constexpr std::chrono::seconds kPatience{30};
// How often to look whether the client has gone.
constexpr std::chrono::milliseconds kLook{100};

// One call: whether somebody waits for it. Outlives the call in what the controller was asked.
class Caller {
 public:
  explicit Caller(const grpc::ServerContext& context) : deadline_(context.deadline()) {}

  void Leaves() { gone_ = true; }
  bool Waits() const { return !gone_ && Clock::now() < deadline_; }

  // Until then the controller may take to answer.
  Clock::time_point Patience() const {
    const Clock::time_point now = Clock::now();
    return now + PatienceWithin(std::chrono::duration_cast<Duration>(deadline_ - now));
  }

 private:
  const Clock::time_point deadline_;
  std::atomic<bool> gone_{false};
};

// What became of a change whose answer did not come.
grpc::Status UnknownOutcome(Clock::duration waited) {
  return {grpc::StatusCode::UNAVAILABLE,
          absl::StrCat("whether the change happened is unknown: ZooKeeper has not answered for ",
                       std::chrono::duration_cast<std::chrono::milliseconds>(waited).count(),
                       " ms, and the change may still happen when it does. Ask with `shardctl get "
                       "apps` and `shardctl describe app`")};
}

}  // namespace

Duration PatienceWithin(Duration allowed) {
  allowed = std::min<Duration>(kPatience, allowed);
  return allowed - std::min(Milliseconds(500), allowed / 5);
}

class AdminService::Impl final : public v1::Admin::Service {
 public:
  Impl(Controller& controller, std::string version)
      : controller_(controller), version_(std::move(version)) {}

  void EndStreams() { ending_ = true; }

  grpc::Status ApplyApp(grpc::ServerContext* context, const v1::ApplyAppRequest* request,
                        v1::ApplyAppResponse* response) override {
    return Change(context, request, response, &Operations::ApplyApp);
  }
  grpc::Status DeleteApp(grpc::ServerContext* context, const v1::DeleteAppRequest* request,
                         v1::DeleteAppResponse* response) override {
    return Change(context, request, response, &Operations::DeleteApp);
  }
  grpc::Status GetApps(grpc::ServerContext* context, const v1::GetAppsRequest* request,
                       v1::GetAppsResponse* response) override {
    return Ask(context, request, response, &Operations::GetApps);
  }
  grpc::Status GetServers(grpc::ServerContext* context, const v1::GetServersRequest* request,
                          v1::GetServersResponse* response) override {
    return Ask(context, request, response, &Operations::GetServers);
  }
  grpc::Status GetShards(grpc::ServerContext* context, const v1::GetShardsRequest* request,
                         v1::GetShardsResponse* response) override {
    return Ask(context, request, response, &Operations::GetShards);
  }
  grpc::Status ReleaseServer(grpc::ServerContext* context, const v1::ReleaseServerRequest* request,
                             v1::ReleaseServerResponse* response) override {
    return Change(context, request, response, &Operations::ReleaseServer);
  }
  grpc::Status RetryShard(grpc::ServerContext* context, const v1::RetryShardRequest* request,
                          v1::RetryShardResponse* response) override {
    return Change(context, request, response, &Operations::RetryShard);
  }
  grpc::Status ExplainShard(grpc::ServerContext* context, const v1::ExplainShardRequest* request,
                            v1::ExplainShardResponse* response) override {
    return Ask(context, request, response, &Operations::ExplainShard);
  }

  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override {
    return Change(context, request, response, &Operations::Drain);
  }
  grpc::Status Undrain(grpc::ServerContext* context, const v1::UndrainRequest* request,
                       v1::UndrainResponse* response) override {
    return Change(context, request, response, &Operations::Undrain);
  }

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetStatusResponse>>>();
    controller_.operations().GetStatus(
        [answer](auto result) { answer->set_value(std::move(result)); });
    grpc::Status status = Await(*context, *answer, response);
    response->set_version(version_);
    return status;
  }

  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::ControlEvent>* writer) override {
    if (!controller_.leads()) {
      NameLeader(context);
      return {grpc::StatusCode::FAILED_PRECONDITION, "this process does not lead"};
    }
    uint64_t cursor = 0;
    const Duration patience = request->no_follow() ? Duration(0) : Milliseconds(200);
    while (!context->IsCancelled() && !ending_) {
      const bool leads = controller_.leads();  // before the last events are read
      for (const v1::ControlEvent& event : controller_.events().Read(&cursor, patience)) {
        const bool wanted =
            request->app().empty() || event.app().empty() || event.app() == request->app();
        if (wanted && !writer->Write(event)) return grpc::Status::OK;
      }
      if (request->no_follow()) return grpc::Status::OK;
      if (!leads) return {grpc::StatusCode::UNAVAILABLE, "this process does not lead any more"};
    }
    return {grpc::StatusCode::UNAVAILABLE, "this process is stopping"};
  }

 private:
  // A controller that has stopped answers nothing any more.
  template <typename Response>
  grpc::Status Await(const grpc::ServerContext& context,
                     std::promise<absl::StatusOr<Response>>& answer, Response* response) {
    auto future = answer.get_future();
    const Clock::time_point until = Clock::now() + kPatience;
    while (future.wait_for(kLook) != std::future_status::ready) {
      if (context.IsCancelled()) return grpc::Status::CANCELLED;
      if (ending_) return {grpc::StatusCode::UNAVAILABLE, "this process is stopping"};
      if (Clock::now() >= until) {
        return {grpc::StatusCode::UNAVAILABLE, "this process is busy and does not answer"};
      }
    }
    return Take(future.get(), response);
  }

  template <typename Response>
  static grpc::Status Take(absl::StatusOr<Response> result, Response* response) {
    if (!result.ok()) return ToGrpc(result.status());
    *response = *std::move(result);
    return grpc::Status::OK;
  }

  template <typename Request, typename Response>
  grpc::Status Ask(grpc::ServerContext* context, const Request* request, Response* response,
                   void (Operations::*method)(Request, Operations::Reply<Response>)) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    (controller_.operations().*method)(*request,
                                       [answer](auto r) { answer->set_value(std::move(r)); });
    grpc::Status status = Await(*context, *answer, response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) NameLeader(context);
    return status;
  }

  template <typename Request, typename Response>
  grpc::Status Change(grpc::ServerContext* context, const Request* request, Response* response,
                      void (Operations::*method)(Request, Operations::Reply<Response>,
                                                 orchestrator::Wanted)) {
    const Clock::time_point asked = Clock::now();
    auto caller = std::make_shared<Caller>(*context);
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    auto future = answer->get_future();
    (controller_.operations().*method)(
        *request, [answer](auto r) { answer->set_value(std::move(r)); },
        [caller] { return caller->Waits(); });
    const Clock::time_point until = caller->Patience();
    while (future.wait_until(std::min(until, Clock::now() + kLook)) != std::future_status::ready) {
      if (!context->IsCancelled() && Clock::now() < until) continue;
      caller->Leaves();
      return UnknownOutcome(Clock::now() - asked);
    }
    grpc::Status status = Take(future.get(), response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) NameLeader(context);
    return status;
  }

  // So that a client that met a standby can turn to the leader.
  void NameLeader(grpc::ServerContext* context) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetStatusResponse>>>();
    controller_.operations().GetStatus(
        [answer](auto result) { answer->set_value(std::move(result)); });
    v1::GetStatusResponse status;
    if (!Await(*context, *answer, &status).ok() || status.leading()) return;
    context->AddTrailingMetadata(request_metadata::kLeader, status.leader_endpoint());
  }

  Controller& controller_;
  const std::string version_;
  std::atomic<bool> ending_{false};
};

AdminService::AdminService(Controller& controller, std::string version)
    : impl_(std::make_unique<Impl>(controller, std::move(version))) {}
AdminService::~AdminService() = default;

grpc::Service* AdminService::service() { return impl_.get(); }
void AdminService::EndStreams() { impl_->EndStreams(); }

}  // namespace shardmanager::wire
