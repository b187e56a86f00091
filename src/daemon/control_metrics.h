// What shardmanagerd counts, for Prometheus.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/time.h"
#include "daemon/app_labels.h"
#include "daemon/refusal_metrics.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/metrics.h"

namespace shardmanager::daemon {

// Follows the event log, so that decisions need not know that they are counted:
// shardmanager_events_total{kind,app}. And shows the newest figures of each app's requests.
class ControlMetrics {
 public:
  // The first two must outlive this.
  ControlMetrics(Metrics& metrics, orchestrator::EventLog& events,
                 std::shared_ptr<const security::Limits> limits);
  ~ControlMetrics();

 private:
  void Follow(const std::stop_token& stop);
  void ShowFigures();
  void MeasureFailover(const v1::ControlEvent& event);

  Metrics& metrics_;
  orchestrator::EventLog& events_;
  RefusalMetrics refusals_;
  AppLabels labels_;
  std::map<std::pair<std::string, std::string>, int64_t> lost_;  // when, by app and server
  std::set<std::string> shown_;                                  // apps whose figures were shown
  TimePoint show_at_{};                                          // again
  std::jthread thread_;
};

}  // namespace shardmanager::daemon
