// Carries out what GrayServers decides, for each app that this process leads.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/gray_servers.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/shell/event_log.h"
#include "orchestrator/shell/ports.h"
#include "runtime/executor.h"

namespace shardmanager::orchestrator {

// Looks every 2 s at what clients say, and writes drains into the records of the specs, as
// operators do. Everything runs on the executor's thread.
class ClientDrains {
 public:
  // All must outlive it.
  struct Context {
    CellSession& session;
    Leadership& leadership;
    LedApps& apps;
    Executor& executor;
    EventLog& events;
    ClientViewsPort views;  // null: clients are not heard
  };

  explicit ClientDrains(Context context) : context_(std::move(context)) {}

  // Call it once, first.
  void Start();

  // See GrayServers::conditions().
  std::vector<std::string> Conditions(const std::string& app) const;

 private:
  void Look();
  void LookAt(const std::string& app, const PartitionDriver& driver);
  void Write(const std::string& app, const GrayServers::Orders& orders);

  const Context context_;
  std::map<std::string, GrayServers> apps_;  // that this process leads
  std::set<std::string> writing_;            // apps with a write under way
};

}  // namespace shardmanager::orchestrator
