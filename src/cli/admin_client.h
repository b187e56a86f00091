// Calls to the admin service of the control plane. The one place here that speaks
// gRPC.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::wire {
class Transport;
}  // namespace shardmanager::wire

namespace shardmanager::cli {

// Blocking; not thread-safe. Errors are those of admin.proto, and UNAVAILABLE or
// DEADLINE_EXCEEDED when nobody answers. A standby's "ask the leader" is followed,
// once per call; later calls go to that leader directly.
class AdminClient {
 public:
  struct Options {
    // "host:port[,host:port...]": of several, the first that can be reached is asked.
    std::string server;
    std::chrono::milliseconds timeout;  // for one call
    // With all calls: by which id what follows from a change is found (runtime/operation_id.h).
    std::string operation;
  };
  AdminClient(const Options& options, std::shared_ptr<const wire::Transport> transport);
  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  // Who is asked now, and for how long.
  const std::string& server() const;
  std::chrono::milliseconds timeout() const;
  const std::string& operation() const;

  absl::StatusOr<v1::ApplyAppResponse> ApplyApp(const v1::ApplyAppRequest& request);
  absl::StatusOr<v1::DeleteAppResponse> DeleteApp(const v1::DeleteAppRequest& request);
  absl::StatusOr<v1::GetAppsResponse> GetApps(const v1::GetAppsRequest& request);
  absl::StatusOr<v1::GetServersResponse> GetServers(const v1::GetServersRequest& request);
  absl::StatusOr<v1::GetShardsResponse> GetShards(const v1::GetShardsRequest& request);
  absl::StatusOr<v1::ExplainShardResponse> ExplainShard(const v1::ExplainShardRequest& request);
  absl::StatusOr<v1::DrainResponse> Drain(const v1::DrainRequest& request);
  absl::StatusOr<v1::UndrainResponse> Undrain(const v1::UndrainRequest& request);
  absl::StatusOr<v1::ReleaseServerResponse> ReleaseServer(const v1::ReleaseServerRequest& request);
  absl::StatusOr<v1::GetOperationsResponse> GetOperations(const v1::GetOperationsRequest& request);
  absl::StatusOr<v1::GetRolloutsResponse> GetRollouts(const v1::GetRolloutsRequest& request);
  absl::StatusOr<v1::EndOperationResponse> EndOperation(const v1::EndOperationRequest& request);
  absl::StatusOr<v1::PauseAppResponse> PauseApp(const v1::PauseAppRequest& request);
  absl::StatusOr<v1::PreferRegionsResponse> PreferRegions(const v1::PreferRegionsRequest& request);
  absl::StatusOr<v1::ReshapeShardsResponse> ReshapeShards(const v1::ReshapeShardsRequest& request);
  absl::StatusOr<v1::PinShardResponse> PinShard(const v1::PinShardRequest& request);
  absl::StatusOr<v1::UnpinShardResponse> UnpinShard(const v1::UnpinShardRequest& request);
  absl::StatusOr<v1::AddMaintenanceResponse> AddMaintenance(
      const v1::AddMaintenanceRequest& request);
  absl::StatusOr<v1::GetMaintenancesResponse> GetMaintenances(
      const v1::GetMaintenancesRequest& request);
  absl::StatusOr<v1::CancelMaintenanceResponse> CancelMaintenance(
      const v1::CancelMaintenanceRequest& request);
  absl::StatusOr<v1::ResumeAppResponse> ResumeApp(const v1::ResumeAppRequest& request);
  absl::StatusOr<v1::ApproveOperationResponse> ApproveOperation(
      const v1::ApproveOperationRequest& request);
  // Of the process at server(), leader or not.
  absl::StatusOr<v1::GetStatusResponse> GetStatus();
  // The same of the leader that this process knows, which is asked from now on. UNAVAILABLE also:
  // nobody is known to lead.
  absl::StatusOr<v1::GetStatusResponse> GetStatusOfLeader();
  // Calls `on_event` for each event until the stream ends: OK, it was complete. The
  // leader is asked, for it is the one that acts; whoever does not answer is asked
  // for it no more, but the process that was named first.
  absl::Status WatchEvents(const v1::WatchEventsRequest& request,
                           const std::function<void(const v1::ControlEvent&)>& on_event);

  // Calls by their requests: those of access.proto, levers and their previews, and history.
  // Example: Send<v1::GrantResponse>(request).
  template <typename Response, typename Request>
  absl::StatusOr<Response> Send(const Request& request);

  // Returns when the connection to server() comes or goes, or after `longest`.
  void AwaitChange(std::chrono::milliseconds longest);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager::cli
