// The console's figures from the controller of this process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "console/source.h"
#include "orchestrator/control/controller.h"

namespace shardmanager::console {

class ControllerSource final : public Source {
 public:
  // `controller` must outlive this. `version`: of the program.
  ControllerSource(orchestrator::Controller& controller, std::string version)
      : controller_(controller), version_(std::move(version)) {}

  absl::StatusOr<v1::GetStatusResponse> Status() override;
  absl::StatusOr<v1::GetAppsResponse> Apps(const std::string& app) override;
  absl::StatusOr<v1::GetServersResponse> Servers(const std::string& app) override;
  absl::StatusOr<v1::GetShardsResponse> Shards(const std::string& app) override;
  absl::StatusOr<v1::ExplainShardResponse> Explain(const std::string& app,
                                                   const std::string& shard) override;
  absl::StatusOr<v1::GetOperationsResponse> Operations(const std::string& app) override;
  absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string& app) override;
  absl::StatusOr<v1::GetMaintenancesResponse> Maintenances(const std::string& app) override;
  std::vector<v1::ControlEvent> Events(uint64_t* cursor) override;

 private:
  orchestrator::Controller& controller_;
  const std::string version_;
};

}  // namespace shardmanager::console
