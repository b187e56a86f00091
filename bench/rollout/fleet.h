// A cell of real processes in two regions, whose servers belong to examples/localcluster: a
// supervisor of all of them, and a cluster manager of each region.
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "examples/localcluster/cluster_manager.h"
#include "examples/localcluster/supervisor.h"
#include "rollout/map_log.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

struct FleetOptions {
  std::string folder;    // emptied first
  std::string restarts;  // file: "number region server begin_s end_s" of each restart
  int servers = 0;       // of both regions, the one after the other
};

// All of it on one thread.
class Fleet {
 public:
  static constexpr const char* kRegions[] = {"east", "west"};

  explicit Fleet(FleetOptions options);

  // Starts everything; returns when the app is served evenly.
  absl::Status SetUp(const v1::AppSpec& spec);
  // Supervisor, managers and the watch of the map work until it is so. DEADLINE_EXCEEDED: see
  // `what`.
  absl::Status RunUntil(const std::string& what, const std::function<bool()>& so);
  absl::Status AwaitBalance();
  // As long as a primary that has just moved stays where it is (5 s), and a little.
  absl::Status Rest();

  // Through the task controller: these servers (numbers from 1), as soon as it is allowed. Returns
  // when the managers are done, and all servers are live.
  absl::Status RestartWithTaskControl(int first, int last);
  // At once, with this signal, and nobody is asked; returns when the map names a server for each
  // shard again, and `least` is over.
  absl::Status RestartUnasked(int first, int last, int signal, std::chrono::milliseconds least);
  // Kills all servers of the region at once, and nobody is asked; they stay down for so long.
  absl::Status TakeDown(const std::string& region, Duration length);
  // Primaries in the region, as the map has them.
  size_t PrimariesIn(const std::string& region) const;

  local::Cluster& cluster() { return *cluster_; }
  const MapLog& map_log() const { return *map_log_; }
  MapLog& map_log() { return *map_log_; }
  std::string Logs() const { return cluster_ ? cluster_->Logs(3) : ""; }
  std::string Delays() const;

 private:
  static std::string Name(int i) { return absl::StrCat("counter-", i); }
  std::string RegionOf(int i) const { return kRegions[i > options_.servers / 2]; }
  absl::Status StartServers();
  // Until the control plane sees each server in its new life.
  absl::Status AwaitLive();
  void NoteBegin(const std::string& server);
  void NoteEnd(const std::string& server);
  void Tick();

  const FleetOptions options_;
  std::unique_ptr<local::Cluster> cluster_;
  std::unique_ptr<local::Supervisor> supervisor_;  // its processes end before the cluster does
  std::map<std::string, std::unique_ptr<local::ClusterManager>> managers_;  // by region
  std::unique_ptr<local::MapWatcher> map_;
  std::unique_ptr<MapLog> map_log_;
  const TimePoint made_;
  std::map<std::string, TimePoint> begun_;  // servers that are away now
  std::ofstream restarts_;
  std::ofstream log_;  // what supervisor and managers say
};

}  // namespace shardmanager
