#include "allocator/placer/amounts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace shardmanager::placer {
namespace {

constexpr double kMostAmount = 1e15;
// The largest load of a metric becomes at most this.
constexpr double kMostLoad = 1 << 30;
constexpr double kLeastLoad = 1e-6;
constexpr double kMostCapacity = 9e15;  // below 2^53

bool Whole(double amount) { return amount == std::floor(amount); }

}  // namespace

Amounts::Amounts(const v1::PlacementProblem& message) {
  for (const std::string& metric : message.metrics()) {
    metric_of_.emplace(metric, metric_of_.size());
  }
}

absl::Status Amounts::Check(const List& list, const std::string& path) const {
  std::vector<bool> seen(metric_of_.size(), false);
  for (int i = 0; i < list.size(); ++i) {
    const auto metric = metric_of_.find(list[i].metric());
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (metric == metric_of_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(at, ".metric: found \"", list[i].metric(), "\"; allowed: one of `metrics`"));
    }
    if (seen[metric->second]) {
      return absl::InvalidArgumentError(absl::StrCat(at, ".metric: found \"", list[i].metric(),
                                                     "\" again; allowed: each metric once"));
    }
    seen[metric->second] = true;
    const double amount = list[i].amount();
    if (amount >= 0 && amount <= kMostAmount) continue;  // not so for NaN
    return absl::InvalidArgumentError(
        absl::StrCat(at, ".amount: found ", amount, "; allowed: 0 to 1e15"));
  }
  return absl::OkStatus();
}

void Amounts::Note(const List& list, std::vector<double>& largest) const {
  for (const v1::MetricAmount& a : list) {
    double& most = largest[metric_of_.at(a.metric())];
    most = std::max(most, a.amount());
  }
}

// Whole numbers stay as they are if they fit; others become multiples of a power of 2,
// fine enough for small loads, coarse enough for the largest.
void Amounts::ChooseUnits(const v1::PlacementProblem& message) {
  const size_t metrics = metric_of_.size();
  std::vector<double> load(metrics, 0), capacity(metrics, 0);
  std::vector<bool> whole(metrics, true);
  const auto look = [&](const List& list) {
    for (const v1::MetricAmount& a : list) {
      if (!Whole(a.amount())) whole[metric_of_.at(a.metric())] = false;
    }
  };
  for (const v1::PlacerShard& shard : message.shards()) {
    Note(shard.load(), load);
    look(shard.load());
  }
  for (const v1::PlacerServer& server : message.servers()) {
    Note(server.capacity(), capacity);
    look(server.capacity());
  }
  for (size_t m = 0; m < metrics; ++m) {
    double unit = 1;
    if (!whole[m] && load[m] > 0) {
      // A metric whose loads are all next to nothing has no need of fine units.
      unit = std::exp2(std::floor(std::log2(kMostLoad / std::max(load[m], kLeastLoad))));
    }
    while (load[m] * unit > kMostLoad || capacity[m] * unit > kMostCapacity) unit /= 2;
    units_.push_back(unit);
  }
}

// Loads are rounded up and capacities down: what fits the solver's numbers fits theirs.
void Amounts::Row(const List& list, bool round_up, solver::Amount absent,
                  std::vector<solver::Amount>& row) const {
  row.assign(units_.size(), absent);
  for (const v1::MetricAmount& a : list) {
    const size_t m = metric_of_.at(a.metric());
    const double scaled = a.amount() * units_[m];
    row[m] = static_cast<solver::Amount>(round_up ? std::ceil(scaled) : std::floor(scaled));
  }
}

absl::Status Amounts::Fill(const v1::PlacementProblem& message,
                           const std::vector<uint32_t>& shard_of, solver::Problem& problem) {
  Amounts amounts(message);
  for (int i = 0; i < message.servers_size(); ++i) {
    const absl::Status s =
        amounts.Check(message.servers(i).capacity(), absl::StrCat("servers[", i, "].capacity"));
    if (!s.ok()) return s;
  }
  for (int i = 0; i < message.shards_size(); ++i) {
    const absl::Status s =
        amounts.Check(message.shards(i).load(), absl::StrCat("shards[", i, "].load"));
    if (!s.ok()) return s;
  }
  amounts.ChooseUnits(message);
  std::vector<solver::Amount> row;
  problem.capacity.reserve(size_t{problem.containers} * problem.metrics.size());
  problem.load.reserve(size_t{problem.objects} * problem.metrics.size());
  for (const v1::PlacerServer& server : message.servers()) {
    amounts.Row(server.capacity(), false, solver::kUnlimited, row);
    problem.capacity.insert(problem.capacity.end(), row.begin(), row.end());
  }
  for (uint32_t shard : shard_of) {
    amounts.Row(message.shards(static_cast<int>(shard)).load(), true, 0, row);
    for (solver::Amount a : row) problem.load.push_back(static_cast<solver::Load>(a));
  }
  return absl::OkStatus();
}

}  // namespace shardmanager::placer
