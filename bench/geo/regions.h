// A cell of real processes in several regions. Between them are the delays of a continent: each
// region is a network namespace of its own (tests/local_cluster/network.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"
#include "geo/caller.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

struct RegionsOptions {
  std::string folder;  // emptied first
  std::vector<std::string> regions;
  int servers_each = 0;
};

// All of it on one thread, the one that made it.
class Regions {
 public:
  // Milliseconds that a packet takes from one region to another one.
  static int DelayMs(size_t from, size_t to);

  explicit Regions(RegionsOptions options) : options_(std::move(options)) {}

  // The control plane, all servers and the app, whose shards are all served when this returns.
  absl::Status SetUp(const v1::AppSpec& spec);

  // ---- servers ----
  absl::Status StartServers(const std::string& region);
  // SIGKILL, all of them at once.
  void KillServers(const std::string& region);
  // Of a server's name.
  static std::string RegionOf(const std::string& server) {
    return server.substr(0, server.find('-'));
  }

  // ---- clients ----
  // What the caller of the region calls from now on: lines "shard group".
  void SetCalls(const std::string& region, const std::string& lines);
  // One in this region, `rate` calls a second; `reads`: any replica may answer, and a call may be
  // made twice. REQUIRES: SetCalls().
  absl::Status StartCaller(const std::string& region, double rate, bool reads);
  // Ends them all, and reads what they saw.
  absl::Status StopCallers(CallerLog& log);
  // Since the first caller was started, as in CallerLog.
  double SecondsNow() const;

  // ---- control ----
  // Waits until the map is so, and says how long that took from `begin` on.
  absl::StatusOr<double> Await(const std::string& what,
                               const std::function<bool(const local::MapView&)>& so,
                               TimePoint begin) const;
  local::MapWatcher& map() { return *map_; }
  local::Cluster& cluster() { return *cluster_; }
  // The same status; if it is an error, what the processes logged is shown.
  absl::Status Explained(absl::Status status) const;

 private:
  std::vector<std::string> ServerNames(const std::string& region) const;
  void Connect();
  std::string CallsFile(const std::string& region) const;

  const RegionsOptions options_;
  std::unique_ptr<local::Network> network_;
  std::unique_ptr<local::Cluster> cluster_;
  std::unique_ptr<local::MapWatcher> map_;
  std::map<std::string, std::unique_ptr<local::Program>> callers_;
  int64_t begin_ms_ = 0;  // of the callers, in ms since 1970
};

// Of the app "kv", whose shards are s-0000, s-0001 ...
std::string ShardName(int shard);
v1::AppSpec SpecOf(v1::ReplicationStrategy strategy, int shards);
// Each shard has two equal replicas, in two regions.
v1::AppSpec SpecOfTwoRegionsEach(int shards);

// It is so.
bool HasTwoRegionsEach(const local::MapView& view);
// And none is in this one.
bool HasLeft(const local::MapView& view, const std::string& region);
// In how many regions its servers are.
size_t RegionsOfShard(const local::MapView& view, const local::MapView::Shard& shard);
// One of its servers is there.
bool IsIn(const local::MapView& view, const local::MapView::Shard& shard,
          const std::string& region);

}  // namespace shardmanager
