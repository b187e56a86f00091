// What holds for every spec, seen through the state: the price of a move is exactly
// what it changes.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "allocator/solver/anneal/change_meter.h"
#include "allocator/solver/specs/all.h"
#include "allocator/solver/state.h"
#include "base/random.h"

namespace shardmanager::solver {
namespace {

constexpr uint32_t kContainers = 12;
constexpr uint32_t kObjects = 60;

// Two metrics, racks and regions, groups of 1, 2, 3 and of 20.
Problem RandomProblem(Random& random) {
  Problem p;
  p.metrics.push_back("cpu");
  p.metrics.push_back("memory");
  p.containers = kContainers;
  Scope rack{.name = "rack", .domain_of = {}, .names = {}, .domains = 6};
  Scope region{.name = "region", .domain_of = {}, .names = {}, .domains = 3};
  for (uint32_t c = 0; c < kContainers; ++c) {
    rack.domain_of.push_back(DomainId(c / 2));
    region.domain_of.push_back(DomainId(c / 4));
    for (int m = 0; m < 2; ++m) {
      p.capacity.push_back(static_cast<Amount>(50 + random.Below(200)));
      p.base_usage.push_back(static_cast<Amount>(random.Below(20)));
    }
  }
  p.scopes = {rack, region};
  p.objects = kObjects;
  p.group_begin = {0, 20};
  for (uint32_t size = 1; p.group_begin.back() < kObjects; size = size % 3 + 1) {
    p.group_begin.push_back(std::min(kObjects, p.group_begin.back() + size));
  }
  for (uint32_t o = 0; o < kObjects; ++o) {
    p.load.push_back(static_cast<Load>(random.Below(40)));
    p.load.push_back(static_cast<Load>(random.Below(40)));
    // Some start nowhere.
    p.start.push_back(random.Below(10) == 0 ? ContainerId()
                                            : ContainerId(random.Below(kContainers)));
  }
  return p;
}

template <typename Spec>
void AddAsGoal(Model& model, const Spec& spec) {
  const absl::Status goal = model.AddGoal(spec, {.priority = 3, .weight = 7});
  ASSERT_TRUE(goal.ok()) << goal;
}

template <typename Spec>
void Add(Model& model, const Spec& spec) {
  const absl::Status constraint = model.AddConstraint(spec);
  ASSERT_TRUE(constraint.ok()) << constraint;
  AddAsGoal(model, spec);
}

using AddSpec = void (*)(Model&, Random&);
struct Case {
  const char* name;
  AddSpec add;
};

template <typename Id>
Table<GroupId, Id> RandomOfGroups(const Model& model, Random& random, uint32_t end) {
  Table<GroupId, Id> table;
  for (uint32_t g = 0; g < model.problem().groups(); ++g) table.push_back(Id(random.Below(end)));
  return table;
}

const Case kCases[] = {
    {"Capacity",
     [](Model& m, Random&) {
       Add(m, CapacitySpec{.metric = "cpu", .limit = 0.5});
       Add(m, CapacitySpec{.scope = "region", .metric = "memory", .limit = 0.5});
     }},
    {"TransientCapacity",
     [](Model& m, Random&) {
       Add(m, CapacitySpec{.metric = "cpu", .limit = 0.5, .transient = true});
       Add(m, CapacitySpec{.scope = "rack", .metric = "cpu", .limit = 0.5, .transient = true});
     }},
    {"Utilization",
     [](Model& m, Random&) { Add(m, UtilizationSpec{.metric = "memory", .threshold = 0.3}); }},
    {"Balance",
     [](Model& m, Random&) {
       Add(m, BalanceSpec{.metric = "cpu"});
       Add(m, BalanceSpec{.scope = "rack", .metric = "memory", .tolerance = 0});
       Add(m, BalanceSpec{.metric = "memory", .even = true});
       Add(m, BalanceSpec{.metric = "cpu", .within = "region"});
     }},
    {"Overage",
     [](Model& m, Random& random) {
       OverageSpec spec{.scope = "rack", .metric = "cpu", .limit = {}};
       for (int i = 0; i < 6; ++i) spec.limit.push_back(static_cast<Amount>(random.Below(300)));
       Add(m, spec);
     }},
    {"HeadroomRatio",
     [](Model& m, Random&) {
       Add(m, HeadroomRatioSpec{.metric = "cpu", .with = "memory", .ratio = 2});
       Add(m, HeadroomRatioSpec{.scope = "region", .metric = "memory", .with = "cpu"});
     }},
    {"InUse",
     [](Model& m, Random&) {
       InUseSpec spec;
       for (uint32_t c = 0; c < kContainers; ++c) spec.cost.push_back(c % 3);
       Add(m, spec);
     }},
    {"LeastLoad",
     [](Model& m, Random&) {
       Add(m, LeastLoadSpec{.metric = "cpu", .least = 0.8});
       Add(m, LeastLoadSpec{.scope = "region", .metric = "memory", .least = 0.9});
     }},
    {"Company",
     [](Model& m, Random& random) {
       CompanySpec spec{.scope = "rack", .limits = {}};
       for (int i = 0; i < 40; ++i) {
         const GroupId a(random.Below(m.problem().groups()));
         const GroupId b(random.Below(m.problem().groups()));
         if (a == b) continue;
         spec.limits.push_back({a, b, static_cast<uint32_t>(random.Below(3))});
       }
       Add(m, spec);
     }},
    {"Exclusion",
     [](Model& m, Random& random) {
       Add(m, ExclusionSpec{});
       Add(m, ExclusionSpec{.scope = "region", .most = 2});
       Add(m,
           ExclusionSpec{.scope = "rack", .most_of_group = RandomOfGroups<uint32_t>(m, random, 4)});
     }},
    {"Spread",
     [](Model& m, Random& random) {
       Add(m, SpreadSpec{.scope = "region"});
       Add(m,
           SpreadSpec{.scope = "rack", .least_of_group = RandomOfGroups<uint32_t>(m, random, 9)});
     }},
    {"Affinity",
     [](Model& m, Random& random) {
       Add(m,
           AffinitySpec{
               .scope = "region", .domain = RandomOfGroups<DomainId>(m, random, 3), .objects = 2});
       AffinitySpec weighed{.scope = "rack", .domain = RandomOfGroups<DomainId>(m, random, 3)};
       for (uint32_t g = 0; g < m.problem().groups(); ++g) {
         weighed.weight_of_group.push_back(1 + static_cast<double>(random.Below(9)));
       }
       Add(m, weighed);
     }},
    {"Dependency",
     [](Model& m, Random& random) {
       for (const char* scope : {"region", "rack"}) {
         DependencySpec spec{.scope = scope, .needed = {}};
         for (uint32_t g = 0; g < m.problem().groups(); ++g) {
           std::vector<GroupId> needed;
           while (random.Below(3) != 0)
             needed.push_back(GroupId(random.Below(m.problem().groups())));
           spec.needed.push_back(needed);
         }
         Add(m, spec);
       }
     }},
    {"ParallelFailover", [](Model& m, Random&) { Add(m, ParallelFailoverSpec{}); }},
    {"Drain",
     [](Model& m, Random&) {
       Add(m, DrainSpec{.containers = {ContainerId(1), ContainerId(5)}});
     }},
    {"Pin",
     [](Model& m, Random&) {
       Add(m, PinSpec{.scope = "rack", .domains = {{3, {DomainId(1), DomainId(4)}}, {9, {}}}});
       Add(m, PinSpec{.domains = {{4, {DomainId(1)}}, {30, {DomainId(8)}}}, .avoid = true});
     }},
    {"MoveCost",
     [](Model& m, Random& random) {
       MoveCostSpec spec;
       for (uint32_t o = 0; o < kObjects; ++o) {
         spec.cost.push_back(static_cast<double>(random.Below(9)));
       }
       Add(m, spec);
     }},
    {"MoveDistance",
     [](Model& m, Random& random) {
       std::vector<int32_t> cost;
       for (uint32_t i = 0; i < kContainers * kContainers; ++i) {
         cost.push_back(static_cast<int32_t>(random.Below(100)));
       }
       Add(m, MoveDistanceSpec{.cost = std::make_shared<std::vector<int32_t>>(std::move(cost))});
     }},
    {"MoveLimit",
     [](Model& m, Random&) {
       Add(m, MoveLimitSpec{.total = 20, .per_container = 3, .per_group = 1});
     }},
    {"GroupMove", [](Model& m, Random&) { Add(m, GroupMoveSpec{}); }},
    // What a move saves on its way must not be lost behind what it costs in load.
    {"MovesAndLoads",
     [](Model& m, Random& random) {
       std::vector<int32_t> cost;
       for (uint32_t i = 0; i < kContainers * kContainers; ++i) {
         cost.push_back(static_cast<int32_t>(random.Below(100)));
       }
       AddAsGoal(m,
                 MoveDistanceSpec{.cost = std::make_shared<std::vector<int32_t>>(std::move(cost))});
       AddAsGoal(m, GroupMoveSpec{});
       AddAsGoal(m,
                 OverageSpec{.metric = "cpu", .limit = Table<DomainId, Amount>(kContainers, 50)});
     }},
};

class EverySpec : public testing::TestWithParam<Case> {};

// A random problem with that spec.
struct Drawn {
  Drawn(uint64_t seed, const Case& spec)
      : random(seed), problem(RandomProblem(random)), model(problem), state(With(spec)) {}
  const Model& With(const Case& spec) {
    spec.add(model, random);
    return model;
  }

