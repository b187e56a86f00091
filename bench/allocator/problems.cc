#include "problems.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace shardmanager::bench {
namespace {

using allocator::kNoPreference;
using allocator::PlacementInput;

void AddServers(const FleetShape& shape, PlacementInput& in) {
  const char* const names[] = {"cpu", "memory", "network", "disk"};
  for (uint32_t m = 0; m < shape.metrics; ++m) {
    in.metrics.push_back({.name = names[m]});
  }
  const uint32_t datacenters = shape.regions * shape.datacenters_per_region;
  for (uint32_t s = 0; s < shape.servers; ++s) {
    const uint32_t datacenter = s % datacenters;
    in.servers.push_back(
        {.region = datacenter % shape.regions,
         .datacenter = datacenter,
         .rack = s / datacenters / shape.servers_per_rack * datacenters + datacenter});
  }
  in.capacity.assign(size_t{shape.servers} * shape.metrics, 1.0);
}

// Log-uniform between 1 and `skew`.
double Skewed(Random& random, double skew) { return std::pow(skew, random.Fraction()); }

}  // namespace

PlacementInput RandomStart(const FleetShape& shape) {
  PlacementInput in;
  Random random(shape.seed);
  AddServers(shape, in);
  const size_t replicas = size_t{shape.shards} * shape.replicas_per_shard;
  in.shard_begin.reserve(shape.shards + 1);
  in.server_of.reserve(replicas);
  in.load.reserve(replicas * shape.metrics);
  std::vector<double> total(shape.metrics, 0);
  for (uint32_t s = 0; s < shape.shards; ++s) {
    std::vector<double> load(shape.metrics);
    for (double& l : load) l = Skewed(random, shape.skew);
    for (uint32_t r = 0; r < shape.replicas_per_shard; ++r) {
      in.server_of.push_back(static_cast<uint32_t>(random.Below(shape.servers)));
      in.load.insert(in.load.end(), load.begin(), load.end());
      for (uint32_t m = 0; m < shape.metrics; ++m) total[m] += load[m];
    }
    in.shard_begin.push_back(in.replicas());
    if (shape.preferences > 0) {
      in.preferred_region.push_back(random.Fraction() < shape.preferences
                                        ? static_cast<uint32_t>(random.Below(shape.regions))
                                        : kNoPreference);
    }
  }
  for (size_t i = 0; i < in.load.size(); ++i) {
    in.load[i] *= shape.load * shape.servers / total[i % shape.metrics];
  }
  return in;
}

PlacementInput PlantedTight(const FleetShape& shape) {
  PlacementInput in;
  Random random(shape.seed);
  AddServers(shape, in);
  for (auto& metric : in.metrics) {
    metric.threshold = 1;
    metric.tolerance = 1e6;
  }
  std::vector<std::vector<double>> loads;
  for (uint32_t s = 0; s < shape.servers; ++s) {
    // Sizes from 1/2 down to 1/2/skew, until the server is full in its first metric;
    // the others follow the same total by chance and are scaled to fit.
    std::vector<std::vector<double>> here;
    std::vector<double> sum(shape.metrics, 0);
    while (sum[0] < shape.load) {
      std::vector<double> load(shape.metrics);
      for (double& l : load) l = 0.5 / Skewed(random, shape.skew);
      load[0] = std::min(load[0], std::max(shape.load - sum[0], 0.5 / shape.skew));
      for (uint32_t m = 0; m < shape.metrics; ++m) sum[m] += load[m];
      here.push_back(load);
    }
    for (auto& load : here) {
      for (uint32_t m = 0; m < shape.metrics; ++m) {
        load[m] = std::min(0.5, load[m] * shape.load / sum[m]);
      }
      loads.push_back(load);
    }
  }
  for (size_t i = loads.size() - 1; i > 0; --i) std::swap(loads[i], loads[random.Below(i + 1)]);
  for (const auto& load : loads) {
    in.server_of.push_back(static_cast<uint32_t>(random.Below(shape.servers)));
    in.load.insert(in.load.end(), load.begin(), load.end());
    in.shard_begin.push_back(in.replicas());
  }
  return in;
}

