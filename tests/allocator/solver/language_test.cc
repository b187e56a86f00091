// Problems of other people, all rules together: the search against a solver that tries everything,
// and that shares no rule or cost with it.
#include <gtest/gtest.h>

#include <vector>

#include "allocator/solver/anytime/improve.h"
#include "allocator/solver/specs/all.h"
#include "base/random.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

constexpr int kServers = 4;
constexpr int kObjects = 6;
constexpr int kRacks = 2;
constexpr double kMoveWeight = 0.25;

struct Limit {
  int group;
  int with;
  int most;
};

struct Wishes {
  std::vector<int> group_of;        // of each object
  std::vector<int> most_of_group;   // constraint: on one server
  std::vector<Limit> limits;        // constraint
  int company_scope = 0;            // of those: 0: server, 1: rack
  double least = 0;                 // constraint if above 0: cpu of each server
  double wished = 0;                // priority 1: cpu of each rack
  std::vector<double> server_cost;  // priority 2
  std::vector<double> move_cost;    // of each object
  bool moves_beside = false;        // at priority 2, too
};

using Places = std::vector<int>;

struct Drawn {
  Problem problem;
  Wishes wishes;
};

Drawn Draw(uint64_t seed) {
  Random random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int>(random.Below(n)); };
  Drawn drawn;
  SmallFleet fleet;
  for (int s = 0; s < kServers; ++s) {
    fleet.Server(8 + below(5), static_cast<uint32_t>(s % kRacks));
    drawn.wishes.server_cost.push_back(below(4));
  }
  int group = 0;
  for (int o = 0; o < kObjects; ++group) {
    std::vector<Item> items(static_cast<size_t>(std::min(kObjects - o, 1 + below(3))));
    for (Item& item : items) item = {{1 + below(5)}, below(kServers)};
    for (size_t i = 0; i < items.size(); ++i, ++o) {
      drawn.wishes.group_of.push_back(group);
      drawn.wishes.move_cost.push_back(below(4));
    }
    drawn.wishes.most_of_group.push_back(1 + below(2));
    fleet.Group(items);
  }
  for (int i = below(4); i > 0 && group > 1; --i) {
    const int a = below(static_cast<uint64_t>(group));
    drawn.wishes.limits.push_back(
        {a, (a + 1 + below(static_cast<uint64_t>(group - 1))) % group, below(2)});
  }
  drawn.wishes.company_scope = below(2);
  drawn.wishes.least = below(3) == 0 ? 0.1 * (1 + below(2)) : 0;
  drawn.wishes.wished = 0.1 * below(5);
  drawn.wishes.moves_beside = below(2) == 0;
  drawn.problem = fleet.Make();
  return drawn;
}

void AddWishes(const Drawn& drawn, Model& model) {
  const Wishes& w = drawn.wishes;
  const auto ok = [](const absl::Status& s) { ASSERT_TRUE(s.ok()) << s; };
  ok(model.AddConstraint(CapacitySpec{.metric = "cpu"}));
  ExclusionSpec exclusion;
  for (int most : w.most_of_group) exclusion.most_of_group.push_back(static_cast<uint32_t>(most));
  ok(model.AddConstraint(exclusion));
  CompanySpec company{.scope = w.company_scope == 0 ? "server" : "rack", .limits = {}};
  for (const Limit& l : w.limits) {
    company.limits.push_back({GroupId(static_cast<size_t>(l.group)),
                              GroupId(static_cast<size_t>(l.with)), static_cast<uint32_t>(l.most)});
  }
  ok(model.AddConstraint(company));
  if (w.least > 0) ok(model.AddConstraint(LeastLoadSpec{.metric = "cpu", .least = w.least}));
  ok(model.AddGoal(LeastLoadSpec{.scope = "rack", .metric = "cpu", .least = w.wished}, {}));
  InUseSpec in_use;
  for (double cost : w.server_cost) in_use.cost.push_back(cost);
  ok(model.AddGoal(in_use, {.priority = 2}));
  MoveCostSpec moves;
  for (double cost : w.move_cost) moves.cost.push_back(cost);
  ok(w.moves_beside ? model.AddGoal(moves, {.priority = 2, .weight = kMoveWeight})
                    : moves.AddTo(model, {.level = kMovementLevel}));
}

// By the words of the rules alone.
class Pricer {
 public:
  explicit Pricer(const Drawn& drawn) : p_(drawn.problem), w_(drawn.wishes) {}

  Score Of(const Places& places) const {
    Score score;
    score[kConstraintLevel] = OverCapacity(places) + Exclusion(places) + Company(places);
    if (w_.least > 0) score[kConstraintLevel] += Lacking(places, w_.least, kServers);
    score[GoalLevel(1)] = Lacking(places, w_.wished, kRacks);
    for (int s = 0; s < kServers; ++s) {
      if (std::count(places.begin(), places.end(), s) > 0) {
        score[GoalLevel(2)] += w_.server_cost[static_cast<size_t>(s)];
      }
    }
    const double moves = Moves(places);
    score[w_.moves_beside ? GoalLevel(2) : kMovementLevel] +=
        w_.moves_beside ? kMoveWeight * moves : moves;
    return score;
  }

