// What a process that serves shard maps counts, for Prometheus: shard-discoveryd and shardmanagerd.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/metrics.h"
#include "shardmanager/v1/admin.pb.h"
#include "wire/discovery_relay.h"
#include "wire/discovery_service.h"

namespace shardmanager::daemon {

class RelayMetrics {
 public:
  explicit RelayMetrics(Metrics& metrics)
      : subscribers_(
            metrics.AddGauge("shardmanager_discovery_subscribers", "Streams served downstream.")),
        waiting_(metrics.AddGauge("shardmanager_discovery_subscribers_waiting",
                                  "Subscribers that wait for their turn to get a whole map, or a "
                                  "large change.")),
        behind_(metrics.AddGauge("shardmanager_discovery_relays_behind",
                                 "Relays and standbys that were not sent the newest maps, for "
                                 "more than a second.")),
        apps_(metrics.AddGauge("shardmanager_discovery_apps", "Apps subscribed to upstream.")),
        connected_(metrics.AddGauge("shardmanager_discovery_apps_connected",
                                    "Apps whose stream from upstream delivers now.")),
        stale_(metrics.AddGauge("shardmanager_discovery_apps_stale",
                                "Apps whose map may not be the newest: upstream is not heard, or "
                                "is cut off itself. Subscribers are told.")),
        updates_(metrics.AddCounter("shardmanager_discovery_updates_total",
                                    "Snapshots and deltas passed on.")),
        refused_(metrics.AddCounter("shardmanager_discovery_updates_refused_total",
                                    "Updates from upstream that did not fit.")) {}

  // Call it now and then, from one thread.
  void Show(const wire::DiscoveryRelay::Stats& stats, const wire::DiscoveryService& service) {
    waiting_.Set(static_cast<double>(service.waiting()));
    const std::vector<v1::RelayStatus> relays = service.Relays();
    behind_.Set(static_cast<double>(std::count_if(
        relays.begin(), relays.end(), [](const auto& relay) { return relay.apps_behind() > 0; })));
    subscribers_.Set(static_cast<double>(stats.subscribers));
    apps_.Set(static_cast<double>(stats.apps));
    connected_.Set(static_cast<double>(stats.apps_connected));
    stale_.Set(static_cast<double>(stats.apps_stale));
    updates_.Add(static_cast<double>(stats.updates) - updates_.value());
    refused_.Add(static_cast<double>(stats.updates_refused) - refused_.value());
  }

 private:
  Gauge subscribers_, waiting_, behind_, apps_, connected_, stale_;
  Counter updates_, refused_;
};

}  // namespace shardmanager::daemon
