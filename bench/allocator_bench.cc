// scripts/bench allocator: the solver on problems from the literature's sizes, one core.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#include "allocator/solver/search.h"
#include "allocator_problems.h"

namespace shardmanager::bench {
namespace {

using allocator::PlacementInput;
using allocator::PlacementModel;
using solver::ContainerId;
using solver::Score;
using solver::Search;
using solver::SearchOptions;

// Of this process's core: what else the machine does is not counted.
double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Result {
  double build_s = 0;
  double solve_s = 0;
  uint32_t moves = 0;
  uint64_t steps = 0;
  Score before;
  Score after;
  uint32_t overloaded = 0;

  double total_s() const { return build_s + solve_s; }
};

Result Solve(const PlacementInput& input, const SearchOptions& options = {}) {
  Result r;
  double at = Seconds();
  auto placement = PlacementModel::Make(input);
  if (!placement.ok()) {
    std::cerr << placement.status() << "\n";
    std::exit(1);
  }
  Search search((*placement)->model(), options);
  r.build_s = Seconds() - at;
  r.before = search.BestScore();
  at = Seconds();
  search.Descend();
  r.solve_s = Seconds() - at;
  r.after = search.BestScore();
  r.steps = search.steps();
  r.moves = search.state().moved();
  for (uint32_t c = 0; c < input.servers.size(); ++c) {
    r.overloaded += search.state().Overloaded(ContainerId(c));
  }
  return r;
}

std::string Text(const Score& score) {
  std::string text;
  for (int l = 0; l < solver::kLevels - 1; ++l) {
    char cell[32];
    std::snprintf(cell, sizeof cell, "%s%.4g", l == 0 ? "" : " ", score[l]);
    text += cell;
  }
  return text;
}

void Print(const std::string& name, const Result& r) {
  std::printf(
      "%-28s build %.3f s, solve %.3f s, %u moves, %.1f M steps, %u servers over\n    before %s\n  "
      "  after  %s\n",
      name.c_str(), r.build_s, r.solve_s, r.moves, static_cast<double>(r.steps) / 1e6, r.overloaded,
      Text(r.before).c_str(), Text(r.after).c_str());
  std::fflush(stdout);
}

double Violations(const Result& r) {
  double sum = 0;
  for (int l = 0; l < solver::kMovementLevel; ++l) sum += r.after[l] > 1e-6;
  return sum;
}

void BalanceOnly() {
  double worst = 0;
  for (const auto& [servers, replicas] : std::vector<std::pair<uint32_t, uint32_t>>{
           {1'000, 75'000}, {5'000, 375'000}, {10'000, 1'000'000}}) {
    const PlacementInput in =
        RandomStart({.servers = servers, .shards = replicas, .regions = 1, .skew = 20});
    const Result r = Solve(in);
    Print("balance only " + std::to_string(replicas), r);
    const auto least = static_cast<double>(LeastMoves(in));
    std::printf("    least moves %.0f, ratio %.4f\n", least, r.moves / least);
    worst = std::max(worst, r.moves / least);
  }
  std::printf("FIGURE alloc_moves_ratio %.4f x\n", worst);
}

void Scale() {
  double violations = 0;
  for (const auto& [servers, replicas, name] :
       std::vector<std::tuple<uint32_t, uint32_t, const char*>>{
           {1'000, 75'000, "alloc_75k_s"},
           {5'000, 375'000, "alloc_375k_s"},
           {19'000, 2'600'000, "alloc_2600k_s"}}) {
    const PlacementInput in = RandomStart(
        {.servers = servers, .shards = replicas / 3, .replicas_per_shard = 3, .preferences = 0.4});
    const Result r = Solve(in);
    Print("all goals " + std::to_string(replicas), r);
    std::printf("FIGURE %s %.3f s\n", name, r.total_s());
    violations += Violations(r);
  }
  std::printf("FIGURE alloc_violations_left %.0f\n", violations);
}

void Tight() {
  double violations = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Result r = Solve(PlantedTight({.load = 0.88, .skew = 20, .seed = seed}));
    Print("tight " + std::to_string(seed), r);
    violations += r.overloaded;
  }
  std::printf("FIGURE alloc_tight_violations %.0f\n", violations);
}

}  // namespace
}  // namespace shardmanager::bench

int main(int argc, char** argv) {
  CLI::App app("Benchmarks of the allocator, on one core.");
  std::string only;
  app.add_option("--only", only, "One part: balance, scale, tight");
  CLI11_PARSE(app, argc, argv);
  using namespace shardmanager::bench;
  if (only.empty() || only == "balance") BalanceOnly();
  if (only.empty() || only == "scale") Scale();
  if (only.empty() || only == "tight") Tight();
  return 0;
}
