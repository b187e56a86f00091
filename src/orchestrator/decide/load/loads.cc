#include "orchestrator/decide/load/loads.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/load.h"
#include "orchestrator/decide/room.h"

namespace shardmanager::orchestrator {
namespace {

// Of a server that carries anything, and can carry nothing.
constexpr float kMostPressure = 1e6F;
constexpr double kLeastLimit = 1e-9;

}  // namespace

const char* WhyRefused(double amount) {
  if (std::isnan(amount)) return "not a number";
  if (amount < 0) return "negative";
  if (amount > kMostLoad) return "above 1e12";
  return nullptr;
}

double MetricCapacity(const PartitionState& state, const Capacities& capacities, ServerIndex server,
                      size_t metric) {
  if (auto own = capacities.find(server); own != capacities.end()) {
    for (const MetricAmount& capacity : own->second) {
      if (capacity.metric == state.loads.metrics[metric]) return capacity.amount;
    }
  }
  return SpecCapacity(state, metric);
}

double SpecCapacity(const PartitionState& state, size_t metric) {
  const double capacity = state.spec.metrics(static_cast<int>(metric)).capacity();
  return capacity > 0 ? capacity : std::numeric_limits<double>::infinity();
}

double ServerLoad(const PartitionState& state, ServerIndex server, size_t metric) {
  return state.loads.reported.OfServer(server, state.tables.server(server).replicas.size(), metric);
}

double ReplicaLoad(const PartitionState& state, ReplicaIndex replica, size_t metric) {
  return state.loads.reported.Of(replica, metric);
}

std::vector<double> LoadLimits(const PartitionState& state, const LoadTable& loads,
                               const Capacities& capacities) {
  const size_t metrics = state.loads.metrics.size();
  std::vector<double> limits(state.tables.server_count() * metrics);
  for (size_t m = 0; m < metrics; ++m) {
    const v1::Metric& policy = state.spec.metrics(static_cast<int>(m));
    double load = 0;
    double capacity = 0;
    size_t servers = 0;
    for (const ServerIndex id : state.tables.servers()) {
      if (state.tables.server(id).state != ServerState::kLive) continue;
      load += loads.OfServer(id, state.tables.server(id).replicas.size(), m);
      if (!Accepts(state, id)) continue;
      capacity += MetricCapacity(state, capacities, id, m);
      ++servers;
    }
    if (load <= 0 || servers == 0) continue;
    for (const ServerIndex id : state.tables.servers()) {
      if (state.tables.server(id).state != ServerState::kLive) continue;
      const double own = MetricCapacity(state, capacities, id, m);
      const double share = std::isinf(capacity) ? load / static_cast<double>(servers)
                                                : load * own / std::max(capacity, 1e-300);
      const double limit = std::min(share * (1 + policy.tolerance()), own * policy.threshold());
      limits[id.index() * metrics + m] = std::max(limit, kLeastLimit);
    }
  }
  return limits;
}

std::vector<float> Pressure(const PartitionState& state, const LoadTable& loads,
                            const Capacities& capacities) {
  const size_t metrics = state.loads.metrics.size();
  const std::vector<double> limits = LoadLimits(state, loads, capacities);
  std::vector<float> pressure(limits.size());
  for (const ServerIndex id : state.tables.servers()) {
    const size_t replicas = state.tables.server(id).replicas.size();
    for (size_t m = 0; m < metrics; ++m) {
      const size_t at = id.index() * metrics + m;
      if (limits[at] <= 0) continue;
      const double used = loads.OfServer(id, replicas, m);
      pressure[at] = std::min(static_cast<float>(used / limits[at]), kMostPressure);
    }
  }
  return pressure;
}

}  // namespace shardmanager::orchestrator
