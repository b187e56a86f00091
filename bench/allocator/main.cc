// scripts/bench allocator: the solver on problems from the literature's sizes, one core.
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>

#include "allocator/solver/search.h"
#include "balancing.h"
#include "problems.h"
#include "solve.h"

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

// In use by this process.
size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Result {
  size_t heap_bytes = 0;  // of problem, model and search, when it is solved
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
  const size_t heap_before = HeapBytes();
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
  r.heap_bytes = HeapBytes() - heap_before;
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
  double bytes_per_replica = 0;
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
    bytes_per_replica = static_cast<double>(r.heap_bytes) / replicas;  // of the largest
  }
  std::printf("FIGURE alloc_bytes_per_replica %.0f bytes\n", bytes_per_replica);
  std::printf("FIGURE alloc_violations_left %.0f\n", violations);
}

// What an emergency needs of a fleet: the shards that lost replicas, and what else the
// servers carry.
PlacementInput Lost(const PlacementInput& in, const std::function<bool(uint32_t)>& lost) {
  PlacementInput out;
  out.emergency = true;
  out.metrics = in.metrics;
  const size_t metrics = in.metrics.size();
  std::vector<uint32_t> position(in.servers.size(), allocator::kNowhere);
  for (uint32_t s = 0; s < in.servers.size(); ++s) {
    if (lost(s)) continue;
    position[s] = static_cast<uint32_t>(out.servers.size());
    out.servers.push_back(in.servers[s]);
  }
  out.capacity.assign(out.servers.size() * metrics, 1.0);
  out.other_load.assign(out.servers.size() * metrics, 0);
  for (uint32_t shard = 0; shard < in.shards(); ++shard) {
    const uint32_t begin = in.shard_begin[shard];
    const uint32_t end = in.shard_begin[shard + 1];
    bool whole = true;
    for (uint32_t r = begin; r < end; ++r) whole &= !lost(in.server_of[r]);
    for (uint32_t r = begin; r < end; ++r) {
      const double* load = &in.load[r * metrics];
      if (whole) {
        double* other = &out.other_load[position[in.server_of[r]] * metrics];
        for (size_t m = 0; m < metrics; ++m) other[m] += load[m];
        continue;
      }
      out.server_of.push_back(position[in.server_of[r]]);
      out.load.insert(out.load.end(), load, load + metrics);
    }
    if (whole) continue;
    out.shard_begin.push_back(out.replicas());
    if (!in.preferred_region.empty()) out.preferred_region.push_back(in.preferred_region[shard]);
  }
  return out;
}

void Emergency() {
  FleetShape shape{.servers = 5'000,
                   .shards = 125'000,
                   .replicas_per_shard = 3,
                   .regions = 3,
                   .load = 0.5,
                   .preferences = 0.4};
  PlacementInput in = RandomStart(shape);
  // Well placed before the loss.
  auto placement = PlacementModel::Make(in);
  Search search((*placement)->model(), {});
  search.Descend();
  for (uint32_t r = 0; r < in.replicas(); ++r) {
    in.server_of[r] = search.state().where(solver::ObjectId(r)).index();
  }
  const PlacementInput server = Lost(in, [](uint32_t s) { return s == 4'321; });
  Result best;
  for (int i = 0; i < 20; ++i) {
    const Result r = Solve(server, {.emergency = true});
    if (i == 0 || r.total_s() < best.total_s()) best = r;
  }
  Print("lost: one server", best);
  std::printf("FIGURE emergency_server_ms %.3f ms\n", best.total_s() * 1e3);
  const PlacementInput region = Lost(in, [&](uint32_t s) { return in.servers[s].region == 1; });
  const Result r = Solve(region, {.emergency = true});
  Print("lost: a region of three", r);
  std::printf("FIGURE emergency_region_s %.3f s\n", r.total_s());
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
  app.add_option("--only", only,
                 "One part: balance, scale, tight, emergency, small, moves, ablation, steady");
  std::string csv;
  app.add_option("--csv", csv, "Where `steady` writes the day, step by step");
  std::string problems;
  app.add_option("--write-problems", problems,
                 "A folder where `small` and `moves` write their problems");
  double seconds = 10;
  app.add_option("--seconds", seconds, "Processor time of each problem of `moves`");
  CLI11_PARSE(app, argc, argv);
  using namespace shardmanager::bench;
  if (only.empty() || only == "balance") BalanceOnly();
  if (only.empty() || only == "scale") Scale();
  if (only.empty() || only == "tight") Tight();
  if (only.empty() || only == "emergency") Emergency();
  if (only.empty() || only == "small") SmallProblems(problems);
  if (only.empty() || only == "moves") FewestMoves(problems, seconds);
  if (only.empty() || only == "ablation") Ablation();
  if (only.empty() || only == "steady") SteadyState(csv);
  return 0;
}
