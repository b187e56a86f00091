// The admin service, from the outside: blocking calls and the stream of events.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "shardmanager/v1/admin.pb.h"

namespace grpc {
class Channel;
class ClientContext;
}  // namespace grpc

namespace shardmanager::local {

// Thread-safe. Each call waits for the service to be there, up to the deadline.
class AdminClient {
 public:
  explicit AdminClient(std::shared_ptr<grpc::Channel> channel,
                       std::chrono::milliseconds deadline = std::chrono::seconds(20))
      : channel_(std::move(channel)), deadline_(deadline) {}

  // Waits until this shardmanagerd leads.
  absl::Status AwaitLeading(std::chrono::milliseconds timeout);
  absl::StatusOr<v1::ApplyAppResponse> Apply(const v1::AppSpec& spec, bool force = false);
  absl::Status Delete(const std::string& app);
  absl::StatusOr<v1::GetAppsResponse> GetApps();
  absl::StatusOr<v1::GetServersResponse> GetServers(const std::string& app);
  absl::StatusOr<v1::GetShardsResponse> GetShards(const std::string& app);
  // Of the app only. They answer when the order is durable; the map shows when it is done.
  absl::Status Drain(const std::string& app, const v1::DrainScope& scope);
  absl::Status Undrain(const std::string& app, const v1::DrainScope& scope);
  // Of all apps that have servers there.
  absl::Status AddMaintenance(const v1::Maintenance& notice);
  absl::StatusOr<v1::GetMaintenancesResponse> GetMaintenances(const std::string& app);
  absl::StatusOr<v1::ExplainShardResponse> ExplainShard(const std::string& app,
                                                        const std::string& shard,
                                                        const std::string& server = "");

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::chrono::milliseconds deadline_;
};

// What the control plane says it does, collected in a thread of its own; again and
// again if the stream breaks. Thread-safe.
class EventWatcher {
 public:
  struct Event {
    v1::ControlEvent event;
    TimePoint seen;  // when it came here
  };

  EventWatcher(std::shared_ptr<grpc::Channel> admin, std::string app);
  ~EventWatcher();

  // The first event of this kind (and server, unless empty) that came at `since` or
  // later; waits for it. Nothing: `timeout` was over first.
  std::optional<Event> WaitFor(const std::string& kind, const std::string& server, TimePoint since,
                               std::chrono::milliseconds timeout) const;
  std::vector<Event> events() const;

 private:
  void Run();

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string app_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<Event> events_;
  std::set<std::string> known_;
  grpc::ClientContext* current_ = nullptr;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace shardmanager::local
