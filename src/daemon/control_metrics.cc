#include "daemon/control_metrics.h"

#include <map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "runtime/clock.h"

namespace shardmanager::daemon {
namespace {

// Figures are new once in a collection of the app, which is 30 s as a rule.
constexpr Duration kShowAgain = Seconds(5);

const std::vector<double> kFailoverBounds = {0.1, 0.2, 0.5, 1,   2,   5,   10,
                                             20,  30,  60,  120, 300, 600, 1800};

}  // namespace

ControlMetrics::ControlMetrics(Metrics& metrics, orchestrator::EventLog& events,
                               std::shared_ptr<const security::Limits> limits)
    : metrics_(metrics),
      events_(events),
      refusals_(metrics, std::move(limits)),
      thread_([this](const std::stop_token& stop) { Follow(stop); }) {}

ControlMetrics::~ControlMetrics() = default;

void ControlMetrics::Follow(const std::stop_token& stop) {
  uint64_t cursor = 0;
  while (!stop.stop_requested()) {
    for (const v1::ControlEvent& event : events_.Read(&cursor, Milliseconds(200))) {
      metrics_
          .AddCounter("shardmanager_events_total",
                      "What the control plane saw and did, by kind (see shardctl watch).",
                      {{"kind", event.kind()}, {"app", labels_.Of(event.app())}})
          .Add();
      MeasureFailover(event);
    }
    refusals_.Show();
    ShowFigures();
  }
}

// From the loss of a server to when all that it had is served by others.
void ControlMetrics::MeasureFailover(const v1::ControlEvent& event) {
  const std::pair<std::string, std::string> server{event.app(), event.server()};
  if (event.kind() == "ServerLost") lost_[server] = event.time_ms();
  if (event.kind() == "ServerJoined") lost_.erase(server);
  const auto lost = lost_.find(server);
  if (event.kind() != "FailoverFinished" || lost == lost_.end()) return;
  metrics_
      .AddHistogram("shardmanager_failover_duration_seconds",
                    "From the end of a lost server's session to when all that it had is served "
                    "by others.",
                    kFailoverBounds, {{"app", labels_.Of(event.app())}})
      .Observe(Milliseconds(event.time_ms() - lost->second));
  lost_.erase(lost);
}

void ControlMetrics::ShowFigures() {
  const TimePoint now = MonotonicNow();
  if (now < show_at_) return;
  show_at_ = now + kShowAgain;
  const auto figures = events_.Shown();
  std::set<std::string> apps = std::move(shown_);
  shown_.clear();
  for (const auto& [app, of_app] : figures) {
    apps.insert(app);
    shown_.insert(app);
  }
  for (const std::string& app : apps) {
    const auto found = figures.find(app);
    // What is not known any more is 0, as in a process that does not lead.
    const orchestrator::TrafficFigures known =
        found == figures.end() ? orchestrator::TrafficFigures() : found->second;
    const std::string label = labels_.Of(app);
    if (label == AppLabels::kOther) continue;  // ratios do not add up
    const auto set = [&](const char* name, const char* help, double value) {
      metrics_.AddGauge(name, help, {{"app", label}}).Set(value);
    };
    set("shardmanager_app_requests_per_second", "Requests that the app's servers admit.",
        known.requests_per_s);
    set("shardmanager_app_hottest_shard_ratio",
        "Of the busiest replica: its requests, as a part of what a server has on average.",
        known.hottest_shard);
    set("shardmanager_app_hottest_key_ratio",
        "Of the most frequent key at one server: the same, at least.", known.hottest_key);
    set("shardmanager_app_shards_hot", "Shards that are hot (shardctl top shards).",
        static_cast<double>(known.shards_hot));
    set("shardmanager_app_keys_hot", "Keys that are hot (shardctl top keys).",
        static_cast<double>(known.keys_hot));
    set("shardmanager_app_key_entropy_bits",
        "Of the hashes of requested keys, 0 to 6; 0 also where it is not known.",
        known.entropy_bits);
  }
}

}  // namespace shardmanager::daemon
