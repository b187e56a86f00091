#include "allocator/placer/placer.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "allocator/solver/explain.h"

namespace shardmanager::placer {
namespace {

using solver::ContainerId;
using solver::MetricId;
using solver::ObjectId;
using solver::Score;
using solver::State;

constexpr size_t kMostNamedShards = 5;

// Highest utilization of a server, and the mean over all, weighed by capacity.
struct Use {
  double most = 0;
  double mean = 0;
};

Use UseOf(const State& state, MetricId metric) {
  const solver::Problem& p = state.problem();
  Use use;
  double usage_sum = 0, capacity_sum = 0;
  for (uint32_t i = 0; i < p.containers; ++i) {
    const ContainerId c(i);
    const auto capacity = static_cast<double>(p.CapacityOf(c, metric));
    if (p.CapacityOf(c, metric) >= solver::kUnlimited) continue;
    double usage = 0;
    for (ObjectId o : state.On(c)) usage += p.LoadOf(o)[metric.index()];
    usage_sum += usage;
    capacity_sum += capacity;
    if (usage > 0) use.most = std::max(use.most, usage / std::max(capacity, 1.0));
  }
  if (capacity_sum > 0) use.mean = usage_sum / capacity_sum;
  return use;
}

}  // namespace

Placer::Placer(std::unique_ptr<ReadProblem> read, const v1::PlacementProblem& message,
               const solver::PortfolioOptions& options)
    : read_(std::move(read)),
      start_score_(State(*read_->model).Total()),
      portfolio_(*read_->model, options) {
  shards_.reserve(static_cast<size_t>(message.shards_size()));
  for (const v1::PlacerShard& shard : message.shards()) shards_.push_back(shard.name());
}

absl::StatusOr<std::unique_ptr<Placer>> Placer::Make(const v1::PlacementProblem& message,
                                                     const solver::PortfolioOptions& options) {
  auto read = Read(message);
  if (!read.ok()) return read.status();
  return std::unique_ptr<Placer>(new Placer(*std::move(read), message, options));
}

void Placer::Improve(const solver::ImproveOptions& options) {
  outcome_ = solver::Improve(portfolio_, options);
}

Placer::Placement Placer::Best() const {
  return start_score_.BetterThan(portfolio_.BestScore()) ? read_->problem.start
                                                         : portfolio_.Where();
}

const std::string& Placer::ShardName(ObjectId o) const {
  return shards_[read_->shard_of[o.index()]];
}

std::string Placer::ServerName(ContainerId c) const {
  return c.valid() ? read_->problem.container_names[c] : "";
}

void Placer::AddShards(const Placement& where, v1::PlaceResponse& answer) const {
  const solver::Problem& p = read_->problem;
  for (const std::string& name : shards_) answer.add_shards()->set_shard(name);
  for (uint32_t i = 0; i < p.objects; ++i) {
    const ObjectId o(i);
    answer.mutable_shards(static_cast<int>(read_->shard_of[i]))->add_servers(ServerName(where[o]));
    if (where[o] == p.start[o] && where[o].valid()) continue;
    auto* move = answer.add_moves();
    move->set_shard(ShardName(o));
    move->set_from(ServerName(p.start[o]));
    move->set_to(ServerName(where[o]));
  }
}

void Placer::AddRules(State& before, State& after, v1::PlaceResponse& answer) const {
  std::map<std::pair<int, std::string>, v1::PlaceResponse::RuleCost> costs;
  const auto row = [&](const solver::Violation& v) -> v1::PlaceResponse::RuleCost& {
    auto& cost = costs[{v.level, v.rule}];
    cost.set_rule(v.rule);
    cost.set_level(solver::LevelName(v.level));
    return cost;
  };
  for (const auto& v : solver::ListViolations(before)) {
    auto& cost = row(v);
    cost.set_before(cost.before() + v.amount);
  }
  for (const auto& v : solver::ListViolations(after)) {
    auto& cost = row(v);
    // One spec may have become several rules of its name.
    const bool first = cost.after() == 0;
    cost.set_after(cost.after() + v.amount);
    if (!first) continue;
    cost.set_places(v.places);
    cost.set_worst(v.worst);
    cost.set_help(v.help);
    std::set<std::string> named;
    for (ObjectId o : v.objects) {
      if (named.size() < kMostNamedShards) named.insert(ShardName(o));
    }
    for (const std::string& shard : named) cost.add_shards(shard);
  }
  for (auto& [key, cost] : costs) *answer.add_rules() = std::move(cost);
}

void Placer::AddMetrics(const State& before, const State& after, v1::PlaceResponse& answer) const {
  for (uint32_t m = 0; m < read_->problem.metrics.size(); ++m) {
    const Use then = UseOf(before, MetricId(m));
    const Use now = UseOf(after, MetricId(m));
    auto* use = answer.add_metrics();
    use->set_metric(read_->problem.metrics[MetricId(m)]);
    use->set_mean_utilization(now.mean);
    use->set_max_before(then.most);
    use->set_max_after(now.most);
  }
}

v1::PlaceResponse Placer::Answer() const {
  v1::PlaceResponse answer;
  const Placement where = Best();
  State before(*read_->model);
  State after(*read_->model);
  for (uint32_t i = 0; i < where.size(); ++i) {
    const ObjectId o(i);
    if (after.where(o) != where[o]) after.Move(o, where[o]);
  }
  const Score score = after.Total();
  answer.set_feasible(score[solver::kConstraintLevel] <= solver::kTolerance &&
                      score[solver::kUnplacedLevel] <= solver::kTolerance);
  AddShards(where, answer);
  AddRules(before, after, answer);
  AddMetrics(before, after, answer);
  answer.set_steps(portfolio_.steps());
  answer.set_finished(!outcome_.phases.empty() && outcome_.phases.front().finished);
  answer.set_fewest_moves(outcome_.fewest_moves);
  for (const solver::Phase& phase : outcome_.phases) {
    auto* added = answer.add_phases();
    added->set_phase(phase.name);
    added->set_steps(phase.steps);
    added->set_improved(phase.improved);
    added->set_finished(phase.finished);
  }
  return answer;
}

}  // namespace shardmanager::placer
