// A cluster manager in a test: wants to restart each server of its region once, and keeps the rules
// of task_control.proto.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "base/random.h"
#include "base/time.h"
#include "examples/localcluster/operation_ledger.h"
#include "shardmanager/v1/task_control.pb.h"
#include "taskcontroller/state/operation.h"
#include "tests/taskcontroller/fleet.h"

namespace shardmanager::taskcontroller {

class SimManager {
 public:
  using After = std::function<void(Duration, std::function<void()>)>;

  SimManager(std::string name, uint32_t region, Fleet& fleet, Random& random, After after);

  std::function<void(Report)> send;

  void Start();
  void Hear(uint64_t sequence, const v1::ReportResponse& response);
  // It is silent for a while; what it has begun goes on. With `amnesia` it forgets what it
  // reported.
  void Vanish(Duration how_long, bool amnesia);
  void Return();

  // Of any server: its process ends, or comes back as a new life that has to load its replicas.
  void Stop(TrueServer& server);
  void StartAgain(TrueServer& server);

  const std::string& name() const { return name_; }
  bool done() const;
  uint32_t acted() const { return acted_; }
  // The operation is going on, or would begin if GO were heard.
  bool MayStillAct(const std::string& id) const;
  std::string Describe() const;

 private:
  void Plan();
  void Tick();
  void SendReport();
  void Act(const v1::ContainerOperation& operation);
  Duration Some(int64_t least_ms, int64_t most_ms);

  const std::string name_;
  const uint32_t region_;
  Fleet& fleet_;
  Random& random_;
  const After after_;
  uint64_t life_ = 1;
  local::OperationLedger ledger_;
  uint64_t ids_ = 0;
  bool silent_ = false;
  uint64_t absences_ = 0;
  uint32_t acted_ = 0;
  std::set<std::string> going_on_;   // ids: forgotten ones, too
  std::set<std::string> restarted_;  // servers
};

}  // namespace shardmanager::taskcontroller
