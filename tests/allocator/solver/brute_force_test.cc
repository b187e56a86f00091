// The search against a solver that tries everything, on small random problems.
//
// As many as the allocator's promise names, in seconds; SM_BRUTE_FORCE_PROBLEMS=n runs n
// of them.
#include "tests/allocator/solver/brute_force.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "allocator/solver/search.h"

namespace shardmanager::solver {
namespace {

uint64_t Problems() {
  const char* given = std::getenv("SM_BRUTE_FORCE_PROBLEMS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 10'000;
}

Places PlacesOf(const Search& search) {
  Places places;
  for (ContainerId c : search.Where()) {
    places.push_back(c.valid() ? static_cast<int>(c.index()) : -1);
  }
  return places;
}

std::string Text(const Score& score) {
  std::string text;
  for (double l : score.level) text += std::to_string(l) + " ";
  return text;
}

// At the first level where they differ: no more than 2% above.
bool CloseTo(const Score& found, const Score& best) {
  for (int l = 0; l < kLevels; ++l) {
    if (found[l] <= best[l] + 1e-9) {
      if (found[l] < best[l] - 1e-9) return true;
      continue;
    }
    return found[l] <= best[l] * 1.02;
  }
  return true;
}

struct Outcome {
  Score found;   // by the search, as it prices it
  Score priced;  // the same, as the other solver does
  Score best;
};

Outcome Solve(uint64_t seed) {
  const RandomProblem p = MakeRandomProblem(seed);
  Model model(p.problem);
  AddWishes(p.wishes, model);
  Search search(model, {.seed = seed});
  search.Descend();
  return {search.BestScore(), PriceOf(p, PlacesOf(search)), PriceOf(p, BestPlaces(p))};
}

TEST(BruteForceTest, SearchIsFeasibleWhereItCanBeAndNeverTwoPercentWorseThanTheBest) {
  uint64_t feasible = 0;
  uint64_t not_best = 0;
  uint64_t bad = 0;
  for (uint64_t seed = 1; seed <= Problems(); ++seed) {
    const Outcome o = Solve(seed);
    for (int l = 0; l < kLevels; ++l) {
      ASSERT_NEAR(o.found[l], o.priced[l], 1e-6)
          << "prices differ: seed " << seed << ", level " << l;
    }
    if (o.best[kConstraintLevel] < kTolerance && o.best[kUnplacedLevel] < kTolerance) {
      ++feasible;
      if (o.found[kConstraintLevel] > kTolerance || o.found[kUnplacedLevel] > kTolerance) {
        ADD_FAILURE() << "not feasible: seed " << seed;
      }
    }
    not_best += o.best.BetterThan(o.found);
    if (CloseTo(o.found, o.best)) continue;
    if (++bad <= 5) {
      ADD_FAILURE() << "seed " << seed << "\n found " << Text(o.found) << "\n best  "
                    << Text(o.best);
    }
  }
  EXPECT_EQ(bad, 0u);
  RecordProperty("feasible", static_cast<int>(feasible));
  std::printf("%llu problems, %llu feasible, %llu not the best, %llu beyond 2%%\n",
              static_cast<unsigned long long>(Problems()),
              static_cast<unsigned long long>(feasible), static_cast<unsigned long long>(not_best),
              static_cast<unsigned long long>(bad));
}

}  // namespace
}  // namespace shardmanager::solver
