// bench_allocator --only ablation: what each idea of the search is worth (the paper's
// Figure 22). Each is left out in turn, on the problem of `scale` with all its goals.
#include <cstdio>
#include <functional>
#include <vector>

#include "problems.h"
#include "solve.h"

namespace shardmanager::bench {
namespace {

using solver::SearchOptions;

// A search that does not end by itself is stopped at so many times the steps of the
// whole one.
constexpr uint64_t kMostTimesTheSteps = 40;

struct Variant {
  const char* name;
  std::function<void(SearchOptions&)> leave_out;
};

void Row(const Variant& variant, const char* size, const SolveResult& r, double whole_s) {
  std::printf("| %-17s | %-12s | %8.3f s | %6.1fx | %7.1f M | %7u | %6u | %s\n", variant.name, size,
              r.solve_s, r.solve_s / whole_s, static_cast<double>(r.steps) / 1e6, r.moves,
              r.violations, r.finished ? "" : "stopped");
  std::printf("FIGURE ablation_%s_%s_s %.3f s\n", variant.name, size, r.solve_s);
  std::printf("FIGURE ablation_%s_%s_violations %u\n", variant.name, size, r.violations);
  std::fflush(stdout);
}

}  // namespace

void Ablation() {
  const Variant variants[] = {
      {"whole", [](SearchOptions&) {}},
      {"grouped_targets", [](SearchOptions& o) { o.grouped_targets = false; }},
      {"large_first", [](SearchOptions& o) { o.large_first = false; }},
      {"batches", [](SearchOptions& o) { o.batches = false; }},
      {"equivalence", [](SearchOptions& o) { o.equivalence = false; }},
  };
  std::printf(
      "| without / with    | size         | solve      | times   | steps     | moves   | left   "
      "|\n");
  struct Size {
    const char* name;
    uint32_t servers;
    uint32_t replicas;
    double load;
    double skew;
    uint32_t replicas_per_shard = 3;
    uint32_t regions = 5;
    double preferences = 0.4;
  };
  // The problem of `scale`, one with little room and large shards, and balance alone.
  for (const Size& size : {Size{"75k", 1'000, 75'000, 0.7, 3}, Size{"375k", 5'000, 375'000, 0.7, 3},
                           Size{"375k_tight", 5'000, 375'000, 0.85, 20},
                           Size{"375k_balance", 5'000, 375'000, 0.8, 20, 1, 1, 0}}) {
    const allocator::PlacementInput in =
        RandomStart({.servers = size.servers,
                     .shards = size.replicas / size.replicas_per_shard,
                     .replicas_per_shard = size.replicas_per_shard,
                     .regions = size.regions,
                     .load = size.load,
                     .skew = size.skew,
                     .preferences = size.preferences});
    SolveResult whole;
    for (const Variant& variant : variants) {
      SearchOptions options;
      variant.leave_out(options);
      if (whole.steps > 0) options.step_budget = whole.steps * kMostTimesTheSteps;
      const SolveResult r = SolvePlacement(in, options);
      if (whole.steps == 0) whole = r;
      Row(variant, size.name, r, whole.solve_s);
    }
    // And what one more goal costs: no two servers share more than two shards.
    if (size.replicas_per_shard == 1) continue;
    allocator::PlacementInput parallel = in;
    parallel.most_shared_by_two_servers = 2;
    Row({"parallel_failover", {}}, size.name, SolvePlacement(parallel), whole.solve_s);
  }
}

}  // namespace shardmanager::bench
