// A problem, and what is wished of its solution:
//
//   Model model(problem);
//   status = model.AddConstraint(CapacitySpec{.metric = "cpu"});
//   status = model.AddGoal(BalanceSpec{.metric = "cpu"}, {.priority = 2});
//
// A spec is a plain struct with `absl::Status AddTo(Model&, Rank) const`, which lowers
// it to rules: see specs/, and docs/adding-a-goal.md.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "allocator/solver/problem.h"
#include "allocator/solver/rules.h"

namespace shardmanager::solver {

struct GoalRank {
  // 1 counts most. 1 to kGoals. Goals of one priority add up; of two, the higher one
  // decides alone.
  int priority = 1;
  // Among the goals of one priority.
  double weight = 1;
};

inline constexpr int kGoals = kMovementLevel - kFirstGoalLevel;

class Model {
 public:
  // REQUIRES: problem.Validate() is OK, and the problem outlives the model.
  explicit Model(const Problem& problem);

  template <typename Spec>
  absl::Status AddConstraint(const Spec& spec) {
    return spec.AddTo(*this, Rank{.level = kConstraintLevel});
  }
  template <typename Spec>
  absl::Status AddGoal(const Spec& spec, GoalRank rank) {
    if (rank.priority < 1 || rank.priority > kGoals || !(rank.weight > 0)) return WrongRank(rank);
    return spec.AddTo(*this,
                      Rank{.level = kFirstGoalLevel + rank.priority - 1, .weight = rank.weight});
  }

  // For specs.
  const Problem& problem() const { return problem_; }
  void Add(LoadRule rule) { load_rules_.push_back(std::move(rule)); }
  void Add(GroupRule rule) { group_rules_.push_back(std::move(rule)); }
  void Add(ContainerRule rule) { container_rules_.push_back(std::move(rule)); }
  void Add(ObjectRule rule) { object_rules_.push_back(std::move(rule)); }
  void Add(CustomRuleFactory factory) { custom_rules_.push_back(std::move(factory)); }
  void Set(MovementRule rule) { movement_ = std::move(rule); }
  // The number of that dimension, which is made if it is not there yet.
  uint32_t DimensionFor(MetricId metric, bool sticky);
  uint32_t DomainCount(ScopeId scope) const;
  DomainId DomainOf(ScopeId scope, ContainerId container) const {
    if (scope == kContainerScope) return DomainId(container.index());
    return problem_.scopes[scope.index() - 1].domain_of[container];
  }
  // Load of all objects, and what the problem leaves out.
  Amount TotalLoad(MetricId metric) const { return total_load_[metric]; }

  // For the solver.
  const std::vector<Dimension>& dimensions() const { return dimensions_; }
  const std::vector<LoadRule>& load_rules() const { return load_rules_; }
  const std::vector<GroupRule>& group_rules() const { return group_rules_; }
  const std::vector<ContainerRule>& container_rules() const { return container_rules_; }
  const std::vector<ObjectRule>& object_rules() const { return object_rules_; }
  const std::vector<CustomRuleFactory>& custom_rules() const { return custom_rules_; }
  const MovementRule& movement() const { return movement_; }

 private:
  static absl::Status WrongRank(GoalRank rank);

  const Problem& problem_;
  Table<MetricId, Amount> total_load_;
  std::vector<Dimension> dimensions_;  // the metrics first, in their order
  std::vector<LoadRule> load_rules_;
  std::vector<GroupRule> group_rules_;
  std::vector<ContainerRule> container_rules_;
  std::vector<ObjectRule> object_rules_;
  std::vector<CustomRuleFactory> custom_rules_;
  MovementRule movement_;
};

}  // namespace shardmanager::solver
