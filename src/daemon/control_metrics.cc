#include "daemon/control_metrics.h"

#include "base/time.h"

namespace shardmanager::daemon {

ControlMetrics::ControlMetrics(Metrics& metrics, orchestrator::EventLog& events)
    : metrics_(metrics),
      events_(events),
      thread_([this](const std::stop_token& stop) { Follow(stop); }) {}

ControlMetrics::~ControlMetrics() = default;

void ControlMetrics::Follow(const std::stop_token& stop) {
  uint64_t cursor = 0;
  while (!stop.stop_requested()) {
    for (const v1::ControlEvent& event : events_.Read(&cursor, Milliseconds(200))) {
      metrics_
          .AddCounter("shardmanager_events_total",
                      "What the control plane saw and did, by kind (see shardctl watch).",
                      {{"kind", event.kind()}, {"app", event.app()}})
          .Add();
    }
  }
}

}  // namespace shardmanager::daemon
