#include "console/controller_source.h"

#include <chrono>
#include <future>
#include <memory>
#include <utility>

namespace shardmanager::console {
namespace {

using orchestrator::Operations;

constexpr std::chrono::seconds kPatience{2};

// Calls `ask` with a reply, and waits for it.
template <typename Response>
absl::StatusOr<Response> Await(const std::function<void(Operations::Reply<Response>)>& ask) {
  auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
  auto future = answer->get_future();
  ask([answer](absl::StatusOr<Response> response) { answer->set_value(std::move(response)); });
  if (future.wait_for(kPatience) == std::future_status::ready) return future.get();
  return absl::UnavailableError("the thread that decides is busy: it did not answer within 2 s");
}

template <typename Request, typename Response>
absl::StatusOr<Response> Ask(Operations& operations, Request request,
                             void (Operations::*method)(Request, Operations::Reply<Response>)) {
  return Await<Response>([&](Operations::Reply<Response> reply) {
    (operations.*method)(std::move(request), std::move(reply));
  });
}

template <typename Request>
Request Of(const std::string& app) {
  Request request;
  request.set_app(app);
  return request;
}

}  // namespace

absl::StatusOr<v1::GetStatusResponse> ControllerSource::Status() {
  auto status =
      Await<v1::GetStatusResponse>([this](Operations::Reply<v1::GetStatusResponse> reply) {
        controller_.operations().GetStatus(std::move(reply));
      });
  if (status.ok()) status->set_version(version_);
  return status;
}

absl::StatusOr<v1::GetAppsResponse> ControllerSource::Apps(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetAppsRequest>(app), &Operations::GetApps);
}

absl::StatusOr<v1::GetServersResponse> ControllerSource::Servers(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetServersRequest>(app), &Operations::GetServers);
}

absl::StatusOr<v1::GetShardsResponse> ControllerSource::Shards(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetShardsRequest>(app), &Operations::GetShards);
}

absl::StatusOr<v1::ExplainShardResponse> ControllerSource::Explain(const std::string& app,
                                                                   const std::string& shard) {
  auto request = Of<v1::ExplainShardRequest>(app);
  request.set_shard(shard);
  return Ask(controller_.operations(), std::move(request), &Operations::ExplainShard);
}

absl::StatusOr<v1::GetOperationsResponse> ControllerSource::Operations(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetOperationsRequest>(app),
             &orchestrator::Operations::GetOperations);
}

absl::StatusOr<v1::GetRolloutsResponse> ControllerSource::Rollouts(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetRolloutsRequest>(app),
             &orchestrator::Operations::GetRollouts);
}

absl::StatusOr<v1::GetMaintenancesResponse> ControllerSource::Maintenances(const std::string& app) {
  return Ask(controller_.operations(), Of<v1::GetMaintenancesRequest>(app),
             &orchestrator::Operations::GetMaintenances);
}

absl::StatusOr<v1::GetHistoryResponse> ControllerSource::History(
    const v1::GetHistoryRequest& request) {
  return history::Answer(history_, request, controller_.process(), controller_.leads());
}

}  // namespace shardmanager::console
