// A whole cell on this machine, of real processes: ZooKeeper, shardmanagerd,
// shard-discoveryd and application servers. For the quickstart, the integration
// tests and the benchmarks.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "admin_client.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "map_watcher.h"
#include "program.h"

namespace shardmanager::local {

struct ClusterOptions {
  // OPTIONAL. Where our programs are. Default: $SM_BIN_DIR, else this program's folder.
  std::string bin_folder;
  // OPTIONAL. Data and logs. Default: a private one under $TMPDIR, removed at the end.
  std::string folder;
  std::string cell = "local";
  std::string app = "kv";
  // Small ones, so that a loss is noticed soon.
  int zookeeper_tick_ms = 200;
  int session_timeout_ms = 2'000;
};

struct ServerOptions {
  std::string name;
  std::string region = "region-1";
  std::string datacenter = "dc-1";
  std::string rack = "rack-1";
  // OPTIONAL. Default: the kvstore of the bin folder. Anything that takes its flags.
  std::vector<std::string> program;
  // OPTIONAL. Default: a port of its own choice, another one in each life.
  std::string listen = "127.0.0.1:0";
};

// Every process dies with this object and with our own process, however that ends.
// Not thread-safe, but for the watchers and the admin client.
class Cluster {
 public:
  // Makes the folder, starts nothing.
  static absl::StatusOr<std::unique_ptr<Cluster>> Make(ClusterOptions options);
  ~Cluster();

  // Each returns once the program answers (a server: once it runs). Errors carry the
  // end of its log.
  absl::Status StartZookeeper();
  absl::Status StartControlPlane();
  // A second shardmanagerd.
  absl::Status StartStandby();
  absl::Status StartDiscovery();
  absl::Status StartServer(const ServerOptions& options);
  // ZooKeeper, the control plane, the discovery.
  absl::Status StartCore();

  // REQUIRES: it was started. After a Kill(), StartZookeeper() goes on with its data.
  PrivateZookeeper& zookeeper() { return *zookeeper_; }
  Program& control_plane() { return *control_plane_; }
  Program& standby() { return *standby_; }
  Program& discovery() { return *discovery_; }
  // REQUIRES: StartServer() was called for it.
  Program& server(const std::string& name) { return *servers_.at(name); }
  std::vector<std::string> server_names() const;
  // Starts a server that ended, as it was.
  absl::Status RestartServer(const std::string& name) { return servers_.at(name)->Start(); }

  const ClusterOptions& options() const { return options_; }
  const std::string& folder() const { return options_.folder; }
  // The path of one of our programs.
  std::string Bin(const std::string& program) const;
  std::string data_folder() const { return options_.folder + "/data"; }
  std::string zookeeper_endpoint() const;
  const std::string& admin_endpoint() const { return admin_endpoint_; }
  const std::string& standby_endpoint() const { return standby_endpoint_; }
  const std::string& discovery_endpoint() const { return discovery_endpoint_; }
  // The longest time until the control plane notices that a server died: its
  // session expires at a tick of ZooKeeper.
  std::chrono::milliseconds detection_bound() const;

  AdminClient admin() const;
  // Subscribes to the app's map at shard-discoveryd.
  std::unique_ptr<MapWatcher> WatchMap() const { return WatchMap(discovery_endpoint_); }
  std::unique_ptr<MapWatcher> WatchMap(const std::string& endpoint) const;
  std::unique_ptr<EventWatcher> WatchEvents() const { return WatchEvents(admin_endpoint_); }
  std::unique_ptr<EventWatcher> WatchEvents(const std::string& endpoint) const;

  struct CommandResult {
    int exit_code = -1;
    std::string output;  // stdout and stderr
  };
  // Runs shardctl against this cluster: `server`, or where the first shardmanagerd is.
  CommandResult Shardctl(std::vector<std::string> arguments, const std::string& server = "") const;

  // The ends of all logs.
  std::string Logs(size_t lines_each = 15) const;

 private:
  explicit Cluster(ClusterOptions options);

  absl::Status StartManager(std::unique_ptr<Program>& program, const char* name,
                            const std::string& listen);
  // Waits until the program answers there.
  absl::Status AwaitAnswer(Program& program, const std::string& endpoint) const;

  ClusterOptions options_;
  bool remove_folder_ = false;
  int zookeeper_port_ = 0;
  std::string admin_endpoint_;
  std::string standby_endpoint_;
  std::string discovery_endpoint_;
  std::unique_ptr<PrivateZookeeper> zookeeper_;
  std::unique_ptr<Program> control_plane_;
  std::unique_ptr<Program> standby_;
  std::unique_ptr<Program> discovery_;
  std::map<std::string, std::unique_ptr<Program>> servers_;
};

}  // namespace shardmanager::local