  Random random;
  const Problem problem;
  Model model;
  State state;
};

void ExpectSame(const Score& a, const Score& b) {
  for (int l = 0; l < kLevels; ++l) ASSERT_NEAR(a[l], b[l], 1e-6) << "level " << l;
}

TEST_P(EverySpec, ChargesForAMoveExactlyWhatItChanges) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const Problem problem = RandomProblem(random);
    ASSERT_TRUE(problem.Validate().ok()) << problem.Validate();
    Model model(problem);
    GetParam().add(model, random);
    State state(model);
    Score total = state.Total();
    for (int i = 0; i < 1500; ++i) {
      const ObjectId o(random.Below(kObjects));
      const ContainerId to =
          random.Below(20) == 0 ? ContainerId() : ContainerId(random.Below(kContainers));
      const ContainerId from = state.Lift(o);
      const Score change = state.Arrival(o, to) - state.Arrival(o, from);
      state.Put(o, to, from);
      const Score after = state.Total();
      ExpectSame(after - total, change);
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", change " << i;
      total = after;
    }
  }
}

TEST_P(EverySpec, IsNotFreeForEver) {
  Drawn drawn(1, GetParam());
  auto& [random, problem, model, state] = drawn;
  double most = 0;
  for (int i = 0; i < 300; ++i) {
    state.Move(ObjectId(random.Below(kObjects)), ContainerId(random.Below(kContainers)));
    most = std::max(most, state.Total()[kFirstGoalLevel + 2]);
  }
  EXPECT_GT(most, 0);
}

