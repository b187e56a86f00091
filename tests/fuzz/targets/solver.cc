// Small problems of the generic solver, of any shape and with any mix of specs: no crash,
// no endless loop, never a worse state than the start, and a score that is true.
#include <cmath>
#include <string>
#include <vector>

#include "allocator/solver/search.h"
#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::solver {
namespace {

constexpr const char* kScopes[] = {"server", "rack", "region"};
constexpr const char* kMetrics[] = {"cpu", "memory"};

Problem NextProblem(fuzz::FuzzInput& input) {
  SmallFleet fleet({"cpu", "memory"});
  const uint32_t servers = 1 + input.Below(6);
  for (uint32_t s = 0; s < servers; ++s) {
    const auto capacity = static_cast<Amount>(input.Number() % 1'000'000'000'000);
    fleet.ServerOf({capacity, input.Byte()}, input.Below(3), input.Below(2));
    if (input.Below(8) == 0) fleet.Closed();
  }
  const uint32_t groups = input.Below(10);
  for (uint32_t g = 0; g < groups; ++g) {
    std::vector<Item> items(1 + input.Below(3));
    for (Item& item : items) {
      item.load = {static_cast<Load>(input.Number() % 2'000'000'000), input.Byte()};
      item.start = static_cast<int>(input.Below(servers + 1)) - 1;
    }
    fleet.Group(items);
    if (input.Below(8) == 0) fleet.Pinned();
  }
  return fleet.Make();
}

const char* NextScope(fuzz::FuzzInput& input) { return kScopes[input.Below(3)]; }
const char* NextMetric(fuzz::FuzzInput& input) { return kMetrics[input.Below(2)]; }

AffinitySpec NextAffinity(fuzz::FuzzInput& input, const Problem& problem) {
  AffinitySpec spec{.scope = "region", .domain = {}, .objects_of_group = {}};
  for (uint32_t g = 0; g < problem.groups(); ++g) {
    spec.domain.push_back(input.Flag() ? DomainId(0) : DomainId());
  }
  return spec;
}

// Some are refused, for example when a number is out of its range: that is fine.
void AddSpec(fuzz::FuzzInput& input, Model& model) {
  const auto add = [&](const auto& spec) {
    if (input.Flag()) return model.AddConstraint(spec).ok();
    return model
        .AddGoal(spec,
                 {.priority = static_cast<int>(1 + input.Below(8)), .weight = 1.0 + input.Below(3)})
        .ok();
  };
  switch (input.Below(7)) {
    case 0:
      add(CapacitySpec{.scope = NextScope(input), .metric = NextMetric(input)});
      return;
    case 1:
      add(UtilizationSpec{.scope = NextScope(input), .metric = NextMetric(input)});
      return;
    case 2:
      add(BalanceSpec{.scope = NextScope(input), .metric = NextMetric(input)});
      return;
    case 3:
      add(ExclusionSpec{.scope = NextScope(input), .most = input.Below(3)});
      return;
    case 4:
      add(SpreadSpec{.scope = NextScope(input), .least = input.Below(4)});
      return;
    case 5:
      add(DrainSpec{.containers = {ContainerId(0)}});
      return;
    default:
      add(NextAffinity(input, model.problem()));
  }
}

SearchOptions NextOptions(fuzz::FuzzInput& input) {
  const uint8_t bits = input.Byte();
  return {.seed = input.Byte(),
          .step_budget = 3'000,
          .most_moves = (bits & 32) != 0 ? input.Byte() : UINT32_MAX,
          .grouped_targets = (bits & 1) == 0,
          .large_first = (bits & 2) == 0,
          .batches = (bits & 4) == 0,
          .equivalence = (bits & 8) == 0,
          .emergency = (bits & 16) != 0};
}

// What the places cost, counted from the start.
Score PriceOf(const Model& model, const Table<ObjectId, ContainerId>& where) {
  State state(model);
  for (uint32_t i = 0; i < where.size(); ++i) {
    const ObjectId o(i);
    if (where[o] != state.where(o)) state.Move(o, where[o]);
  }
  return state.Total();
}

void CheckPlaces(const Problem& problem, const Table<ObjectId, ContainerId>& where) {
  SM_CHECK(where.size() == problem.objects, "each object has a place");
  for (uint32_t i = 0; i < where.size(); ++i) {
    const ObjectId o(i);
    const bool moved = where[o] != problem.start[o];
    SM_CHECK(!moved || problem.pinned.empty() || !problem.pinned[o] || !problem.start[o].valid(),
             "what is pinned stays");
    SM_CHECK(!moved || !where[o].valid() || problem.closed.empty() || !problem.closed[where[o]],
             "nothing goes where nothing may go");
    SM_CHECK(!problem.start[o].valid() || where[o].valid(), "what stood is not taken down");
  }
}

}  // namespace

SM_FUZZ_TARGET(solver) {
  const Problem problem = NextProblem(input);
  Model model(problem);
  const uint32_t specs = input.Below(8);
  for (uint32_t i = 0; i < specs; ++i) AddSpec(input, model);
  const SearchOptions options = NextOptions(input);
  const Score start = State(model).Total();
  Search search(model, options);
  search.Descend();
  if (input.Flag()) search.Anneal({.steps = 200});
  const Score best = search.BestScore();
  SM_CHECK(!start.BetterThan(best), "never worse than the start");
  CheckPlaces(problem, search.Where());
  const Score priced = PriceOf(model, search.Where());
  for (int l = 0; l < kLevels; ++l) {
    SM_CHECK(std::abs(priced[l] - best[l]) <= 1e-6 * (1 + std::abs(best[l])), "the score is true");
  }
}

}  // namespace shardmanager::solver
