#include "allocator/roadef/challenge.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "allocator/solver/specs/all.h"

namespace shardmanager::roadef {
namespace {

using solver::Amount;
using solver::ContainerId;
using solver::DomainId;
using solver::GroupId;
using solver::MetricId;
using solver::ObjectId;
using solver::Table;

constexpr char kLocation[] = "location";
constexpr char kNeighborhood[] = "neighborhood";

std::string MetricName(size_t resource) { return absl::StrCat("r", resource); }

template <typename DomainOf>
solver::Scope MakeScope(const std::string& name, const Instance& instance, DomainOf domain_of) {
  solver::Scope scope{.name = name, .domain_of = {}, .names = {}, .domains = 0};
  for (const Machine& m : instance.machines) {
    scope.domain_of.push_back(DomainId(domain_of(m)));
    scope.domains = std::max(scope.domains, domain_of(m) + 1);
  }
  return scope;
}

}  // namespace

void Challenge::AddMachines(const Instance& instance) {
  for (size_t r = 0; r < instance.resources.size(); ++r) problem_.metrics.push_back(MetricName(r));
  problem_.containers = static_cast<uint32_t>(instance.machines.size());
  for (const Machine& m : instance.machines) {
    problem_.capacity.insert(problem_.capacity.end(), m.capacity.begin(), m.capacity.end());
    problem_.container_names.push_back(absl::StrCat("machine ", problem_.container_names.size()));
  }
  problem_.scopes.push_back(
      MakeScope(kLocation, instance, [](const Machine& m) { return m.location; }));
  problem_.scopes.push_back(
      MakeScope(kNeighborhood, instance, [](const Machine& m) { return m.neighborhood; }));
}

// Objects of a group stand together: processes are sorted by service.
void Challenge::AddProcesses(const Instance& instance) {
  const auto& processes = instance.processes;
  process_of_.resize(processes.size());
  object_of_.resize(processes.size());
  std::iota(process_of_.begin(), process_of_.end(), 0);
  std::stable_sort(process_of_.begin(), process_of_.end(), [&](uint32_t a, uint32_t b) {
    return processes[a].service < processes[b].service;
  });
  problem_.objects = static_cast<uint32_t>(processes.size());
  problem_.group_begin.assign(instance.services.size() + 1, 0);
  for (uint32_t p : process_of_) {
    const Process& process = processes[p];
    object_of_[p] = ObjectId(problem_.start.size());
    problem_.load.insert(problem_.load.end(), process.requirement.begin(),
                         process.requirement.end());
    problem_.start.push_back(ContainerId(instance.assignment[p]));
    ++problem_.group_begin[process.service + 1];
  }
  std::partial_sum(problem_.group_begin.begin(), problem_.group_begin.end(),
                   problem_.group_begin.begin());
}

absl::Status Challenge::AddConstraints(const Instance& instance) {
  for (size_t r = 0; r < instance.resources.size(); ++r) {
    const absl::Status s = model_->AddConstraint(solver::CapacitySpec{
        .metric = MetricName(r), .transient = instance.resources[r].transient});
    if (!s.ok()) return s;
  }
  if (absl::Status s = model_->AddConstraint(solver::ExclusionSpec{}); !s.ok()) return s;
  Table<GroupId, uint32_t> spread;
  Table<GroupId, std::vector<GroupId>> needed;
  for (const Service& service : instance.services) {
    const uint32_t size =
        problem_.group_begin[spread.size() + 1] - problem_.group_begin[spread.size()];
    if (service.spread > size) {
      return absl::InvalidArgumentError(absl::StrCat("service[", spread.size(), "]: found spread ",
                                                     service.spread, " of ", size,
                                                     " processes; allowed: no more than those"));
    }
    spread.push_back(service.spread);
    needed.push_back({service.needs.begin(), service.needs.end()});
  }
  if (absl::Status s =
          model_->AddConstraint(solver::SpreadSpec{.scope = kLocation, .least_of_group = spread});
      !s.ok()) {
    return s;
  }
  return model_->AddConstraint(
      solver::DependencySpec{.scope = kNeighborhood, .needed = std::move(needed)});
}

absl::Status Challenge::AddGoals(const Instance& instance) {
  for (size_t r = 0; r < instance.resources.size(); ++r) {
    if (instance.resources[r].load_weight == 0) continue;
    solver::OverageSpec overage{.metric = MetricName(r), .limit = {}};
    for (const Machine& m : instance.machines) overage.limit.push_back(m.safety_capacity[r]);
    const absl::Status s = model_->AddGoal(
        overage, {.weight = static_cast<double>(instance.resources[r].load_weight)});
    if (!s.ok()) return s;
  }
  for (const Balance& b : instance.balances) {
    if (b.weight == 0) continue;
    const absl::Status s = model_->AddGoal(
        solver::HeadroomRatioSpec{
            .metric = MetricName(b.first), .with = MetricName(b.second), .ratio = b.target},
        {.weight = static_cast<double>(b.weight)});
    if (!s.ok()) return s;
  }
  return AddMoveCosts(instance);
}

absl::Status Challenge::AddMoveCosts(const Instance& instance) {
  // The weight is in the cost, as it may be 0.
  solver::MoveCostSpec process{.cost = {}, .within_group = 1};
  for (uint32_t p : process_of_) {
    process.cost.push_back(static_cast<double>(instance.processes[p].move_cost) *
                           instance.process_move_weight);
  }
  if (absl::Status s = model_->AddGoal(process, {}); !s.ok()) return s;
  if (instance.service_move_weight > 0) {
    const absl::Status s = model_->AddGoal(
        solver::GroupMoveSpec{}, {.weight = static_cast<double>(instance.service_move_weight)});
    if (!s.ok()) return s;
  }
  if (instance.machine_move_weight == 0) return absl::OkStatus();
  return model_->AddGoal(solver::MoveDistanceSpec{.cost = std::make_shared<std::vector<int32_t>>(
                                                      instance.machine_move_cost)},
                         {.weight = static_cast<double>(instance.machine_move_weight)});
}

Challenge::Challenge(const Instance& instance) {
  AddMachines(instance);
  AddProcesses(instance);
}

absl::StatusOr<std::unique_ptr<Challenge>> Challenge::Make(const Instance& instance) {
  std::unique_ptr<Challenge> challenge(new Challenge(instance));
  if (absl::Status s = challenge->problem_.Validate(); !s.ok()) return s;
  challenge->model_ = std::make_unique<solver::Model>(challenge->problem_);
  if (absl::Status s = challenge->AddConstraints(instance); !s.ok()) return s;
  if (absl::Status s = challenge->AddGoals(instance); !s.ok()) return s;
  return challenge;
}

std::string Challenge::ToText(const Placement& where) const {
  std::string text;
  for (ObjectId o : object_of_) {
    absl::StrAppend(&text, text.empty() ? "" : " ", where[o].index());
  }
  return text + "\n";
}

}  // namespace shardmanager::roadef
