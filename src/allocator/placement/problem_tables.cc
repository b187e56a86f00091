#include "allocator/placement/problem_tables.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "absl/strings/str_cat.h"

namespace shardmanager::allocator {
namespace {

using solver::Amount;
using solver::ContainerId;
using solver::DomainId;
using solver::ObjectId;

// Loads become whole numbers: the largest one of a metric becomes about this.
constexpr double kLargest = 1 << 30;
// Of one unit of a metric, however small its loads: finite.
constexpr double kMostUnits = 1e200;

absl::Status Wrong(const std::string& field, const std::string& found, const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, "; allowed: ", allowed));
}

absl::Status CheckSize(const std::string& field, size_t found, size_t wanted) {
  if (found == wanted) return absl::OkStatus();
  return Wrong(field, absl::StrCat(found, " entries"), absl::StrCat(wanted, " entries"));
}

// Neither NaN nor negative, nor so large that sums lose their meaning.
absl::Status CheckAmounts(const std::string& field, const std::vector<double>& amounts,
                          size_t metrics, bool unlimited_allowed) {
  for (size_t i = 0; i < amounts.size(); ++i) {
    const double a = amounts[i];
    if (a >= 0 && (a <= 1e15 || (unlimited_allowed && std::isinf(a)))) continue;
    return Wrong(absl::StrCat(field, "[", i / metrics, "][", i % metrics, "]"), absl::StrCat(a),
                 unlimited_allowed ? "0 to 1e15, or infinity" : "0 to 1e15");
  }
  return absl::OkStatus();
}

absl::Status CheckMetrics(const PlacementInput& in) {
  for (size_t m = 0; m < in.metrics.size(); ++m) {
    const MetricPolicy& metric = in.metrics[m];
    const std::string field = absl::StrCat("metrics[", m, "]");
    if (metric.name.empty()) return Wrong(field + ".name", "\"\"", "a name");
    for (size_t other = 0; other < m; ++other) {
      if (in.metrics[other].name == metric.name) {
        return Wrong(field + ".name", metric.name, "a name that no other metric has");
      }
    }
    if (!(metric.threshold >= 0 && metric.threshold <= 1)) {
      return Wrong(field + ".threshold", absl::StrCat(metric.threshold), "0 to 1");
    }
    if (!(metric.tolerance >= 0 && metric.tolerance <= 1e6)) {
      return Wrong(field + ".tolerance", absl::StrCat(metric.tolerance), "0 to 1e6");
    }
    if (!(metric.weight > 0 && metric.weight <= 1e6)) {
      return Wrong(field + ".weight", absl::StrCat(metric.weight), "above 0, up to 1e6");
    }
  }
  return absl::OkStatus();
}

