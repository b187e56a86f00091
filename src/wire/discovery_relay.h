// Serves downstream what it hears upstream, in the same protocol: relays stack.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "discovery/hub.h"
#include "discovery/report_desk.h"
#include "runtime/serial_executor.h"
#include "shardmanager/types.h"
#include "wire/discovery_client.h"

namespace shardmanager::wire {

// Subscribes upstream to an app when the first subscriber asks for it, and keeps the
// subscription and the last map, also when the upstream is gone. (An app that no map
// ever came of is dropped with its last subscriber.) While nothing is heard of an app, it
// marks the map as stale. Serve hub() and reports() with a DiscoveryService.
//
// A control-plane process uses one too: while another leads it relays that one's maps,
// and while it leads it has no upstream and publishes to hub() itself. Maps are ordered
// by version, so a subscriber need not care whom it is connected to, and does not even
// notice a change of leader.
class DiscoveryRelay {
 public:
  // Without endpoints: no upstream.
  explicit DiscoveryRelay(DiscoveryClientOptions upstream);
  ~DiscoveryRelay();
  DiscoveryRelay(const DiscoveryRelay&) = delete;
  DiscoveryRelay& operator=(const DiscoveryRelay&) = delete;

  discovery::Hub& hub() { return hub_; }
  // What clients say of servers is passed on upstream, if there is any.
  discovery::ReportDesk& reports() { return reports_; }

  // From now on, hear maps from these; empty: from nobody. Thread-safe; returns at
  // once.
  void SetUpstream(std::vector<std::string> endpoints);

  struct Stats {
    size_t subscribers = 0;        // streams downstream
    size_t apps = 0;               // wanted from upstream
    size_t apps_connected = 0;     // those whose stream delivers now
    size_t apps_stale = 0;         // those whose map may not be the newest: Heartbeat.stale
    uint64_t updates = 0;          // snapshots and deltas passed on
    uint64_t updates_refused = 0;  // malformed, or not fitting
  };
  Stats stats() const;

 private:
  class App;

  void Want(const AppName& app);
  void Unwant(const AppName& app);
  void Connect(std::vector<std::string> endpoints);
  std::unique_ptr<App> Subscribe(const AppName& app);
  bool PassOn(const AppName& app, const discovery::Verdict& verdict);

  std::atomic<size_t> app_count_{0};
  std::atomic<size_t> connected_{0};
  std::atomic<size_t> stale_{0};
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> refused_{0};
  // On the executor's thread, whose end comes first.
  DiscoveryClientOptions options_;
  std::unique_ptr<DiscoveryClient> upstream_;     // null: none
  std::map<AppName, std::unique_ptr<App>> apps_;  // those wanted; null: no upstream
  SerialExecutor executor_;
  discovery::Hub hub_;
  discovery::ReportDesk reports_{hub_};
};

}  // namespace shardmanager::wire