// The annealer's questions, of the rules that answer them.
TEST_P(EverySpec, AnswersForMovesAndSwapsWithoutMakingThem) {
  Drawn drawn(3, GetParam());
  auto& [random, problem, model, state] = drawn;
  for (uint32_t o = 0; o < kObjects; ++o) {
    if (!state.where(ObjectId(o)).valid()) state.Move(ObjectId(o), ContainerId(0));
  }
  for (int i = 0; i < 2000; ++i) {
    const ObjectId a(random.Below(kObjects));
    const ObjectId b(random.Below(kObjects));
    const ContainerId at_a = state.where(a);
    const ContainerId at_b = state.where(b);
    if (at_a == at_b) continue;
    std::vector<double> move, swap, before, after_move;
    for (const auto& rule : state.custom()) {
      before.push_back(rule->Total());
      move.push_back(rule->MoveChange(a, at_a, at_b));
      swap.push_back(rule->SwapChange(a, at_a, b, at_b));
      ASSERT_NEAR(rule->Total(), before.back(), 1e-9) << rule->name();
    }
    state.Move(a, at_b);
    for (const auto& rule : state.custom()) after_move.push_back(rule->Total());
    state.Move(b, at_a);
    for (size_t k = 0; k < state.custom().size(); ++k) {
      ASSERT_NEAR(after_move[k] - before[k], move[k], 1e-6) << state.custom()[k]->name();
      ASSERT_NEAR(state.custom()[k]->Total() - before[k], swap[k], 1e-6)
          << state.custom()[k]->name();
    }
  }
}