namespace {

// The question whether a few loads cover an excess in every metric. What a load is
// worth is the part of the excess that it could take away; the loads are in order of it.
struct CoverProblem {
  std::vector<std::vector<double>> loads;
  std::vector<double> worth_before;  // of the loads before each one, and of all
  std::vector<double> excess;
  // Looks left. When it is used up the answer is yes, which keeps the bound a lower one.
  uint64_t budget = 0;
};

bool Coverable(CoverProblem& p, size_t from, size_t n) {
  double left = 0;
  for (double e : p.excess) left += std::max(0.0, e);
  if (left <= 1e-9) return true;
  if (n == 0) return false;
  for (size_t i = from; i + n <= p.loads.size(); ++i) {
    if (p.budget == 0) return true;
    --p.budget;
    // The best that n loads from here on can do.
    if (p.worth_before[i + n] - p.worth_before[i] < left - 1e-9) return false;
    for (size_t m = 0; m < p.excess.size(); ++m) p.excess[m] -= p.loads[i][m];
    const bool yes = Coverable(p, i + 1, n - 1);
    for (size_t m = 0; m < p.excess.size(); ++m) p.excess[m] += p.loads[i][m];
    if (yes) return true;
  }
  return false;
}

// The fewest of the loads, by metric, that cover its excess; the largest of these.
size_t FewestByMetric(const std::vector<std::vector<double>>& loads,
                      const std::vector<double>& excess) {
  size_t most = 0;
  for (size_t m = 0; m < excess.size(); ++m) {
    std::vector<double> sorted;
    for (const auto& load : loads) sorted.push_back(load[m]);
    std::sort(sorted.rbegin(), sorted.rend());
    double left = excess[m];
    size_t n = 0;
    while (left > 1e-9 && n < sorted.size()) left -= sorted[n++];
    most = std::max(most, n);
  }
  return most;
}

}  // namespace

double LimitOf(const PlacementInput& in, size_t metric) {
  double total = 0;
  for (size_t i = metric; i < in.load.size(); i += in.metrics.size()) total += in.load[i];
  const double share = total / static_cast<double>(in.servers.size());
  return std::min({share * (1 + in.metrics[metric].tolerance), in.metrics[metric].threshold, 1.0});
}

uint64_t LeastMoves(const PlacementInput& in) {
  const size_t metrics = in.metrics.size();
  std::vector<double> limit;
  for (size_t m = 0; m < metrics; ++m) limit.push_back(LimitOf(in, m));
  std::vector<std::vector<std::vector<double>>> on(in.servers.size());
  for (uint32_t r = 0; r < in.replicas(); ++r) {
    const auto at = in.load.begin() + static_cast<ptrdiff_t>(r * metrics);
    on[in.server_of[r]].emplace_back(at, at + static_cast<ptrdiff_t>(metrics));
  }
  uint64_t least = 0;
  for (auto& loads : on) {
    std::vector<double> excess(metrics);
    for (size_t m = 0; m < metrics; ++m) {
      excess[m] = -limit[m];
      for (const auto& load : loads) excess[m] += load[m];
    }
    const auto worth = [&](const std::vector<double>& load) {
      double sum = 0;
      for (size_t m = 0; m < metrics; ++m) sum += std::min(load[m], std::max(0.0, excess[m]));
      return sum;
    };
    std::sort(loads.begin(), loads.end(),
              [&](const auto& a, const auto& b) { return worth(a) > worth(b); });
    CoverProblem cover{.loads = loads, .worth_before = {0}, .excess = excess, .budget = 1'000'000};
    for (const auto& load : loads)
      cover.worth_before.push_back(cover.worth_before.back() + worth(load));
    size_t fewest = FewestByMetric(loads, excess);
    while (fewest < loads.size() && !Coverable(cover, 0, fewest)) ++fewest;
    least += fewest;
  }
  return least;
}

}  // namespace shardmanager::bench
