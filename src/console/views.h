// What the console shows of each app, asked of the source as seldom as its readers allow.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/time.h"
#include "console/kept.h"
#include "console/shard_rows.h"
#include "console/source.h"

namespace shardmanager::console {

// Thread-safe. Each call blocks until the source has answered, if it is asked.
class Views {
 public:
  struct Servers {
    int64_t taken_ms = 0;
    v1::GetServersResponse servers;
  };
  struct Shards {
    int64_t taken_ms = 0;
    double cost_ms = 0;  // what it took to get the answer
    ShardRows rows;
  };
  struct Apps {
    int64_t taken_ms = 0;
    v1::GetAppsResponse apps;  // without the shards of their specs
  };

  struct History {
    int64_t taken_ms = 0;
    v1::GetHistoryResponse history;
  };

  // `source` must outlive this.
  Views(Source& source, std::function<TimePoint()> now, std::function<int64_t()> wall_ms);

  // OK: this process leads and can prove it, so that what it says is current. Otherwise why not.
  absl::Status Leads();
  absl::StatusOr<std::shared_ptr<const v1::GetStatusResponse>> Status() { return status_.Get(""); }

  absl::StatusOr<std::shared_ptr<const Apps>> AllApps() { return apps_.Get(""); }
  absl::StatusOr<std::shared_ptr<const Apps>> App(const std::string& app) { return apps_.Get(app); }
  absl::StatusOr<std::shared_ptr<const Servers>> ServersOf(const std::string& app) {
    return servers_.Get(app);
  }
  absl::StatusOr<std::shared_ptr<const Shards>> ShardsOf(const std::string& app) {
    return shards_.Get(app);
  }
  absl::StatusOr<std::shared_ptr<const History>> HistoryOf(const v1::GetHistoryRequest& request) {
    return histories_.Get(request.SerializeAsString());
  }

 private:
  absl::StatusOr<Shards> MakeShards(const std::string& app);

  Source& source_;
  const std::function<TimePoint()> now_;
  const std::function<int64_t()> wall_ms_;
  Kept<v1::GetStatusResponse> status_;
  Kept<Apps> apps_;
  Kept<Servers> servers_;
  Kept<Shards> shards_;
  Kept<History> histories_;
};

}  // namespace shardmanager::console
