// A cell that says what it is told to say.
#pragma once

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "console/source.h"

namespace shardmanager::console {

class FakeSource final : public Source {
 public:
  // Of the app "kv": so many shards with two replicas, on so many servers in three regions.
  FakeSource(int shards, int servers) {
    status.set_cell("test");
    status.set_leading(true);
    status.set_leader_epoch(7);
    auto& app = *apps.add_apps();
    app.mutable_spec()->set_name("kv");
    app.set_shards(static_cast<uint32_t>(shards));
    app.set_shards_served(static_cast<uint32_t>(shards));
    app.set_replicas_wanted(2 * static_cast<uint32_t>(shards));
    app.set_replicas_serving(2 * static_cast<uint32_t>(shards));
    app.set_servers_live(static_cast<uint32_t>(servers));
    app.set_servers_known(static_cast<uint32_t>(servers));
    for (int i = 0; i < servers; ++i) AddServer(i, 2 * shards / servers);
    for (int i = 0; i < shards; ++i) AddShard(i, servers);
  }

  absl::StatusOr<v1::GetStatusResponse> Status() override { return status; }
  absl::StatusOr<v1::GetAppsResponse> Apps(const std::string& app) override {
    ++asked;
    if (!app.empty() && app != "kv") return NoSuch(app);
    return apps;
  }
  absl::StatusOr<v1::GetServersResponse> Servers(const std::string& app) override {
    ++asked;
    if (app != "kv") return NoSuch(app);
    return servers_;
  }
  absl::StatusOr<v1::GetShardsResponse> Shards(const std::string& app) override {
    ++asked_shards;
    if (app != "kv") return NoSuch(app);
    return shards_;
  }
  absl::StatusOr<v1::ExplainShardResponse> Explain(const std::string& app,
                                                   const std::string& shard) override {
    for (const v1::ShardStatus& one : shards_.shards()) {
      if (app != "kv" || one.shard() != shard) continue;
      v1::ExplainShardResponse explained;
      *explained.mutable_shard() = one;
      explained.set_replicas_wanted(2);
      return explained;
    }
    return absl::NotFoundError(absl::StrCat("app \"", app, "\" has no shard \"", shard, "\""));
  }
  absl::StatusOr<v1::GetOperationsResponse> Operations(const std::string&) override {
    return v1::GetOperationsResponse();
  }
  absl::StatusOr<v1::GetRolloutsResponse> Rollouts(const std::string&) override {
    return v1::GetRolloutsResponse();
  }
  absl::StatusOr<v1::GetMaintenancesResponse> Maintenances(const std::string&) override {
    return v1::GetMaintenancesResponse();
  }
  absl::StatusOr<v1::GetHistoryResponse> History(const v1::GetHistoryRequest& request) override {
    ++asked_history;
    history_request = request;
    return history;
  }

  v1::ShardStatus& shard(int i) { return *shards_.mutable_shards(i); }

  v1::GetStatusResponse status;
  v1::GetAppsResponse apps;
  absl::StatusOr<v1::GetHistoryResponse> history = v1::GetHistoryResponse();
  v1::GetHistoryRequest history_request;  // the last one
  std::atomic<int> asked{0};
  std::atomic<int> asked_shards{0};
  std::atomic<int> asked_history{0};

 private:
  static absl::Status NoSuch(const std::string& app) {
    return absl::NotFoundError(absl::StrCat("no app \"", app, "\""));
  }
  void AddServer(int i, int replicas) {
    auto& server = *servers_.add_servers();
    server.set_app("kv");
    server.set_server(absl::StrCat("kv-", i));
    server.set_state("live");
    server.set_replicas(static_cast<uint32_t>(replicas));
    server.set_replicas_serving(static_cast<uint32_t>(replicas));
    server.mutable_fault_domain()->set_region(absl::StrCat("region-", i % 3));
    server.mutable_fault_domain()->set_datacenter("dc-1");
    server.mutable_fault_domain()->set_rack(absl::StrCat("rack-", i % 12));
  }
  void AddShard(int i, int servers) {
    auto& shard = *shards_.add_shards();
    shard.set_shard(absl::StrFormat("users-%06d", i));
    shard.set_state("serving");
    shard.mutable_traffic()->set_requests_per_s(i % 100);
    for (int r = 0; r < 2; ++r) {
      auto& replica = *shard.add_replicas();
      replica.set_server(absl::StrCat("kv-", (i + r) % servers));
      replica.set_role(r == 0 ? v1::PRIMARY : v1::SECONDARY);
      replica.set_state("serving");
      replica.set_epoch(static_cast<uint64_t>(i) + 1);
    }
  }

  v1::GetServersResponse servers_;
  v1::GetShardsResponse shards_;
};

}  // namespace shardmanager::console
