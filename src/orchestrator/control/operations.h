// What operators ask of the control plane (admin.proto).
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/client_drains.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/led_thread.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/executor.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/task_control.pb.h"

namespace shardmanager::orchestrator {

// Thread-safe. Replies come on the executor's thread.
//
// All but GetStatus answer FAILED_PRECONDITION while another process leads, UNAVAILABLE while
// nobody is known to. Changes answer
//   CANCELLED     nobody waits for them; nothing was changed
//   ABORTED       somebody else changed the same record meanwhile, or leads now
//   RESOURCE_EXHAUSTED   the spec is larger than a record may be
//   UNAVAILABLE   the store is out of reach; the message says whether the change may have happened
// ReleaseServer is not answered if this process loses its lead meanwhile: callers need a deadline.
class Operations {
 public:
  template <typename T>
  using Reply = LedThread::Reply<T>;

  // All must outlive it.
  struct Context {
    CellSession& session;
    Leadership& leadership;
    LedApps& apps;
    const ClientDrains& client_drains;
    Executor& executor;
    Executor& solver;
    EventLog& events;
  };
  explicit Operations(Context context)
      : context_(context),
        thread_({context.session, context.leadership, context.apps, context.executor}),
        apps_(context.apps) {}

  void ApplyApp(v1::ApplyAppRequest request, Reply<v1::ApplyAppResponse> reply, Wanted wanted = {});
  void DeleteApp(v1::DeleteAppRequest request, Reply<v1::DeleteAppResponse> reply,
                 Wanted wanted = {});
  void GetApps(v1::GetAppsRequest request, Reply<v1::GetAppsResponse> reply);
  void GetServers(v1::GetServersRequest request, Reply<v1::GetServersResponse> reply);
  void GetShards(v1::GetShardsRequest request, Reply<v1::GetShardsResponse> reply);
  // Computed where plans are: it may wait for one that is being made.
  void ExplainShard(v1::ExplainShardRequest request, Reply<v1::ExplainShardResponse> reply);
  void Drain(v1::DrainRequest request, Reply<v1::DrainResponse> reply, Wanted wanted = {});
  void Undrain(v1::UndrainRequest request, Reply<v1::UndrainResponse> reply, Wanted wanted = {});
  void PauseApp(v1::PauseAppRequest request, Reply<v1::PauseAppResponse> reply, Wanted wanted = {});
  void ResumeApp(v1::ResumeAppRequest request, Reply<v1::ResumeAppResponse> reply,
                 Wanted wanted = {});
  void PinShard(v1::PinShardRequest request, Reply<v1::PinShardResponse> reply, Wanted wanted = {});
  void UnpinShard(v1::UnpinShardRequest request, Reply<v1::UnpinShardResponse> reply,
                  Wanted wanted = {});
  void PreferRegions(v1::PreferRegionsRequest request, Reply<v1::PreferRegionsResponse> reply,
                     Wanted wanted = {});
  // The applications are asked first.
  void ReshapeShards(v1::ReshapeShardsRequest request, Reply<v1::ReshapeShardsResponse> reply,
                     Wanted wanted = {});
  void AddMaintenance(v1::AddMaintenanceRequest request, Reply<v1::AddMaintenanceResponse> reply,
                      Wanted wanted = {});
  void GetMaintenances(v1::GetMaintenancesRequest request,
                       Reply<v1::GetMaintenancesResponse> reply);
  void CancelMaintenance(v1::CancelMaintenanceRequest request,
                         Reply<v1::CancelMaintenanceResponse> reply, Wanted wanted = {});
  void ReleaseServer(v1::ReleaseServerRequest request, Reply<v1::ReleaseServerResponse> reply,
                     Wanted wanted = {});
  // Of this process, whoever leads. `with_problems`: and what is wrong in the cell, for which all
  // shards are looked at.
  void GetStatus(Reply<v1::GetStatusResponse> reply, bool with_problems = false);
  void GetOperations(v1::GetOperationsRequest request, Reply<v1::GetOperationsResponse> reply);
  void GetRollouts(v1::GetRolloutsRequest request, Reply<v1::GetRolloutsResponse> reply);
  void ApproveOperation(v1::ApproveOperationRequest request,
                        Reply<v1::ApproveOperationResponse> reply, Wanted wanted = {});
  void EndOperation(v1::EndOperationRequest request, Reply<v1::EndOperationResponse> reply,
                    Wanted wanted = {});
  // Of task_control.proto.
  void Report(v1::ReportRequest request, Reply<v1::ReportResponse> reply, Wanted wanted = {});
  void SupplyMap(v1::SupplyMapRequest request, Reply<v1::SupplyMapResponse> reply);

 private:
  const Context context_;
  const LedThread thread_;
  LedApps& apps_;
};

}  // namespace shardmanager::orchestrator
