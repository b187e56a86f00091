// What replicas and servers carry of each metric of the spec, in dense tables. An app
// without metrics has empty ones.
//
// Values that nobody reported are unknown, and count as the mean of those that are
// known.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// Not thread-safe. Sums are kept up to date with every change, so that a look at all
// servers costs nothing per replica.
class LoadTable {
 public:
  LoadTable() = default;
  explicit LoadTable(size_t metrics)
      : metrics_(metrics), sum_(metrics), known_(metrics), mean_(metrics) {}

  size_t metrics() const { return metrics_; }

  bool Knows(ReplicaIndex replica, size_t metric) const {
    const size_t at = replica.index() * metrics_ + metric;
    return at < values_.size() && values_[at] >= 0;
  }
  // As known, else the mean.
  double Of(ReplicaIndex replica, size_t metric) const {
    return Knows(replica, metric) ? values_[replica.index() * metrics_ + metric] : Mean(metric);
  }
  // Of the known ones; 0: none is.
  double Mean(size_t metric) const { return mean_[metric]; }
  // Of all replicas that the server has, `replicas` of them.
  double OfServer(ServerIndex server, size_t replicas, size_t metric) const;

  // REQUIRES: `value` is 0 or more. `server`: where the replica is.
  void Set(ReplicaIndex replica, ServerIndex server, size_t metric, double value);
  // The replica is gone, or made anew.
  void Forget(ReplicaIndex replica, ServerIndex server);

  size_t memory_bytes() const;

 private:
  static constexpr float kUnknown = -1;

  struct ServerCell {
    double sum = 0;  // of what is known
    uint32_t known = 0;
  };
  void Add(ServerIndex server, size_t metric, double value, int count);

  size_t metrics_ = 0;
  std::vector<float> values_;        // [replica][metric]
  std::vector<ServerCell> servers_;  // [server][metric]
  std::vector<double> sum_;          // [metric]
  std::vector<uint64_t> known_;      // [metric]
  std::vector<double> mean_;         // [metric]
};

}  // namespace shardmanager::orchestrator
