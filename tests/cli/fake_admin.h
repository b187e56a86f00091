// A control plane of canned answers, in this process.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "model/request_metadata.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "tests/cli/answers.h"
#include "tests/cli/fake_access.h"
#include "tests/cli/fake_levers.h"

namespace shardmanager::cli {

// Set the answers before the first call. A `refusal` that is set answers every call.
class FakeAdmin final : public FakeLevers {
 public:
  FakeAdmin() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(256 << 20);  // as shardmanagerd
    builder.RegisterService(this);
    builder.RegisterService(&access);
    server_ = builder.BuildAndStart();
  }
  ~FakeAdmin() override { Stop(); }

  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status refusal;
  grpc::Status explain_refusal;  // of that call alone
  // Where it says that the leader is, with its refusal.
  std::string leader;
  v1::ApplyAppResponse apply;
  v1::GetAppsResponse apps;
  v1::GetServersResponse servers;
  std::vector<v1::GetServersResponse> earlier_servers;  // the answers before that, in turn
  grpc::Status first_servers_refusal;                   // of the first such call alone
  v1::DrainResponse drained;
  v1::UndrainResponse undrained;
  v1::GetShardsResponse shards;
  v1::GetOperationsResponse operations;
  v1::GetRolloutsResponse rollouts;
  std::vector<v1::GetRolloutsResponse> earlier_rollouts;  // the answers before that, in turn
  // Of the second such call alone.
  grpc::Status second_rollouts_refusal;
  v1::GetMaintenancesResponse maintenances;
  v1::PreferRegionsResponse preferred;
  grpc::Status prefer_refusal;  // of that call alone
  v1::ExplainShardResponse explanation;
  v1::ReleaseServerResponse release;
  v1::GetStatusResponse status;

  // Its requests are among the others, and refused as they are.
  FakeAccess access{[this](const std::string& request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
    return refusal;
  }};

