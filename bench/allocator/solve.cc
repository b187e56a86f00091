#include "solve.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace shardmanager::bench {
namespace {

using solver::ContainerId;
using solver::GroupId;
using solver::ObjectId;
using solver::Score;

bool Pays(const Score& score) {
  for (int l = 0; l < solver::kMovementLevel; ++l) {
    if (score[l] > solver::kTolerance) return true;
  }
  return false;
}

uint32_t CountViolations(const solver::State& state) {
  uint32_t violations = 0;
  for (uint32_t c = 0; c < state.problem().containers; ++c) {
    violations += Pays(state.LoadCost(ContainerId(c)));
  }
  for (uint32_t g = 0; g < state.problem().groups(); ++g) {
    violations += Pays(state.GroupCost(GroupId(g)));
  }
  return violations;
}

}  // namespace

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

SolveResult SolvePlacement(const allocator::PlacementInput& input,
                           const solver::SearchOptions& options) {
  SolveResult r;
  double at = CpuSeconds();
  const auto placement = allocator::PlacementModel::Make(input);
  if (!placement.ok()) {
    std::fprintf(stderr, "%s\n", placement.status().ToString().c_str());
    std::exit(1);
  }
  solver::Search search((*placement)->model(), options);
  r.build_s = CpuSeconds() - at;
  at = CpuSeconds();
  r.finished = search.Descend();
  r.solve_s = CpuSeconds() - at;
  r.steps = search.steps();
  r.moves = search.state().moved();
  r.violations = CountViolations(search.state());
  for (uint32_t i = 0; i < input.replicas(); ++i) {
    const ContainerId at_server = search.state().where(ObjectId(i));
    r.server_of.push_back(at_server.valid() ? at_server.index() : allocator::kNowhere);
  }
  return r;
}

}  // namespace shardmanager::bench
