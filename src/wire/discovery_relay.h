// Serves downstream what it hears upstream, in the same protocol: relays stack.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "discovery/hub.h"
#include "runtime/serial_executor.h"
#include "shardmanager/types.h"
#include "wire/discovery_client.h"

namespace shardmanager::wire {

// Subscribes upstream to an app when the first subscriber asks for it, and keeps the
// subscription and the last map, also when the upstream is gone. (An app that no map
// ever came of is dropped with its last subscriber.) Serve hub() with a
// DiscoveryService.
class DiscoveryRelay {
 public:
  explicit DiscoveryRelay(DiscoveryClientOptions upstream);
  ~DiscoveryRelay();
  DiscoveryRelay(const DiscoveryRelay&) = delete;
  DiscoveryRelay& operator=(const DiscoveryRelay&) = delete;

  discovery::Hub& hub() { return hub_; }

  struct Stats {
    size_t subscribers = 0;        // streams downstream
    size_t apps = 0;               // subscriptions upstream
    size_t apps_connected = 0;     // those whose stream delivers now
    uint64_t updates = 0;          // snapshots and deltas passed on
    uint64_t updates_refused = 0;  // malformed, or not fitting
  };
  Stats stats() const;

 private:
  class App;

  void Want(const AppName& app);
  void Unwant(const AppName& app);
  bool PassOn(const AppName& app, const discovery::Verdict& verdict);

  std::atomic<size_t> app_count_{0};
  std::atomic<size_t> connected_{0};
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> refused_{0};
  DiscoveryClient upstream_;
  // On the executor's thread, whose end comes first.
  std::map<AppName, std::unique_ptr<App>> apps_;
  SerialExecutor executor_;
  discovery::Hub hub_;
};

}  // namespace shardmanager::wire