  // Requests so far, as "Name{fields}".
  std::vector<std::string> requests() {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  using Context = grpc::ServerContext*;

  grpc::Status ApplyApp(Context context, const v1::ApplyAppRequest* request,
                        v1::ApplyAppResponse* response) override {
    return Answer(context, "ApplyApp", *request, apply, response);
  }
  grpc::Status DeleteApp(Context context, const v1::DeleteAppRequest* request,
                         v1::DeleteAppResponse* response) override {
    return Answer(context, "DeleteApp", *request, {}, response);
  }
  grpc::Status GetApps(Context context, const v1::GetAppsRequest* request,
                       v1::GetAppsResponse* response) override {
    return Answer(context, "GetApps", *request, apps, response);
  }
  grpc::Status GetServers(Context context, const v1::GetServersRequest* request,
                          v1::GetServersResponse* response) override {
    if (!earlier_servers.empty()) {
      const v1::GetServersResponse first = earlier_servers.front();
      earlier_servers.erase(earlier_servers.begin());
      return Answer(context, "GetServers", *request, first, response);
    }
    const grpc::Status also = std::exchange(first_servers_refusal, grpc::Status::OK);
    v1::GetServersResponse asked_for = servers;
    Leave(*asked_for.mutable_servers(), request->server(), &v1::ServerStatus::server);
    return Answer(context, "GetServers", *request, asked_for, response, also);
  }
  grpc::Status Drain(Context context, const v1::DrainRequest* request,
                     v1::DrainResponse* response) override {
    return Answer(context, "Drain", *request, drained, response);
  }
  grpc::Status Undrain(Context context, const v1::UndrainRequest* request,
                       v1::UndrainResponse* response) override {
    return Answer(context, "Undrain", *request, undrained, response);
  }
  grpc::Status GetShards(Context context, const v1::GetShardsRequest* request,
                         v1::GetShardsResponse* response) override {
    v1::GetShardsResponse asked_for = shards;
    Leave(*asked_for.mutable_shards(), request->shard(), &v1::ShardStatus::shard);
    return Answer(context, "GetShards", *request, asked_for, response);
  }
  grpc::Status ExplainShard(Context context, const v1::ExplainShardRequest* request,
                            v1::ExplainShardResponse* response) override {
    return Answer(context, "ExplainShard", *request, explanation, response, explain_refusal);
  }
  grpc::Status ReleaseServer(Context context, const v1::ReleaseServerRequest* request,
                             v1::ReleaseServerResponse* response) override {
    return Answer(context, "ReleaseServer", *request, release, response);
  }
  grpc::Status GetOperations(Context context, const v1::GetOperationsRequest* request,
                             v1::GetOperationsResponse* response) override {
    v1::GetOperationsResponse asked_for = operations;
    Leave(*asked_for.mutable_operations(), request->app(), &v1::OperationStatus::app);
    Leave(*asked_for.mutable_operations(), request->id(), &v1::OperationStatus::id);
    return Answer(context, "GetOperations", *request, asked_for, response);
  }
  grpc::Status GetRollouts(Context context, const v1::GetRolloutsRequest* request,
                           v1::GetRolloutsResponse* response) override {
    const bool second = ++rollouts_calls_ == 2;
    if (second && !second_rollouts_refusal.ok()) {
      return Answer(context, "GetRollouts", *request, rollouts, response, second_rollouts_refusal);
    }
    if (earlier_rollouts.empty()) {
      return Answer(context, "GetRollouts", *request, rollouts, response);
    }
    const v1::GetRolloutsResponse first = earlier_rollouts.front();
    earlier_rollouts.erase(earlier_rollouts.begin());
    return Answer(context, "GetRollouts", *request, first, response);
  }
  grpc::Status ApproveOperation(Context context, const v1::ApproveOperationRequest* request,
                                v1::ApproveOperationResponse* response) override {
    return Answer(context, "ApproveOperation", *request, {}, response);
  }
  grpc::Status EndOperation(Context context, const v1::EndOperationRequest* request,
                            v1::EndOperationResponse* response) override {
    return Answer(context, "EndOperation", *request, {}, response);
  }
  grpc::Status PauseApp(Context context, const v1::PauseAppRequest* request,
                        v1::PauseAppResponse* response) override {
    return Answer(context, "PauseApp", *request, {}, response);
  }
  grpc::Status ResumeApp(Context context, const v1::ResumeAppRequest* request,
                         v1::ResumeAppResponse* response) override {
    return Answer(context, "ResumeApp", *request, {}, response);
  }
  grpc::Status PinShard(Context context, const v1::PinShardRequest* request,
                        v1::PinShardResponse* response) override {
    return Answer(context, "PinShard", *request, {}, response);
  }
  grpc::Status UnpinShard(Context context, const v1::UnpinShardRequest* request,
                          v1::UnpinShardResponse* response) override {
    return Answer(context, "UnpinShard", *request, {}, response);
  }
  // What would be ordered of shards whose keys are not known here.
  grpc::Status ReshapeShards(Context context, const v1::ReshapeShardsRequest* request,
                             v1::ReshapeShardsResponse* response) override {
    v1::ReshapeShardsResponse ordered;
    for (const std::string& shard : request->from())
      ordered.mutable_reshape()->add_from()->set_id(shard);
    for (const std::string& name : request->into())
      ordered.mutable_reshape()->add_to()->set_id(name);
    for (int i = 0; i < request->cuts_size() && i + 1 < ordered.reshape().to_size(); ++i) {
      ordered.mutable_reshape()->mutable_to(i)->mutable_range()->set_end(request->cuts(i));
      ordered.mutable_reshape()->mutable_to(i + 1)->mutable_range()->set_start(request->cuts(i));
    }
    return Answer(context, "ReshapeShards", *request, ordered, response);
  }
  grpc::Status PreferRegions(Context context, const v1::PreferRegionsRequest* request,
                             v1::PreferRegionsResponse* response) override {
    return Answer(context, "PreferRegions", *request, preferred, response, prefer_refusal);
  }
  grpc::Status AddMaintenance(Context context, const v1::AddMaintenanceRequest* request,
                              v1::AddMaintenanceResponse* response) override {
    v1::AddMaintenanceResponse noticed;
    *noticed.mutable_apps() = drained.apps();
    return Answer(context, "AddMaintenance", *request, noticed, response);
  }
  grpc::Status GetMaintenances(Context context, const v1::GetMaintenancesRequest* request,
                               v1::GetMaintenancesResponse* response) override {
    v1::GetMaintenancesResponse asked_for = maintenances;
    Leave(*asked_for.mutable_maintenances(), request->app(), &v1::MaintenanceStatus::app);
    return Answer(context, "GetMaintenances", *request, asked_for, response);
  }
  grpc::Status CancelMaintenance(Context context, const v1::CancelMaintenanceRequest* request,
                                 v1::CancelMaintenanceResponse* response) override {
    v1::CancelMaintenanceResponse cancelled;
    *cancelled.mutable_apps() = drained.apps();
    return Answer(context, "CancelMaintenance", *request, cancelled, response);
  }
  // A standby answers this one, too.
  grpc::Status GetStatus(Context, const v1::GetStatusRequest*,
                         v1::GetStatusResponse* response) override {
    *response = status;
    return grpc::Status::OK;
  }
  grpc::Status Answered(Context context, const std::string& name,
                        const google::protobuf::Message& request) override {
    v1::DeleteAppResponse none;
    return Answer(context, name, request, none, &none);
  }

  // Removes those of another name; "": none.
  template <typename Status>
  static void Leave(google::protobuf::RepeatedPtrField<Status>& all, const std::string& name,
                    const std::string& (Status::*name_of)() const) {
    if (name.empty()) return;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&](const Status& status) { return (status.*name_of)() != name; }),
              all.end());
  }
  template <typename Response>
  grpc::Status Answer(Context context, const std::string& name,
                      const google::protobuf::Message& request, const Response& answer,
                      Response* response, const grpc::Status& also = grpc::Status::OK) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(name + "{" + request.ShortDebugString() + "}");
    }
    if (!leader.empty()) context->AddTrailingMetadata(request_metadata::kLeader, leader);
    if (!refusal.ok()) return refusal;
    if (!also.ok()) return also;
    *response = answer;
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  size_t rollouts_calls_ = 0;
};

}  // namespace shardmanager::cli