 private:
  double Load(const Places& places, int domain, int domains) const {
    double load = 0;
    for (int o = 0; o < kObjects; ++o) {
      if (places[static_cast<size_t>(o)] % domains == domain)
        load += p_.load[static_cast<size_t>(o)];
    }
    return load;
  }
  double Capacity(int domain, int domains) const {
    double capacity = 0;
    for (int s = domain; s < kServers; s += domains) {
      capacity += static_cast<double>(p_.capacity[static_cast<size_t>(s)]);
    }
    return capacity;
  }
  double OverCapacity(const Places& places) const {
    double cost = 0;
    for (int s = 0; s < kServers; ++s) {
      const double capacity = Capacity(s, kServers);
      cost += std::max(0.0, Load(places, s, kServers) - capacity) / capacity;
    }
    return cost;
  }
  // (Four servers, two racks: the domain of a server is its number modulo that of the domains.)
  double Lacking(const Places& places, double least, int domains) const {
    double missing = 0;
    double capacity = 0;
    for (int d = 0; d < domains; ++d) {
      capacity += Capacity(d, domains);
      missing +=
          std::max(0.0, std::ceil(least * Capacity(d, domains) - 1e-6) - Load(places, d, domains));
    }
    return missing / (capacity / domains);
  }
  int Count(const Places& places, int group, int domain, int domains) const {
    int count = 0;
    for (int o = 0; o < kObjects; ++o) {
      count += w_.group_of[static_cast<size_t>(o)] == group &&
               places[static_cast<size_t>(o)] % domains == domain;
    }
    return count;
  }
  double Exclusion(const Places& places) const {
    int above = 0;
    for (size_t g = 0; g < w_.most_of_group.size(); ++g) {
      for (int s = 0; s < kServers; ++s) {
        above += std::max(0, Count(places, static_cast<int>(g), s, kServers) - w_.most_of_group[g]);
      }
    }
    return above;
  }
  double Company(const Places& places) const {
    const int domains = w_.company_scope == 0 ? kServers : kRacks;
    int above = 0;
    for (const Limit& l : w_.limits) {
      for (int d = 0; d < domains; ++d) {
        if (Count(places, l.group, d, domains) == 0) continue;
        above += std::max(0, Count(places, l.with, d, domains) - l.most);
      }
    }
    return above;
  }
  double Moves(const Places& places) const {
    double cost = 0;
    for (size_t o = 0; o < kObjects; ++o) {
      const auto start = [&](size_t i) { return static_cast<int>(p_.start[ObjectId(i)].index()); };
      if (places[o] == start(o)) continue;
      double one = w_.move_cost[o];
      for (size_t i = 0; i < kObjects; ++i) {
        if (w_.group_of[i] == w_.group_of[o] && start(i) == places[o]) one *= 0.1;
      }
      cost += one;
    }
    return cost;
  }

  const Problem& p_;
  const Wishes& w_;
};

Score Cheapest(const Pricer& pricer) {
  Places places(kObjects, 0);
  Score best = pricer.Of(places);
  for (;;) {
    size_t o = 0;
    while (o < kObjects && ++places[o] == kServers) places[o++] = 0;
    if (o == kObjects) return best;
    const Score score = pricer.Of(places);
    if (score.BetterThan(best)) best = score;
  }
}

TEST(LanguageTest, EveryPlacementCostsWhatTheWordsOfItsRulesSay) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Drawn drawn = Draw(seed);
    Model model(drawn.problem);
    AddWishes(drawn, model);
    const Pricer pricer(drawn);
    State state(model);
    Random random(seed);
    for (int i = 0; i < 50; ++i) {
      Places places;
      for (uint32_t o = 0; o < kObjects; ++o) {
        places.push_back(static_cast<int>(random.Below(kServers)));
        state.Move(ObjectId(o), ContainerId(static_cast<size_t>(places.back())));
      }
      const Score priced = pricer.Of(places);
      const Score total = state.Total();
      for (int l = 0; l < kLevels; ++l) {
        ASSERT_NEAR(total[l], priced[l], 1e-9) << "seed " << seed << ", level " << l;
      }
    }
  }
}

TEST(LanguageTest, TheSearchFindsTheBestPlan) {
  int feasible = 0;
  int proved = 0;
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    const Drawn drawn = Draw(seed);
    Model model(drawn.problem);
    AddWishes(drawn, model);
    Portfolio search(model, {.seed = seed});
    const Outcome outcome = Improve(search, {.budget = {.steps = 30'000}});
    const Score found = search.BestScore();
    const Score best = Cheapest(Pricer(drawn));
    feasible += best[kConstraintLevel] <= kTolerance;
    proved += outcome.fewest_moves;
    for (int l = 0; l < kLevels; ++l) {
      ASSERT_NEAR(found[l], best[l], 1e-9) << "seed " << seed << ", level " << l;
    }
  }
  EXPECT_GT(feasible, 60);
  EXPECT_GT(proved, 0) << "that moves are as cheap as can be";
}

}  // namespace
}  // namespace shardmanager::solver
