// How the cell is, as this process of the control plane sees it, for Prometheus.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "orchestrator/control/cell_health.h"
#include "runtime/metrics.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::daemon {

// What the gauges are made of. Pure; tests/daemon has examples.
//
// Series of apps are those of the leader: another process knows nothing of them, and shows none. Of
// more than AppLabels::kMost apps, those with problems come first, and the rest is added up as
// app="_other".
std::vector<MetricFamily> FamiliesOf(const orchestrator::CellHealth& cell,
                                     const std::vector<v1::ZookeeperMember>& zookeeper);

// Looks at the cell about once a second, less often if a look takes more than 10 ms: at most a
// hundredth of the deciding thread's time.
class CellMetrics {
 public:
  using Look = std::function<void(std::function<void(orchestrator::CellHealth)>)>;
  struct Ports {
    // Asks for the cell's health; the answer comes on any thread, or never. REQUIRED.
    Look look;
    // How ZooKeeper's servers are. REQUIRED.
    std::function<std::vector<v1::ZookeeperMember>()> zookeeper;
    // Called after each look, on the thread that looks. May be empty.
    std::function<void()> after_look;
  };

  // `metrics` must outlive this.
  CellMetrics(Metrics& metrics, Ports ports);
  ~CellMetrics();

 private:
  void Watch();
  std::vector<MetricFamily> Families() const;

  // Outlives this in the answers that are awaited.
  struct Seen {
    mutable std::mutex mutex;
    std::condition_variable changed;
    bool known = false;
    bool awaited = false;
    bool stop = false;
    TimePoint at{};
    orchestrator::CellHealth cell;
  };

  const Ports ports_;
  const std::shared_ptr<Seen> seen_ = std::make_shared<Seen>();
  const std::unique_ptr<Metrics::Source> source_;
  std::thread thread_;
};

}  // namespace shardmanager::daemon
