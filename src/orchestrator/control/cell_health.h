// How the cell is, as this process sees it: for metrics, `shardctl status` and health checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/map_version.h"
#include "orchestrator/control/cell_session.h"
#include "orchestrator/control/leadership.h"
#include "orchestrator/control/led_apps.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::orchestrator {

// One app, as its leader sees it.
struct AppNow {
  std::string name;
  bool known = false;  // its records were read: what follows counts
  v1::AppHealth health;
  uint32_t shards = 0;
  uint32_t replicas_wanted = 0;
  uint32_t replicas_serving = 0;
  v1::MapVersion map;
};

struct CellHealth {
  std::string cell;
  bool leading = false;       // and can prove it
  bool in_touch = false;      // the store answers; what follows of other processes is known
  bool connected = false;     // there is a connection to the store now
  Duration silent_for{};      // the store, since its last answer
  Duration session_age{};     // 0: there is no session
  Duration led_for{};         // of the leader
  uint64_t leader_epoch = 0;  // of the leader; 0: unknown
  std::string leader;         // where the leader answers; "": unknown
  // Of the leader alone:
  std::vector<AppNow> apps;
  // The worst first; at most kMostProblems, and one that says how many more.
  std::vector<v1::Problem> problems;
};

inline constexpr size_t kMostProblems = 100;

// Both on the executor's thread. Who leads, and the session with the store; no apps.
CellHealth LookAtLead(const CellSession& session, const Leadership& leadership, LedApps& apps,
                      TimePoint now);
// The same and, of a leader, all its apps: looks at all their shards (health.h).
CellHealth LookAtCell(const CellSession& session, const Leadership& leadership, LedApps& apps,
                      TimePoint now);

}  // namespace shardmanager::orchestrator
