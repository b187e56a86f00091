// Where the console's figures come from.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::console {

// Thread-safe; each call blocks until it is answered, or 2 seconds at most. Errors as of the
// Admin service: FAILED_PRECONDITION while another process leads, UNAVAILABLE while nobody is known
// to, ...
class Source {
 public:
  virtual ~Source() = default;

  // Answers in any case, as long as the process works.
  virtual absl::StatusOr<v1::GetStatusResponse> Status() = 0;
  // `app` empty: of all apps.
  virtual absl::StatusOr<v1::GetAppsResponse> Apps(const std::string& app) = 0;
  virtual absl::StatusOr<v1::GetServersResponse> Servers(const std::string& app) = 0;
  virtual absl::StatusOr<v1::GetShardsResponse> Shards(const std::string& app) = 0;
  virtual absl::StatusOr<v1::ExplainShardResponse> Explain(const std::string& app,
                                                           const std::string& shard) = 0;
  virtual absl::StatusOr<v1::GetOperationsResponse> Operations(const std::string& app) = 0;
  virtual absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string& app) = 0;
  virtual absl::StatusOr<v1::GetMaintenancesResponse> Maintenances(const std::string& app) = 0;
  // Not asked of the thread that decides: the history stands beside it.
  virtual absl::StatusOr<v1::GetHistoryResponse> History(const v1::GetHistoryRequest& request) = 0;
};

}  // namespace shardmanager::console
