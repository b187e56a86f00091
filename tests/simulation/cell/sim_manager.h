// Cluster managers, one for each region: each wants to restart every server of its region once, and
// keeps the rules of task_control.proto.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "examples/localcluster/operation_ledger.h"
#include "tests/simulation/cell/cluster.h"

namespace shardmanager::simulation {

// Told at the instant when it is so.
class ManagerWitness {
 public:
  virtual ~ManagerWitness() = default;
  // The process `leader` answers so. The manager may never hear it.
  virtual void Told(const std::string& leader, const std::string& manager,
                    const v1::ContainerOperation& operation, const v1::OperationAnswer& answer) = 0;
  // It is about to stop the server.
  virtual void Acts(const std::string& manager, const v1::ContainerOperation& operation) = 0;
};

// How servers are restarted.
enum class Restarts { kGraceful, kRude, kEither };

class SimManager {
 public:
  SimManager(Cluster& cluster, int region, int regions, uint64_t seed, ManagerWitness& witness);
  ~SimManager();
  SimManager(const SimManager&) = delete;
  SimManager& operator=(const SimManager&) = delete;

  // From now on each server of the region is to be restarted once more.
  void Begin(Restarts how);
  // What is not going on yet is not wanted any more.
  void GiveUp();
  // It stands still; what comes meanwhile, it hears when it goes on.
  void Pause() { process_->Pause(); }
  void Resume() { process_->Resume(); }
  // Begins anew and has forgotten what it reported. What it has begun goes on.
  void Forget();
  // The cell was made anew: nothing of what it did before goes on.
  void ForgetCell();

  const std::string& name() const { return name_; }
  // Every server that there is was restarted, and the control plane knows.
  bool done() const;
  // The operation is going on, or begins if GO is heard.
  bool MayStillAct(const std::string& id) const;
  // For people: which operations wait, and for what.
  std::string Describe() const;

 private:
  void BeginLife();
  void Tick(uint64_t life);
  void Plan();
  void Report();
  void Answered(const std::string& leader, const v1::ReportRequest& request,
                const absl::StatusOr<v1::ReportResponse>& response);
  void Hear(uint64_t sequence, const v1::ReportResponse& response);
  void Act(const v1::ContainerOperation& operation);
  struct Going {
    std::string server;
    std::string endpoint;  // of the life that is stopped
    std::string operation;
    uint64_t round = 0;
  };
  void AwaitStop(const Going& going);
  bool IsMine(size_t server) const;
  Duration Some(Duration least, Duration most);

  Cluster& cluster_;
  const int region_;
  const int regions_;
  const std::string name_;
  Random random_;
  ManagerWitness& witness_;
  std::shared_ptr<Process> process_;
  std::optional<local::OperationLedger> ledger_;
  uint64_t life_ = 0;
  uint64_t ids_ = 0;
  size_t control_ = 0;  // the one that it asks
  bool plans_ = false;
  Restarts how_ = Restarts::kGraceful;
  uint64_t round_ = 0;               // what was begun in another one is over
  std::set<std::string> going_on_;   // ids: forgotten ones, too
  std::set<std::string> restarted_;  // servers
};

// All of them.
using Managers = std::vector<std::unique_ptr<SimManager>>;

}  // namespace shardmanager::simulation
