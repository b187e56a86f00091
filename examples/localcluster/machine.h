// One machine that plays several regions: a supervisor of all servers, and a cluster manager of
// each region. Commands come as lines of text.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "examples/localcluster/cluster_manager.h"
#include "examples/localcluster/supervisor.h"
#include "wire/transport.h"

namespace shardmanager::local {

struct MachineOptions {
  std::string app;
  std::string control_plane;                                   // HOST:PORT of a shardmanagerd
  std::shared_ptr<const wire::Transport> transport = nullptr;  // REQUIRED. To it
  std::string folder;                                          // logs of the servers
  // Operations are carried out at once, with SIGKILL, and nobody is asked.
  bool rude = false;
  SupervisorOptions supervisor;
};

class Machine {
 public:
  explicit Machine(MachineOptions options);

  // Starts the region's servers, each in its own rack, with this command line (see Container).
  // INVALID_ARGUMENT, NOT_FOUND: as the message says.
  absl::Status AddRegion(const std::string& region, const std::vector<std::string>& servers,
                         const std::vector<std::string>& command);
  // One line, as in kCommandHelp. INVALID_ARGUMENT names what is wrong with it.
  absl::Status Command(const std::string& line);
  // Call it every 50 ms or so.
  void Tick();
  void StopAll() { supervisor_.StopAll(); }
  std::string Status() const;

  static const char kCommandHelp[];

 private:
  // A maintenance of a region.
  struct Outage {
    std::string region;
    TimePoint begins;
    TimePoint ends;
    bool begun = false;
  };

  absl::Status Want(v1::OperationKind kind, const std::string& server, const std::string& reason);
  absl::Status Move(const std::vector<std::string>& words);
  absl::Status Maintain(const std::vector<std::string>& words);
  absl::Status GiveNotice(const std::string& region, std::chrono::milliseconds in,
                          std::chrono::milliseconds length) const;
  // Ends and starts the servers of regions that are in maintenance.
  void CarryOutages();
  std::vector<std::string> ServersOf(const std::string& region) const;
  absl::Status WantAll(v1::OperationKind kind, const std::vector<std::string>& servers,
                       const std::string& reason);
  absl::Status Check(const std::vector<std::string>& servers) const;
  void Begin(const v1::ContainerOperation& operation);
  void Say(const std::string& line) const;

  const MachineOptions options_;
  Supervisor supervisor_;
  std::map<std::string, std::unique_ptr<ClusterManager>> managers_;  // by region
  std::map<std::string, std::string> new_racks_;  // server -> where a pending MOVE takes it
  std::vector<Outage> outages_;
  std::string problem_;  // of the last reports, as said
};

}  // namespace shardmanager::local
