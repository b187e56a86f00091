// What shardmanagerd counts, for Prometheus.
#pragma once

#include <map>
#include <string>
#include <thread>

#include "orchestrator/shell/event_log.h"
#include "runtime/metrics.h"

namespace shardmanager::daemon {

// Follows the event log, so that decisions need not know that they are counted:
// shardmanager_events_total{kind,app}.
class ControlMetrics {
 public:
  // Both must outlive this.
  ControlMetrics(Metrics& metrics, orchestrator::EventLog& events);
  ~ControlMetrics();

 private:
  void Follow(const std::stop_token& stop);

  Metrics& metrics_;
  orchestrator::EventLog& events_;
  std::jthread thread_;
};

}  // namespace shardmanager::daemon
