#include "allocator/solver/explain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager::solver {
namespace {

constexpr size_t kObjectsListed = 5;

// REQUIRES: `o` is lifted.
std::vector<Reason> ReasonsAt(State& state, ObjectId o, ContainerId at) {
  std::vector<Reason> reasons;
  const auto add = [&](RuleFamily family, const std::string& rule, int level, double amount) {
    if (std::abs(amount) > kTolerance) reasons.push_back({family, rule, level, amount});
  };
  const Model& model = state.model();
  const Problem& problem = state.problem();
  const bool home = problem.start[o] == at;
  if (!home && !problem.Open(at)) {
    add(RuleFamily::kClosed, "closed", kConstraintLevel, 1);
  }
  const Load* load = state.LoadAt(o, at);
  for (const LoadBoard& board : state.boards()) {
    const DomainId d = model.DomainOf(board.scope(), at);
    for (size_t k = 0; k < board.rules().size(); ++k) {
      const LoadRule& rule = *board.rules()[k].rule;
      const size_t before = reasons.size();
      add(RuleFamily::kLoad, rule.name, rule.level, board.ArrivalOf(k, d, load));
      if (reasons.size() == before) continue;
      reasons.back().metric = problem.metrics[model.dimensions()[rule.dimension].metric];
    }
  }
  const GroupBoard& groups = state.group_board();
  for (size_t k = 0; k < groups.rules().size(); ++k) {
    const GroupRule& rule = *groups.rules()[k];
    add(RuleFamily::kGroup, rule.name, rule.rank.level, groups.ArrivalOf(k, o, at));
  }
  for (const ContainerRule& rule : model.container_rules()) {
    add(RuleFamily::kContainer, rule.name, rule.level, rule.cost[at]);
  }
  for (const ObjectRule& rule : model.object_rules()) {
    add(RuleFamily::kObject, rule.name, rule.rank.level, state.ObjectRuleCost(rule, o, at));
  }
  for (const auto& rule : state.custom()) {
    add(RuleFamily::kCustom, rule->name(), rule->level(), rule->Arrival(o, at));
  }
  if (!home) {
    add(RuleFamily::kMovement, model.movement().name, model.movement().rank.level,
        state.MovementCost(o, at));
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const Reason& a, const Reason& b) { return a.level < b.level; });
  return reasons;
}

void Count(std::vector<Refusal>& refusals, const std::vector<Reason>& reasons) {
  const auto refuses = [](const Reason& r) {
    return r.level == kConstraintLevel && r.amount > kTolerance;
  };
  const bool alone = std::count_if(reasons.begin(), reasons.end(), refuses) == 1;
  for (const Reason& r : reasons) {
    if (!refuses(r)) continue;
    auto at = std::find_if(refusals.begin(), refusals.end(),
                           [&](const Refusal& known) { return known.rule == r.rule; });
    if (at == refusals.end()) at = refusals.insert(at, Refusal{r.family, r.rule});
    ++at->containers;
    at->alone += alone;
  }
}

// What stands between a load rule and its limits, seen over the whole scope.
std::string HelpFor(const State& state, const LoadBoard& board, size_t k) {
  const LoadRule& rule = *board.rules()[k].rule;
  const MetricId metric = state.model().dimensions()[rule.dimension].metric;
  const std::string& name = state.problem().metrics[metric];
  double limits = 0;
  double used = 0;
  Amount largest_limit = 0;
  for (uint32_t d = 0; d < rule.limit.size(); ++d) {
    limits += static_cast<double>(rule.limit[DomainId(d)]);
    used += static_cast<double>(board.usage(DomainId(d), rule.dimension));
    largest_limit = std::max(largest_limit, rule.limit[DomainId(d)]);
  }
  if (used > limits) {
    return absl::StrFormat("all together are %.1f%% above their limits of %s: add capacity",
                           100 * (used / std::max(limits, 1.0) - 1), name);
  }
  Load largest = 0;
  for (uint32_t o = 0; o < state.problem().objects; ++o) {
    largest = std::max(largest, state.problem().LoadOf(ObjectId(o))[metric.index()]);
  }
  if (largest > largest_limit) {
    return absl::StrCat("one object needs more ", name, " than any limit allows: split it");
  }
  return "there is room in all, but no place was found: loosen a higher rule, or search longer";
}

// Adds up who pays for one rule.
struct Payers {
  // True: nobody before paid as much.
  bool Add(double cost) {
    violation.amount += cost;
    ++violation.places;
    if (cost <= most) return false;
    most = cost;
    return true;
  }

  Violation violation;
  double most = 0;
};

void ListLoads(State& state, std::vector<Violation>& out) {
  for (const LoadBoard& board : state.boards()) {
    for (size_t k = 0; k < board.rules().size(); ++k) {
      const LoadRule& rule = *board.rules()[k].rule;
      Payers payers{{.rule = rule.name, .level = rule.level}};
      Violation& v = payers.violation;
      for (uint32_t d = 0; d < rule.limit.size(); ++d) {
        const double cost = board.CostOf(k, DomainId(d));
        if (cost <= kTolerance || !payers.Add(cost)) continue;
        v.worst = DomainName(state.problem(), rule.scope, DomainId(d));
        if (rule.scope == kContainerScope) {
          const auto on = state.On(ContainerId(d));
          v.objects.assign(
              on.begin(), on.begin() + static_cast<ptrdiff_t>(std::min(on.size(), kObjectsListed)));
        }
      }
      if (v.places == 0) continue;
      v.help = HelpFor(state, board, k);
      out.push_back(std::move(v));
    }
  }
}