// Of a shard and a server each.
absl::Status CheckPairs(const std::string& field, const PlacementInput& in,
                        const std::vector<std::pair<uint32_t, uint32_t>>& pairs) {
  for (const auto& [shard, server] : pairs) {
    if (shard >= in.shards()) {
      return Wrong(field, absl::StrCat("shard ", shard), absl::StrCat("below ", in.shards()));
    }
    if (server >= in.servers.size()) {
      return Wrong(field, absl::StrCat("server ", server),
                   absl::StrCat("below ", in.servers.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReplicas(const PlacementInput& in) {
  const size_t metrics = in.metrics.size();
  if (in.shard_begin.empty() || in.shard_begin.front() != 0 ||
      in.shard_begin.back() != in.replicas() ||
      !std::is_sorted(in.shard_begin.begin(), in.shard_begin.end())) {
    return Wrong("shard_begin", "something else",
                 absl::StrCat("ascending numbers from 0 to ", in.replicas()));
  }
  if (auto s = CheckSize("load", in.load.size(), in.server_of.size() * metrics); !s.ok()) return s;
  if (auto s = CheckAmounts("load", in.load, metrics, false); !s.ok()) return s;
  if (!in.pinned.empty()) {
    if (auto s = CheckSize("pinned", in.pinned.size(), in.server_of.size()); !s.ok()) return s;
  }
  if (!in.preferred_region.empty()) {
    if (auto s = CheckSize("preferred_region", in.preferred_region.size(), in.shards()); !s.ok()) {
      return s;
    }
  }
  if (!in.preference_weight.empty()) {
    if (auto s = CheckSize("preference_weight", in.preference_weight.size(), in.shards());
        !s.ok()) {
      return s;
    }
  }
  for (size_t i = 0; i < in.region_wishes.size(); ++i) {
    const uint32_t shard = in.region_wishes[i].shard;
    const uint32_t least = i == 0 ? 0 : in.region_wishes[i - 1].shard;
    if (shard >= least && shard < in.shards()) continue;
    return Wrong("region_wishes", absl::StrCat("shard ", shard),
                 absl::StrCat(least, " and more, below ", in.shards()));
  }
  if (auto s = CheckPairs("avoided", in, in.avoided); !s.ok()) return s;
  if (auto s = CheckPairs("left", in, in.left); !s.ok()) return s;
  for (uint32_t server : in.server_of) {
    if (server == kNowhere || server < in.servers.size()) continue;
    return Wrong("server_of", absl::StrCat(server), absl::StrCat("below ", in.servers.size()));
  }
  return absl::OkStatus();
}

// Numbers as they come become 0, 1, 2... Small ones, which most are, by a table.
class Renumbering {
 public:
  DomainId Of(uint32_t number) {
    if (number >= kSmall) return DomainId(Fresh(large_[number]));
    if (number >= small_.size()) small_.resize(size_t{number} + 1);
    return DomainId(Fresh(small_[number]));
  }
  // Invalid: it never came.
  DomainId Known(uint32_t number) const {
    if (number < small_.size() && small_[number] != 0) return DomainId(small_[number] - 1);
    const auto at = large_.find(number);
    return at == large_.end() ? DomainId() : DomainId(at->second - 1);
  }
  uint32_t size() const { return size_; }

 private:
  static constexpr uint32_t kSmall = 1 << 20;
  uint32_t Fresh(uint32_t& id) { return (id == 0 ? id = ++size_ : id) - 1; }

  std::vector<uint32_t> small_;  // id + 1; 0: none yet
  std::unordered_map<uint32_t, uint32_t> large_;
  uint32_t size_ = 0;
};

solver::Scope MakeScope(const PlacementInput& in, const char* name, uint32_t ServerRow::*number,
                        Renumbering& ids) {
  solver::Scope scope;
  scope.name = name;
  scope.domain_of.reserve(in.servers.size());
  for (const ServerRow& server : in.servers) scope.domain_of.push_back(ids.Of(server.*number));
  scope.domains = ids.size();
  return scope;
}

// How many units of the solver one unit of each metric is.
std::vector<double> UnitsOf(const PlacementInput& in) {
  const size_t metrics = in.metrics.size();
  std::vector<double> largest(metrics, 0);
  for (const auto* amounts : {&in.capacity, &in.load}) {
    for (size_t i = 0; i < amounts->size(); i += metrics) {
      for (size_t m = 0; m < metrics; ++m) {
        const double a = (*amounts)[i + m];
        if (a > largest[m] && !std::isinf(a)) largest[m] = a;
      }
    }
  }
  std::vector<double> units(metrics);
  for (size_t m = 0; m < metrics; ++m) {
    // Counted things stay whole numbers, so that even shares are exact.
    units[m] = in.metrics[m].even || largest[m] == 0 ? 1 : kLargest / largest[m];
    if (largest[m] * units[m] > kLargest) units[m] = kLargest / largest[m];
    units[m] = std::min(units[m], kMostUnits);
  }
  return units;
}

void FillLoads(const PlacementInput& in, solver::Problem& p) {
  const size_t metrics = in.metrics.size();
  const std::vector<double> units = UnitsOf(in);
  p.capacity.resize(in.capacity.size());
  for (size_t i = 0; i < in.capacity.size(); ++i) {
    p.capacity[i] = std::isinf(in.capacity[i])
                        ? solver::kUnlimited
                        : static_cast<Amount>(in.capacity[i] * units[i % metrics]);
  }
  p.base_usage.resize(in.other_load.size());
  for (size_t i = 0; i < in.other_load.size(); ++i) {
    p.base_usage[i] =
        static_cast<Amount>(std::min(1e17, std::ceil(in.other_load[i] * units[i % metrics])));
  }
  p.load.resize(in.load.size());
  size_t m = 0;
  for (size_t i = 0; i < in.load.size(); ++i) {
    // Up, as capacities go down: what fits here fits there.
    const double exact = in.load[i] * units[m];
    const auto whole = static_cast<solver::Load>(exact);
    p.load[i] = whole + (exact > whole);
    m = m + 1 == metrics ? 0 : m + 1;
  }
}

}  // namespace

absl::Status CheckInput(const PlacementInput& in) {
  if (auto s = CheckMetrics(in); !s.ok()) return s;
  const size_t metrics = in.metrics.size();
  const size_t cells = in.servers.size() * metrics;
  if (auto s = CheckSize("capacity", in.capacity.size(), cells); !s.ok()) return s;
  if (auto s = CheckAmounts("capacity", in.capacity, metrics, true); !s.ok()) return s;
  if (!in.other_load.empty()) {
    if (auto s = CheckSize("other_load", in.other_load.size(), cells); !s.ok()) return s;
    if (auto s = CheckAmounts("other_load", in.other_load, metrics, false); !s.ok()) return s;
  }
  return CheckReplicas(in);
}

solver::Problem MakeProblem(const PlacementInput& in, PreferredRegions& preferred) {
  solver::Problem p;
  for (const MetricPolicy& metric : in.metrics) p.metrics.push_back(metric.name);
  p.containers = static_cast<uint32_t>(in.servers.size());
  p.objects = in.replicas();
  Renumbering racks, datacenters, regions;
  p.scopes.push_back(MakeScope(in, kRackScope, &ServerRow::rack, racks));
  p.scopes.push_back(MakeScope(in, kDatacenterScope, &ServerRow::datacenter, datacenters));
  p.scopes.push_back(MakeScope(in, kRegionScope, &ServerRow::region, regions));
  preferred.of_shard.reserve(in.preferred_region.size());
  for (uint32_t region : in.preferred_region) preferred.of_shard.push_back(regions.Known(region));
  preferred.of_wish.reserve(in.region_wishes.size());
  for (const ShardWish& wish : in.region_wishes) {
    preferred.of_wish.push_back(regions.Known(wish.region));
  }
  p.closed.reserve(in.servers.size());
  for (const ServerRow& server : in.servers) {
    p.closed.push_back(!server.accepts || server.draining);
  }
  FillLoads(in, p);
  p.group_begin = in.shard_begin;
  p.start.reserve(p.objects);
  for (uint32_t server : in.server_of) {
    p.start.push_back(server == kNowhere ? ContainerId() : ContainerId(server));
  }
  if (!in.pinned.empty()) {
    p.pinned.reserve(p.objects);
    for (bool pinned : in.pinned) p.pinned.push_back(pinned);
  }
  return p;
}

}  // namespace shardmanager::allocator
