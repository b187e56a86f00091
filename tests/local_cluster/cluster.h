// A whole cell on this machine, of real processes: ZooKeeper, shardmanagerd,
// shard-discoveryd and application servers. For the quickstart, the integration
// tests and the benchmarks.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/zookeeper/private_zookeeper.h"
#include "tests/local_cluster/admin_client.h"
#include "tests/local_cluster/cluster_security.h"
#include "tests/local_cluster/ensemble.h"
#include "tests/local_cluster/map_watcher.h"
#include "tests/local_cluster/network.h"
#include "tests/local_cluster/program.h"

namespace shardmanager::local {

struct ClusterOptions {
  // OPTIONAL. Where our programs are. Default: $SM_BIN_DIR, else this program's folder.
  std::string bin_folder;
  // OPTIONAL. Data and logs. Default: a private one under $TMPDIR, removed at the end.
  std::string folder;
  std::string cell = "local";
  std::string app = "kv";
  // OPTIONAL. The cell's ZooKeeper credentials, a file. Default: none.
  std::string zookeeper_credentials;
  // See ClusterSecurity.
  bool insecure = false;
  // Small ones, so that a loss is noticed soon.
  int zookeeper_tick_ms = 200;
  int session_timeout_ms = 2'000;
  // ZooKeeper servers: one, or an ensemble of so many.
  int zookeepers = 1;
  int sync_limit_ticks = 10;  // PrivateZookeeperOptions
  // How many shardmanagerd StartCore starts and the relays know of. StartStandby starts one
  // that no relay knows.
  int managers = 1;
  // The first hears its maps from the shardmanagerd, each other one from the one before.
  int relays = 1;
  // OPTIONAL. Ports of this machine (StablePort()) where the first ones serve metrics. Default:
  // none do.
  std::vector<int> manager_metrics;
  std::vector<int> relay_metrics;
  // OPTIONAL. Outlives the cluster. Each ZooKeeper ("zookeeper-1"), shardmanagerd
  // ("manager-1") and relay ("relay-1") gets a machine there. Default: all on 127.0.0.1.
  Network* network = nullptr;
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
  // REQUIRED in a cluster with a network: the machine that it runs on; it listens there.
  std::string machine;
  // OPTIONAL. Default: all of the cluster's ZooKeepers.
  std::string zookeeper;
  // OPTIONAL. Its ZooKeeper credentials, a file. Default: none.
  std::string zookeeper_credentials;
  // OPTIONAL. The folder of its shards. Default: data_folder().
  std::string data;
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
  // `zookeeper`: when it is first started, of which ones it knows; empty: of all.
  // `zookeeper_credentials`: instead of those that it had; REQUIRES: it is not running.
  absl::Status StartManager(size_t i, std::string zookeeper = "",
                            std::string zookeeper_credentials = "");
  absl::Status StartRelay(size_t i);
  absl::Status StartServer(ServerOptions options);
  // All ZooKeepers, shardmanagerd and relays.
  absl::Status StartCore();

  // REQUIRES: it was started. After a Kill(), StartZookeeper() goes on with its data.
  PrivateZookeeper& zookeeper() { return zookeepers_->member(0); }
  Ensemble& zookeepers() { return *zookeepers_; }
  Program& control_plane() { return manager(0); }
  Program& standby() { return manager(1); }
  Program& discovery() { return relay(0); }
  Program& manager(size_t i) { return *managers_[i].program; }
  Program& relay(size_t i) { return *relays_[i].program; }
  // REQUIRES: StartServer() was called for it.
  Program& server(const std::string& name) { return *servers_.at(name); }
  std::vector<std::string> server_names() const;
  // Starts a server that ended, as it was.
  absl::Status RestartServer(const std::string& name) { return servers_.at(name)->Start(); }

  const ClusterOptions& options() const { return options_; }
  ClusterSecurity& security() { return security_; }
  const std::string& folder() const { return options_.folder; }
  // The path of one of our programs.
  std::string Bin(const std::string& program) const;
  std::string data_folder() const { return options_.folder + "/data"; }
  std::string zookeeper_endpoint() const { return zookeepers_->connect_string(); }
  const std::string& admin_endpoint() const { return admin_endpoint(0); }
  const std::string& standby_endpoint() const { return admin_endpoint(1); }
  const std::string& discovery_endpoint() const { return discovery_endpoint(0); }
  const std::string& admin_endpoint(size_t i) const { return managers_[i].endpoint; }
  const std::string& discovery_endpoint(size_t i) const { return relays_[i].endpoint; }
  // The longest time until the control plane notices that a server died: its
  // session expires at a tick of ZooKeeper.
  std::chrono::milliseconds detection_bound() const;

  AdminClient admin(size_t manager = 0,
                    std::chrono::milliseconds deadline = std::chrono::seconds(20)) const;
  // Subscribes to the app's map; empty: at the first shard-discoveryd.
  std::unique_ptr<MapWatcher> WatchMap(const std::string& endpoint = "") const;
  // Empty: at the first shardmanagerd.
  std::unique_ptr<EventWatcher> WatchEvents(const std::string& endpoint = "") const;

  struct CommandResult {
    int exit_code = -1;
    std::string output;  // stdout and stderr
  };
  // Runs shardctl against this cluster: `server`, or where the first shardmanagerd is.
  CommandResult Shardctl(std::vector<std::string> arguments, const std::string& server = "") const;

  // Runs another one of our programs, until it ends.
  CommandResult Run(const std::string& program, const std::vector<std::string>& flags) const;

  // Which programs ended though nobody stopped or killed them, and how; empty: none.
  std::string UnaskedEnds() const;
  // The ends of all logs.
  std::string Logs(size_t lines_each = 15) const;

 private:
  explicit Cluster(ClusterOptions options) : options_(std::move(options)) {}
  std::vector<Program*> Programs() const;  // that were started, without ZooKeeper

  // One of our daemons.
  struct Daemon {
    std::string name;
    std::string endpoint;
    int network_namespace = -1;
    int metrics_port = 0;              // 0: it serves none
    std::unique_ptr<Program> program;  // null: never started
    int security = 0;                  // ClusterSecurity::changes() when it was made
  };

  // Gives everything its place.
  absl::Status LayOut();
  absl::Status LayOutZookeepers();
  absl::StatusOr<Daemon> MakeDaemon(const std::string& name, const std::string& machine, int port);
  // Starts it, with these flags if for the first time, and waits until it answers. `kind`: of its
  // identity.
  absl::Status StartDaemon(Daemon& daemon, const std::string& kind, const std::string& program,
                           const std::vector<std::string>& flags);
  absl::Status AwaitAnswer(Program& program, const std::string& endpoint) const;

  ClusterOptions options_;
  bool remove_folder_ = false;
  ClusterSecurity security_;
  std::unique_ptr<Ensemble> zookeepers_;
  std::vector<Daemon> managers_;
  std::vector<Daemon> relays_;
  std::map<std::string, std::unique_ptr<Program>> servers_;
};

}  // namespace shardmanager::local
