// bench_allocator --only steady: a day of diurnal load on 2,000 servers, solved every
// five minutes within a move budget (the paper's Figure 23).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <vector>

#include "base/random.h"
#include "problems.h"
#include "solve.h"

namespace shardmanager::bench {
namespace {

constexpr uint32_t kServers = 2'000;
constexpr uint32_t kShards = 60'000;
constexpr uint32_t kRegions = 3;
constexpr uint32_t kStepsPerHour = 12;
constexpr uint32_t kMoveBudget = 300;  // of one step
constexpr double kSwing = 0.45;        // of a shard's load, up and down over a day
constexpr double kNoise = 0.10;        // of a shard's load, from step to step
constexpr double kMeanLoad = 0.68;     // of all capacity, over the day

// Half of the users are in one region: the whole fleet has its day and night.
uint64_t RegionOfUsers(Random& random) {
  const double part = random.Fraction();
  return part < 0.5 ? 0 : part < 0.8 ? 1 : 2;
}

// A shard is busiest when the day is at its height where its users are; besides, its
// load wanders by itself.
class DayOfLoad {
 public:
  explicit DayOfLoad(const allocator::PlacementInput& in) : random_(7), base_(in.load) {
    for (uint32_t s = 0; s < in.shards(); ++s) {
      phase_.push_back(static_cast<double>(RegionOfUsers(random_)) / kRegions);
      drift_.push_back(0);
    }
  }

  void Fill(double hour, std::vector<double>& load) {
    for (size_t s = 0; s < phase_.size(); ++s) {
      drift_[s] = 0.9 * drift_[s] + 0.43 * kNoise * (2 * random_.Fraction() - 1) * 1.73;
      const double angle = 2 * std::numbers::pi * (hour / 24 - phase_[s]);
      load[s * 2] = base_[s * 2] * std::max(0.0, 1 + kSwing * std::sin(angle) + drift_[s]);
    }
  }

 private:
  Random random_;
  const std::vector<double> base_;
  std::vector<double> phase_;  // part of a day
  std::vector<double> drift_;
};

// Over the servers, of the first metric.
double P99(const allocator::PlacementInput& in, const std::vector<uint32_t>& server_of) {
  std::vector<double> used(in.servers.size(), 0);
  for (size_t r = 0; r < server_of.size(); ++r) used[server_of[r]] += in.load[r * 2];
  std::sort(used.begin(), used.end());
  return used[used.size() * 99 / 100];
}

// Shards prefer the region where most of their users are.
allocator::PlacementInput Fleet() {
  return RandomStart({.servers = kServers,
                      .shards = kShards,
                      .regions = kRegions,
                      .metrics = 2,
                      .load = kMeanLoad,
                      .skew = 10,
                      .preferences = 0.3});
}

}  // namespace

void SteadyState(const std::string& csv) {
  allocator::PlacementInput in = Fleet();
  DayOfLoad day(in);
  day.Fill(0, in.load);
  in.server_of = SolvePlacement(in).server_of;
  const std::vector<uint32_t> left_alone = in.server_of;
  std::ofstream out;
  if (!csv.empty()) out.open(csv);
  out << "hour,mean,p99,p99_left_alone,moves,solve_ms\n";
  double worst = 0;
  double worst_alone = 0;
  double slowest_s = 0;
  uint64_t moves = 0;
  uint32_t most_in_an_hour = 0;
  uint32_t in_this_hour = 0;
  for (uint32_t step = 1; step <= 24 * kStepsPerHour; ++step) {
    const double hour = static_cast<double>(step) / kStepsPerHour;
    day.Fill(hour, in.load);
    const double alone = P99(in, left_alone);
    const SolveResult r = SolvePlacement(in, {.seed = step, .most_moves = kMoveBudget});
    // What the servers saw: the load came before the moves.
    const double p99 = P99(in, in.server_of);
    in.server_of = r.server_of;
    double mean = 0;
    for (size_t i = 0; i < in.load.size(); i += 2) mean += in.load[i] / kServers;
    out << hour << "," << mean << "," << p99 << "," << alone << "," << r.moves << ","
        << r.total_s() * 1e3 << "\n";
    worst = std::max(worst, p99);
    worst_alone = std::max(worst_alone, alone);
    slowest_s = std::max(slowest_s, r.total_s());
    moves += r.moves;
    in_this_hour += r.moves;
    if (step % kStepsPerHour != 0) continue;
    std::printf("hour %2.0f: mean %.3f, P99 %.3f, left alone %.3f, %u moves\n", hour, mean, p99,
                alone, in_this_hour);
    most_in_an_hour = std::max(most_in_an_hour, in_this_hour);
    in_this_hour = 0;
  }
  std::printf("the threshold is %.2f\n", in.metrics[0].threshold);
  std::printf("FIGURE steady_p99_utilization %.4f\n", worst);
  std::printf("FIGURE steady_p99_left_alone %.4f\n", worst_alone);
  std::printf("FIGURE steady_moves_per_hour %.0f\n", static_cast<double>(moves) / 24);
  std::printf("FIGURE steady_most_moves_in_an_hour %u\n", most_in_an_hour);
  std::printf("FIGURE steady_slowest_solve_ms %.1f ms\n", slowest_s * 1e3);
}

}  // namespace shardmanager::bench
