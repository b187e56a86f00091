// The console's figures from the controller of this process.
#pragma once

#include <string>
#include <utility>

#include "console/source.h"
#include "history/history.h"
#include "orchestrator/control/controller.h"

namespace shardmanager::console {

class ControllerSource final : public Source {
 public:
  // `controller` and `history` must outlive this. `history`: null, none is kept. `version`: of the
  // program.
  ControllerSource(orchestrator::Controller& controller, history::History* history,
                   std::string version)
      : controller_(controller), history_(history), version_(std::move(version)) {}

  absl::StatusOr<v1::GetStatusResponse> Status() override;
  absl::StatusOr<v1::GetAppsResponse> Apps(const std::string& app) override;
  absl::StatusOr<v1::GetServersResponse> Servers(const std::string& app) override;
  absl::StatusOr<v1::GetShardsResponse> Shards(const std::string& app) override;
  absl::StatusOr<v1::ExplainShardResponse> Explain(const std::string& app,
                                                   const std::string& shard) override;
  absl::StatusOr<v1::GetOperationsResponse> Operations(const std::string& app) override;
  absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string& app) override;
  absl::StatusOr<v1::GetMaintenancesResponse> Maintenances(const std::string& app) override;
  absl::StatusOr<v1::GetHistoryResponse> History(const v1::GetHistoryRequest& request) override;

 private:
  orchestrator::Controller& controller_;
  history::History* const history_;
  const std::string version_;
};

}  // namespace shardmanager::console