// Exact searches leave out branches for the sake of what such a rule says.
TEST_P(EverySpec, NeverGetsCheaperByMoreObjectsIfItSaysSo) {
  Drawn drawn(4, GetParam());
  auto& [random, problem, model, state] = drawn;
  for (int i = 0; i < 3000; ++i) {
    const ObjectId o(random.Below(kObjects));
    const ObjectId other(random.Below(kObjects));
    if (o == other) continue;
    const ContainerId to(random.Below(kContainers));
    const ContainerId from = state.Lift(o);
    const ContainerId other_from = state.Lift(other);
    std::vector<double> before;
    for (const auto& rule : state.custom()) before.push_back(rule->Arrival(o, to));
    state.Put(other, ContainerId(random.Below(kContainers)), other_from);
    for (size_t k = 0; k < state.custom().size(); ++k) {
      const CustomRule& rule = *state.custom()[k];
      if (!rule.DearerWhenFuller()) continue;
      ASSERT_GE(rule.Arrival(o, to), before[k] - 1e-9) << rule.name();
    }
    state.Put(o, to, from);
  }
}

// The annealer's view, kept up to date through many changes, against the full score.
class Meter {
 public:
  explicit Meter(State& state) : state_(state), meter_(state, Weights(), 1000) {
    total_ = state.Total();
  }

  void MoveAndCheck(ObjectId o, ContainerId to) {
    const ContainerId from = state_.where(o);
    const double expected = Rise(o, to);
    const double goals = meter_.Move(o, to);
    const Score after = state_.Total();
    double change = 0;
    for (int l = kFirstGoalLevel; l < kLevels; ++l) change += WeightOf(l) * (after[l] - total_[l]);
    ASSERT_NEAR(change, goals, 1e-6);
    // With constraints at their prices there and back is the same, with the sign turned.
    const double back = Rise(o, from);
    if (std::isfinite(expected) && std::isfinite(back)) {
      ASSERT_NEAR(expected, -back, 1e-6);
    }
    total_ = after;
  }

  void SwapAndCheck(ObjectId a, ObjectId b) {
    const ContainerId at_a = state_.where(a);
    const ContainerId at_b = state_.where(b);
    const double swap = meter_.OfSwap(a, b, ChangeMeter::kForbidden);
    ASSERT_EQ(meter_.OfSwap(a, b, 10) > 10, swap > 10);
    const double first = Rise(a, at_b);
    MoveAndCheck(a, at_b);
    const double second = Rise(b, at_a);
    MoveAndCheck(b, at_a);
    if (std::isfinite(first) && std::isfinite(second)) {
      ASSERT_NEAR(first + second, swap, 1e-6);
    }
  }

  void AdjustPrices() { meter_.AdjustPrices({.rise = 1.1, .fall = 1.05, .slack = 0.01}); }
  bool Keeps() const { return meter_.Keeps(); }

 private:
  static double WeightOf(int level) { return 1 + level; }
  static LevelWeights Weights() {
    LevelWeights weights{};
    for (int l = kFirstGoalLevel; l < kLevels; ++l) weights[static_cast<size_t>(l)] = WeightOf(l);
    return weights;
  }
  // Who has a limit in mind gets the same verdict.
  double Rise(ObjectId o, ContainerId to) const {
    const double rise = meter_.OfMove(o, to, ChangeMeter::kForbidden);
    for (double limit : {0.0, 10.0, 100.0}) {
      EXPECT_EQ(meter_.OfMove(o, to, limit) > limit, rise > limit) << rise;
    }
    return rise;
  }

  State& state_;
  ChangeMeter meter_;
  Score total_;
};

TEST_P(EverySpec, IsMeteredAsItIsScored) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    const Problem problem = RandomProblem(random);
    Model model(problem);
    GetParam().add(model, random);
    State state(model);
    for (uint32_t o = 0; o < kObjects; ++o) {
      if (!state.where(ObjectId(o)).valid()) state.Move(ObjectId(o), ContainerId(0));
    }
    const bool kept_at_first = state.Total()[kConstraintLevel] <= 1e-6;
    Meter meter(state);
    for (int i = 0; i < 500 && !testing::Test::HasFatalFailure(); ++i) {
      const ObjectId a(random.Below(kObjects));
      const ObjectId b(random.Below(kObjects));
      if (state.where(a) == state.where(b)) continue;
      if (i % 2 == 0) {
        meter.MoveAndCheck(a, state.where(b));
      } else {
        meter.SwapAndCheck(a, b);
      }
      if (i % 50 == 0) meter.AdjustPrices();
      // Broken constraints are compared in units of their own, kept ones are kept.
      const bool kept = state.Total()[kConstraintLevel] <= 1e-6;
      if (kept || kept_at_first) {
        EXPECT_EQ(meter.Keeps(), kept) << "change " << i;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, EverySpec, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shardmanager::solver