void ListGroups(const State& state, std::vector<Violation>& out) {
  const GroupBoard& groups = state.group_board();
  for (size_t k = 0; k < groups.rules().size(); ++k) {
    const GroupRule& rule = *groups.rules()[k];
    Payers payers{{.rule = rule.name, .level = rule.rank.level}};
    Violation& v = payers.violation;
    for (uint32_t g = 0; g < state.problem().groups(); ++g) {
      const double cost = groups.CostOf(k, GroupId(g));
      if (cost <= kTolerance) continue;
      if (v.objects.size() < kObjectsListed) v.objects.push_back(groups.Begin(GroupId(g)));
      if (payers.Add(cost)) v.worst = absl::StrCat("group ", g);
    }
    if (v.places == 0) continue;
    v.help = absl::StrCat("there are ", state.model().DomainCount(rule.scope),
                          " domains to choose from: more of them, or more room in them");
    out.push_back(std::move(v));
  }
}

void ListUnplaced(State& state, std::vector<Violation>& out) {
  Violation v{.rule = "unplaced", .level = kUnplacedLevel};
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    if (state.where(ObjectId(i)).valid()) continue;
    ++v.places;
    v.amount += 1;
    if (v.objects.size() < kObjectsListed) v.objects.push_back(ObjectId(i));
  }
  if (v.places == 0) return;
  v.worst = absl::StrCat("object ", v.objects.front().index());
  if (state.problem().containers == 0) v.help = "there is no server";
  for (const Refusal& refusal : WhyNowhere(state, v.objects.front())) {
    absl::StrAppend(&v.help, v.help.empty() ? "" : ", ", refusal.containers, " refuse it for ",
                    refusal.rule);
  }
  out.push_back(std::move(v));
}

void ListCustom(const State& state, std::vector<Violation>& out) {
  for (const auto& rule : state.custom()) {
    const double total = rule->Total();
    if (total <= kTolerance || rule->level() >= kMovementLevel) continue;
    Payment payment = rule->WhoPays();
    if (payment.objects.size() > kObjectsListed) payment.objects.resize(kObjectsListed);
    out.push_back({.rule = rule->name(),
                   .level = rule->level(),
                   .amount = total,
                   .places = payment.places,
                   .worst = std::move(payment.worst),
                   .help = std::move(payment.help),
                   .objects = std::move(payment.objects)});
  }
}

// Moves, where they are a goal.
void ListMovement(const State& state, std::vector<Violation>& out) {
  const int level = state.model().movement().rank.level;
  if (level >= kMovementLevel) return;
  Violation v{.rule = "move_cost", .level = level};
  for (uint32_t i = 0; i < state.problem().objects; ++i) {
    const ObjectId o(i);
    if (!state.where(o).valid()) continue;
    const double cost = state.MovementCost(o, state.where(o));
    v.amount += cost;
    v.places += cost > 0;
  }
  if (v.places > 0) out.push_back(std::move(v));
}

}  // namespace

std::vector<Reason> Explain(State& state, ObjectId o, ContainerId at) {
  const ContainerId from = state.Lift(o);
  std::vector<Reason> reasons = ReasonsAt(state, o, at);
  state.Put(o, from, from);
  return reasons;
}

std::vector<Refusal> WhyNowhere(State& state, ObjectId o) {
  std::vector<ContainerId> all;
  for (uint32_t c = 0; c < state.problem().containers; ++c) all.emplace_back(c);
  return WhyNot(state, o, all);
}

std::vector<Refusal> WhyNot(State& state, ObjectId o, const std::vector<ContainerId>& at) {
  std::vector<Refusal> refusals;
  const ContainerId from = state.Lift(o);
  for (const ContainerId c : at) Count(refusals, ReasonsAt(state, o, c));
  state.Put(o, from, from);
  std::stable_sort(refusals.begin(), refusals.end(),
                   [](const Refusal& a, const Refusal& b) { return a.containers > b.containers; });
  return refusals;
}

std::vector<Violation> ListViolations(State& state) {
  std::vector<Violation> violations;
  ListUnplaced(state, violations);
  ListLoads(state, violations);
  ListGroups(state, violations);
  ListCustom(state, violations);
  ListMovement(state, violations);
  for (const ContainerRule& rule : state.model().container_rules()) {
    Payers payers{{.rule = rule.name, .level = rule.level}};
    Violation& v = payers.violation;
    for (uint32_t c = 0; c < rule.cost.size(); ++c) {
      const auto on = static_cast<double>(state.On(ContainerId(c)).size());
      const double cost = rule.cost[ContainerId(c)] * on;
      if (cost > 0 && payers.Add(cost)) v.worst = ContainerName(state.problem(), ContainerId(c));
    }
    if (v.places > 0) violations.push_back(std::move(v));
  }
  std::stable_sort(violations.begin(), violations.end(),
                   [](const Violation& a, const Violation& b) { return a.level < b.level; });
  return violations;
}

std::string LevelName(int level) {
  if (level == kConstraintLevel) return "constraint";
  if (level == kUnplacedLevel) return "unplaced";
  if (level == kMovementLevel) return "movement";
  return absl::StrCat("goal ", level - kFirstGoalLevel + 1);
}

}  // namespace shardmanager::solver
