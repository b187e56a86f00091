// One control-plane process: its session with the store, its candidacy, and, while
// it leads, a driver for each app.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "coordination/store.h"
#include "orchestrator/control/cell_health.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/client_drains.h"
#include "orchestrator/control/controller_options.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/led_policy.h"
#include "orchestrator/control/levers.h"
#include "orchestrator/control/operations.h"
#include "orchestrator/shell/event_log.h"
#include "orchestrator/shell/ports.h"
#include "runtime/executor.h"
#include "shardmanager/types.h"

namespace shardmanager::orchestrator {

// Thread-safe. All work is done on the controller's own thread.
class Controller {
 public:
  // Where it runs. Null: a thread of its own.
  struct Executors {
    std::unique_ptr<Executor> control;
    std::unique_ptr<Executor> solver;  // of plans, which may take long
  };

  // All must outlive the controller.
  Controller(ControllerOptions options, CoordinationStoreFactory& stores, CommandSender& sender,
             MapPublisher& publisher, EventLog& events, Executors executors = {});
  ~Controller();

  // Returns at once; connects, and stands for election, as long as it takes. `endpoint`:
  // where others reach our admin and discovery services.
  void Start(const std::string& endpoint);
  // Resigns (so that a standby takes over at once) and ends the session. Idempotent.
  void Stop();

  Operations& operations() { return operations_; }
  Levers& levers() { return levers_; }
  LedPolicy& policy() { return policy_; }
  const LedPolicy& policy() const { return policy_; }
  // A subscriber holds a map of this app and this cell from a leader with a higher epoch than that
  // of the maps that we publish.
  void SubscriberIsAhead(const AppName& app, MapVersion known);
  // How the cell is, whoever leads. The reply comes on the controller's thread.
  void GetHealth(std::function<void(CellHealth)> reply);
  EventLog& events() { return events_; }
  // For people: "host/pid".
  const std::string& process() const { return options_.process; }
  // This process leads, and its lease runs.
  bool leads() const { return leadership_.proven(); }

  // Called (on the controller's thread) when the process cannot go on, for example
  // because the path belongs to another cell, or ZooKeeper grants session time-outs that
  // do not fit the cell's leases.
  std::function<void(absl::Status)> on_fatal;
  // Called (on the controller's thread) when the store answers, and when it has not for so
  // long that this process knows nothing for certain any more: `in_touch` is false until the
  // first call. What it publishes or passes on may be out of date then.
  std::function<void(bool in_touch)> on_touch;
  // Called (on the controller's thread) when the leader becomes known or changes, with its
  // endpoint;
  // "": this process leads. Not called when no process leads.
  std::function<void(const std::string& other_leader)> on_leader;

 private:
  CellSession::Callbacks SessionCallbacks();
  Leadership::Callbacks LeadershipCallbacks();

  const ControllerOptions options_;
  EventLog& events_;
  std::once_flag stop_once_;
  const std::unique_ptr<Executor> solver_;
  const std::unique_ptr<Executor> executor_;
  CellSession session_;
  Leadership leadership_;
  LedApps apps_;
  LedPolicy policy_;
  ClientDrains client_drains_;
  Operations operations_;
  Levers levers_;
  std::map<AppName, MapVersion> ahead_;  // the highest that subscribers hold, until it is looked at
};

}  // namespace shardmanager::orchestrator
