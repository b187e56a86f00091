#include "orchestrator/state/load/load_table.h"

#include <algorithm>

namespace shardmanager::orchestrator {

double LoadTable::OfServer(ServerIndex server, size_t replicas, size_t metric) const {
  const size_t at = server.index() * metrics_ + metric;
  const ServerCell cell = at < servers_.size() ? servers_[at] : ServerCell{};
  const size_t unknown = replicas - std::min<size_t>(replicas, cell.known);
  return cell.sum + static_cast<double>(unknown) * Mean(metric);
}

void LoadTable::Set(ReplicaIndex replica, ServerIndex server, size_t metric, double value) {
  const size_t end = (size_t{replica.index()} + 1) * metrics_;
  if (values_.size() < end) values_.resize(std::max(end, values_.size() * 5 / 4), kUnknown);
  float& known = values_[replica.index() * metrics_ + metric];
  if (known >= 0) Add(server, metric, -static_cast<double>(known), -1);
  known = static_cast<float>(value);
  Add(server, metric, static_cast<double>(known), 1);
}

void LoadTable::Forget(ReplicaIndex replica, ServerIndex server) {
  for (size_t m = 0; m < metrics_; ++m) {
    if (!Knows(replica, m)) continue;
    float& known = values_[replica.index() * metrics_ + m];
    Add(server, m, -static_cast<double>(known), -1);
    known = kUnknown;
  }
}

void LoadTable::Add(ServerIndex server, size_t metric, double value, int count) {
  const size_t end = (size_t{server.index()} + 1) * metrics_;
  if (servers_.size() < end) servers_.resize(std::max(end, servers_.size() * 5 / 4));
  ServerCell& cell = servers_[server.index() * metrics_ + metric];
  cell.known += static_cast<uint32_t>(count);
  // An empty sum is exactly 0, whatever rounding left of it.
  cell.sum = cell.known == 0 ? 0 : std::max(0.0, cell.sum + value);
  known_[metric] += static_cast<uint64_t>(static_cast<int64_t>(count));
  sum_[metric] = known_[metric] == 0 ? 0 : std::max(0.0, sum_[metric] + value);
  mean_[metric] = known_[metric] == 0 ? 0 : sum_[metric] / static_cast<double>(known_[metric]);
}

size_t LoadTable::memory_bytes() const {
  return values_.capacity() * sizeof(float) + servers_.capacity() * sizeof(ServerCell);
}

}  // namespace shardmanager::orchestrator
