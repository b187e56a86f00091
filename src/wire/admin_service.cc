#include "wire/admin_service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "history/history.h"
#include "orchestrator/control/controller.h"
#include "orchestrator/describe/problems.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "wire/controller_calls.h"
#include "wire/events/event_stream.h"

namespace shardmanager::wire {
using orchestrator::Controller;
using orchestrator::Levers;
using orchestrator::Operations;

namespace {

template <typename Field, typename Values>
void AssignTo(Field& field, Values values) {
  for (auto& value : values) *field.Add() = std::move(value);
}

// What this process sees of others, whether it leads or not.
void AddProblemsAround(v1::GetStatusResponse& status) {
  for (const v1::ZookeeperMember& member : status.zookeeper()) {
    if (member.state() != "silent" && member.state() != "no quorum") continue;
    *status.add_problems() = orchestrator::ProblemOf(
        v1::Problem::WARNING, "ZookeeperMemberDown",
        absl::StrCat("the ZooKeeper server ", member.endpoint(), " is ", member.state(),
                     member.reason().empty() ? "" : ": ", member.reason()));
  }
  for (const v1::RelayStatus& relay : status.relays()) {
    if (relay.apps_behind() == 0) continue;
    *status.add_problems() = orchestrator::ProblemOf(
        v1::Problem::WARNING, "RelayBehind",
        absl::StrCat("the ", relay.kind(), " ", relay.name(), " lacks the newest maps of ",
                     relay.apps_behind(), " of its ", relay.apps(), " apps, for ",
                     relay.behind_ms() / 1'000, " s: it does not take what it is sent"));
  }
}

// NOT_FOUND: the app is not there, and nothing is known of it. OUT_OF_RANGE: the caller knows of
// later leaders.
// `get_apps` asks the controller.
grpc::Status MayWatch(const v1::WatchEventsRequest& request, const orchestrator::EventLog& events,
                      history::History* history,
                      const std::function<grpc::Status(v1::GetAppsResponse*)>& get_apps) {
  const history::Position last = history::ToPosition(events.last());
  if (history::ToPosition(request.after()) > last) {
    return {grpc::StatusCode::OUT_OF_RANGE,
            absl::StrCat("after: found ", history::ToPosition(request.after()).ToString(),
                         "; allowed: at most ", last.ToString(),
                         ", the leader's last one: the cell was made anew, or was restored")};
  }
  if (request.app().empty() || events.Knows(request.app())) {
    return grpc::Status::OK;
  }
  v1::GetHistoryRequest of_app;
  of_app.set_app(request.app());
  of_app.set_limit(1);
  if (history != nullptr && history->Read(of_app).ok()) return grpc::Status::OK;
  v1::GetAppsResponse apps;
  if (grpc::Status asked = get_apps(&apps); !asked.ok()) return asked;
  std::vector<std::string> names;
  for (const v1::AppStatus& app : apps.apps()) {
    if (app.spec().name() == request.app()) return grpc::Status::OK;
    names.push_back(app.spec().name());
  }
  return {grpc::StatusCode::NOT_FOUND,
          absl::StrCat("no app \"", request.app(),
                       "\"; there are: ", names.empty() ? "none" : absl::StrJoin(names, ", "))};
}

// What operators do by hand about one shard or server, and what a change would come to.
class LeverService : public v1::Admin::Service {
 public:
  LeverService(Controller& controller, Gate gate)
      : calls_({.controller = controller,
                .gate = std::move(gate),
                .advice = "Ask with `shardctl get apps` and `shardctl describe app`"}) {}

  grpc::Status RetryShard(grpc::ServerContext* context, const v1::RetryShardRequest* request,
                          v1::RetryShardResponse* response) override {
    return calls_.Change(context, request, response, &Levers::RetryShard);
  }
  grpc::Status MoveShard(grpc::ServerContext* context, const v1::MoveShardRequest* request,
                         v1::MoveShardResponse* response) override {
    return calls_.Change(context, request, response, &Levers::MoveShard);
  }
  grpc::Status LiftQuarantine(grpc::ServerContext* context,
                              const v1::LiftQuarantineRequest* request,
                              v1::LiftQuarantineResponse* response) override {
    return calls_.Change(context, request, response, &Levers::LiftQuarantine);
  }
  grpc::Status ForgetServer(grpc::ServerContext* context, const v1::ForgetServerRequest* request,
                            v1::ForgetServerResponse* response) override {
    return calls_.Change(context, request, response, &Levers::ForgetServer);
  }
  grpc::Status Preview(grpc::ServerContext* context, const v1::PreviewRequest* request,
                       v1::PreviewResponse* response) override {
    const auto preview = [&](const auto& change, auto method) {
      return calls_.Preview(context, *request, change, method, response);
    };
    using enum v1::PreviewRequest::ChangeCase;
    switch (request->change_case()) {
      case kDrain:
        return preview(request->drain(), &Operations::Drain);
      case kUndrain:
        return preview(request->undrain(), &Operations::Undrain);
      case kPause:
        return preview(request->pause(), &Operations::PauseApp);
      case kResume:
        return preview(request->resume(), &Operations::ResumeApp);
      case kPin:
        return preview(request->pin(), &Operations::PinShard);
      case kUnpin:
        return preview(request->unpin(), &Operations::UnpinShard);
      case kRetry:
        return preview(request->retry(), &Levers::RetryShard);
      case kMove:
        return preview(request->move(), &Levers::MoveShard);
      case kLiftQuarantine:
        return preview(request->lift_quarantine(), &Levers::LiftQuarantine);
      case kForget:
        return preview(request->forget(), &Levers::ForgetServer);
      case CHANGE_NOT_SET:
        break;
    }
    const auto checked = calls_.Check(context, *request);
    if (!checked.ok()) return checked.status;
    return {grpc::StatusCode::INVALID_ARGUMENT,
            "change: nothing that this version knows is set; allowed: drain, undrain, pause, "
            "resume, pin, unpin, retry, move, lift_quarantine, forget"};
  }

 protected:
  ControllerCalls& calls() { return calls_; }

 private:
  ControllerCalls calls_;
};

}  // namespace

class AdminService::Impl final : public LeverService {
 public:
  Impl(Controller& controller, std::string version, Gate gate, Around around)
      : LeverService(controller, std::move(gate)),
        controller_(controller),
        version_(std::move(version)),
        around_(std::move(around)) {}

  void EndStreams() { calls().End(); }

  grpc::Status ApplyApp(grpc::ServerContext* context, const v1::ApplyAppRequest* request,
                        v1::ApplyAppResponse* response) override {
    return calls().Change(context, request, response, &Operations::ApplyApp);
  }
  grpc::Status DeleteApp(grpc::ServerContext* context, const v1::DeleteAppRequest* request,
                         v1::DeleteAppResponse* response) override {
    return calls().Change(context, request, response, &Operations::DeleteApp);
  }
  grpc::Status GetApps(grpc::ServerContext* context, const v1::GetAppsRequest* request,
                       v1::GetAppsResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetApps);
  }
  grpc::Status GetServers(grpc::ServerContext* context, const v1::GetServersRequest* request,
                          v1::GetServersResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetServers);
  }
  grpc::Status GetShards(grpc::ServerContext* context, const v1::GetShardsRequest* request,
                         v1::GetShardsResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetShards);
  }
  grpc::Status PauseApp(grpc::ServerContext* context, const v1::PauseAppRequest* request,
                        v1::PauseAppResponse* response) override {
    return calls().Change(context, request, response, &Operations::PauseApp);
  }
  grpc::Status ResumeApp(grpc::ServerContext* context, const v1::ResumeAppRequest* request,
                         v1::ResumeAppResponse* response) override {
    return calls().Change(context, request, response, &Operations::ResumeApp);
  }
  grpc::Status PinShard(grpc::ServerContext* context, const v1::PinShardRequest* request,
                        v1::PinShardResponse* response) override {
    return calls().Change(context, request, response, &Operations::PinShard);
  }
  grpc::Status UnpinShard(grpc::ServerContext* context, const v1::UnpinShardRequest* request,
                          v1::UnpinShardResponse* response) override {
    return calls().Change(context, request, response, &Operations::UnpinShard);
  }
  grpc::Status PreferRegions(grpc::ServerContext* context, const v1::PreferRegionsRequest* request,
                             v1::PreferRegionsResponse* response) override {
    return calls().Change(context, request, response, &Operations::PreferRegions);
  }
  grpc::Status ReshapeShards(grpc::ServerContext* context, const v1::ReshapeShardsRequest* request,
                             v1::ReshapeShardsResponse* response) override {
    return calls().Change(context, request, response, &Operations::ReshapeShards);
  }
  grpc::Status AddMaintenance(grpc::ServerContext* context,
                              const v1::AddMaintenanceRequest* request,
                              v1::AddMaintenanceResponse* response) override {
    return calls().Change(context, request, response, &Operations::AddMaintenance);
  }
  grpc::Status GetMaintenances(grpc::ServerContext* context,
                               const v1::GetMaintenancesRequest* request,
                               v1::GetMaintenancesResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetMaintenances);
  }
  grpc::Status CancelMaintenance(grpc::ServerContext* context,
                                 const v1::CancelMaintenanceRequest* request,
                                 v1::CancelMaintenanceResponse* response) override {
    return calls().Change(context, request, response, &Operations::CancelMaintenance);
  }
  grpc::Status EndOperation(grpc::ServerContext* context, const v1::EndOperationRequest* request,
                            v1::EndOperationResponse* response) override {
    return calls().Change(context, request, response, &Operations::EndOperation);
  }
  grpc::Status ReleaseServer(grpc::ServerContext* context, const v1::ReleaseServerRequest* request,
                             v1::ReleaseServerResponse* response) override {
    return calls().Change(context, request, response, &Operations::ReleaseServer);
  }
  grpc::Status GetOperations(grpc::ServerContext* context, const v1::GetOperationsRequest* request,
                             v1::GetOperationsResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetOperations);
  }
  grpc::Status GetRollouts(grpc::ServerContext* context, const v1::GetRolloutsRequest* request,
                           v1::GetRolloutsResponse* response) override {
    return calls().Ask(context, request, response, &Operations::GetRollouts);
  }
  grpc::Status ApproveOperation(grpc::ServerContext* context,
                                const v1::ApproveOperationRequest* request,
                                v1::ApproveOperationResponse* response) override {
    return calls().Change(context, request, response, &Operations::ApproveOperation);
  }
  grpc::Status ExplainShard(grpc::ServerContext* context, const v1::ExplainShardRequest* request,
                            v1::ExplainShardResponse* response) override {
    return calls().Ask(context, request, response, &Operations::ExplainShard);
  }

  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override {
    return calls().Change(context, request, response, &Operations::Drain);
  }
  grpc::Status Undrain(grpc::ServerContext* context, const v1::UndrainRequest* request,
                       v1::UndrainResponse* response) override {
    return calls().Change(context, request, response, &Operations::Undrain);
  }

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override {
    const auto checked = calls().Check(context, *request);
    if (!checked.ok()) return checked.status;
    auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetStatusResponse>>>();
    controller_.operations().GetStatus(
        [answer](auto result) { answer->set_value(std::move(result)); }, /*with_problems=*/true);
    grpc::Status status = calls().Await(*context, *answer, response);
    response->set_version(version_);
    if (around_.relays) AssignTo(*response->mutable_relays(), around_.relays());
    if (around_.zookeeper) AssignTo(*response->mutable_zookeeper(), around_.zookeeper());
    AddProblemsAround(*response);
    return status;
  }

  grpc::Status WatchEvents(grpc::ServerContext* context, const v1::WatchEventsRequest* request,
                           grpc::ServerWriter<v1::ControlEvent>* writer) override {
    const auto checked = calls().Check(context, *request);
    if (!checked.ok()) return checked.status;
    if (!controller_.leads()) {
      calls().NameLeader(context);
      return {grpc::StatusCode::FAILED_PRECONDITION, "this process does not lead"};
    }
    const auto get_apps = [&](v1::GetAppsResponse* apps) {
      auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetAppsResponse>>>();
      controller_.operations().GetApps(
          {}, [answer](auto result) { answer->set_value(std::move(result)); });
      return calls().Await(*context, *answer, apps);
    };
    const grpc::Status may = MayWatch(*request, controller_.events(), around_.history, get_apps);
    if (!may.ok()) return may;
    EventStream stream(controller_.events(), around_.history,
                       history::ToPosition(request->after()));
    if (request->has_after() && request->after().leader_epoch() == 0) stream.FromTheBeginning();
    const Duration patience = request->no_follow() ? Duration(0) : Milliseconds(200);
    while (!context->IsCancelled() && !calls().ending()) {
      const bool leads = controller_.leads();  // before the last events are read
      for (const v1::ControlEvent& event : stream.Next(patience)) {
        // Who changed what is of no app at times, as grants: it is for who may watch all.
        const bool of_all = event.app().empty() && event.by().empty();
        const bool wanted = request->app().empty() || of_all || event.app() == request->app();
        if (wanted && !writer->Write(event)) return grpc::Status::OK;
      }
      if (request->no_follow() && stream.at_end()) return grpc::Status::OK;
      if (!leads) return {grpc::StatusCode::UNAVAILABLE, "this process does not lead any more"};
    }
    return {grpc::StatusCode::UNAVAILABLE, "this process is stopping"};
  }

  grpc::Status GetHistory(grpc::ServerContext* context, const v1::GetHistoryRequest* request,
                          v1::GetHistoryResponse* response) override {
    const auto checked = calls().Check(context, *request);
    if (!checked.ok()) return checked.status;
    auto kept =
        history::Answer(around_.history, *request, controller_.process(), controller_.leads());
    if (!kept.ok()) return ToGrpc(kept.status());
    *response = *std::move(kept);
    return grpc::Status::OK;
  }

 private:
  Controller& controller_;
  const std::string version_;
  const Around around_;
};

AdminService::AdminService(Controller& controller, std::string version, Gate gate, Around around)
    : impl_(std::make_unique<Impl>(controller, std::move(version), std::move(gate),
                                   std::move(around))) {}
AdminService::~AdminService() = default;

grpc::Service* AdminService::service() { return impl_.get(); }
void AdminService::EndStreams() { impl_->EndStreams(); }

}  // namespace shardmanager::wire
