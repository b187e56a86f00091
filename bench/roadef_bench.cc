// scripts/bench roadef: a set of the ROADEF/EURO 2012 challenge through the generic specs, so many
// seconds of processor time or steps each, judged by a checker that knows nothing of the solver.
// The files are read from SM_ROADEF_DIR or from ../shared/data/roadef beside the source tree.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/roadef/challenge.h"
#include "allocator/solver/anytime/improve.h"
#include "runtime/fork_join.h"
#include "tests/allocator/roadef_checker.h"
#include "tests/allocator/roadef_files.h"

namespace shardmanager::roadef {
namespace {

// Of this process's own processor time: what else the machine does is not in the figures.
double Now() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The annealing does the work; the descent only takes what lies on the way.
constexpr uint64_t kDescentSteps = 100'000;

struct Options {
  double seconds = 60;  // for each thread
  uint64_t steps = 0;   // instead of `seconds`, for all threads together; 0: none
  uint32_t threads = 1;
  std::string set = "a";
  std::vector<std::string> instances;  // of the set; none: all
  uint64_t seed = 1;
  uint32_t seeds = 1;  // so many, from `seed` on
  // After so many seconds the best so far is judged, too, ascending.
  std::vector<double> curve;
};

struct Result {
  bool valid = false;
  int64_t cost = 0;
  double gap_pct = 0;
  double steps_per_s = 0;
  double seconds = 0;
};

double GapPct(int64_t cost, const Published& published) {
  return 100.0 * static_cast<double>(cost - published.reference) /
         static_cast<double>(published.original);
}

// Judges the best so far at the moments that are asked for. What that takes does not count.
class Curve {
 public:
  using JudgeNow = std::function<Verdict()>;
  Curve(const Published& published, std::vector<double> moments, JudgeNow judge)
      : published_(published), moments_(std::move(moments)), judge_(std::move(judge)) {}

  double seconds() const { return seconds_; }
  void Look(double spent) {
    if (next_ == moments_.size() || spent < moments_[next_]) return;
    while (next_ < moments_.size() && spent >= moments_[next_]) ++next_;
    const double start = Now();
    const Verdict verdict = judge_();
    std::printf("CURVE %-6s %6.1f s %8.3f %%%s\n", published_.name, spent,
                GapPct(verdict.cost, published_), verdict.broken.empty() ? "" : "  broken");
    std::fflush(stdout);
    seconds_ += Now() - start;
  }

 private:
  const Published& published_;
  const std::vector<double> moments_;
  const JudgeNow judge_;
  size_t next_ = 0;
  double seconds_ = 0;
};

Result RunOne(const Published& published, uint64_t seed, const std::string& folder,
              const Options& options) {
  const std::string model = ReadText(ModelPath(folder, published.name));
  const std::string original = ReadText(AssignmentPath(folder, published.name));
  const auto start = Now();
  const auto instance = ParseInstance(model, original);
  const auto challenge = instance.ok() ? Challenge::Make(*instance) : instance.status();
  if (!challenge.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", published.name, challenge.status().ToString().c_str());
    std::exit(1);
  }
  solver::Portfolio portfolio((*challenge)->model(),
                              {.seed = seed, .searches = options.threads, .do_all = ForkJoin});
  solver::ImproveOptions improve{.descent_steps = kDescentSteps};
  if (options.steps > 0) {
    improve.budget.steps = options.steps;
  } else {
    improve.budget.cpu_seconds = options.seconds * options.threads;
  }
  const auto judge = [&] {
    return Judge(model, original, (*challenge)->ToText(portfolio.Where()));
  };
  Curve curve(published, options.curve, judge);
  improve.clocks = [&] { return solver::Spent{.cpu_seconds = Now() - start - curve.seconds()}; };
  improve.go_on = [&](const solver::Spent& spent, double) {
    curve.Look(spent.cpu_seconds);
    return true;
  };
  solver::Improve(portfolio, improve);
  Result result;
  result.seconds = Now() - start - curve.seconds();
  const Verdict verdict = judge();
  result.valid = verdict.broken.empty();
  result.cost = verdict.cost;
  result.gap_pct = GapPct(verdict.cost, published);
  result.steps_per_s = static_cast<double>(portfolio.steps()) / result.seconds;
  std::printf("%-6s %12ld %12ld %12ld %8.3f %6.2f %7.1f  %s%s\n", published.name,
              published.original, published.reference, result.cost, result.gap_pct,
              result.steps_per_s / 1e6, result.seconds,
              result.valid ? "valid" : "BROKEN: ", verdict.broken.c_str());
  std::fflush(stdout);
  return result;
}

// Of several numbers.
class Sample {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
    most_ = std::max(most_, value);
  }
  int count() const { return count_; }
  double mean() const { return sum_ / count_; }
  double most() const { return most_; }
  double deviation() const {
    if (count_ < 2) return 0;
    return std::sqrt(std::max(0.0, (squares_ - sum_ * mean()) / (count_ - 1)));
  }

 private:
  int count_ = 0;
  double sum_ = 0, squares_ = 0, most_ = -100;
};

bool Wanted(const Options& options, const std::string& name) {
  const auto& names = options.instances;
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

int RunAll(const Options& options) {
  const std::string folder = Folder(SM_SOURCE_DIR);
  if (folder.empty()) {
    std::fprintf(stderr, "error: the challenge's files are not there: set SM_ROADEF_DIR\n");
    return 1;
  }
  std::printf("%-6s %12s %12s %12s %8s %6s %7s\n", "", "original", "reference", "cost", "gap %",
              "M/s", "s");
  Sample gaps, steps, seconds, deviations;
  int invalid = 0;
  for (const Published& published : Instances(options.set)) {
    if (!Wanted(options, published.name)) continue;
    Sample of_seeds;
    for (uint64_t seed = options.seed; seed < options.seed + options.seeds; ++seed) {
      const Result result = RunOne(published, seed, folder, options);
      of_seeds.Add(result.gap_pct);
      gaps.Add(result.gap_pct);
      steps.Add(result.steps_per_s);
      seconds.Add(result.seconds);
      invalid += !result.valid;
    }
    deviations.Add(of_seeds.deviation());
    if (options.seeds == 1) continue;
    std::printf("SEEDS  %-6s mean %.3f %%, standard deviation %.3f, worst %.3f\n", published.name,
                of_seeds.mean(), of_seeds.deviation(), of_seeds.most());
    std::fflush(stdout);
  }
  if (gaps.count() == 0) {
    std::fprintf(stderr, "error: --instances names none of set %s\n", options.set.c_str());
    return 2;
  }
  const bool is_b = options.set == "b";
  std::printf("FIGURE %s %.3f %%\n", is_b ? "roadef_b_gap_pct" : "roadef_gap_pct", gaps.mean());
  std::printf("FIGURE %s %.3f %%\n", is_b ? "roadef_b_worst_pct" : "roadef_worst_gap_pct",
              gaps.most());
  if (options.seeds > 1) {
    std::printf("FIGURE %s %.3f %%\n", is_b ? "roadef_b_deviation_pct" : "roadef_deviation_pct",
                deviations.mean());
  }
  std::printf("FIGURE roadef_invalid %d solutions\n", invalid);
  std::printf("FIGURE roadef_msteps_s %.2f M/s\n", steps.mean() / 1e6);
  std::printf("FIGURE roadef_seconds %.1f s\n", seconds.most());
  return invalid == 0 ? 0 : 1;
}

}  // namespace

int Main(int argc, char** argv) {
  Options options;
  CLI::App cli("The ROADEF/EURO challenge 2012, with gaps to the best known costs.");
  cli.add_option("--set", options.set, "Of instances")
      ->check(CLI::IsMember({"a", "b"}))
      ->capture_default_str();
  cli.add_option("--instances", options.instances, "Only these; example: a1_1,a2_4")
      ->delimiter(',');
  cli.add_option("--seconds", options.seconds, "Processor time of each thread for an instance")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cli.add_option("--steps", options.steps, "Instead of --seconds: steps of all threads together");
  cli.add_option("--threads", options.threads, "Searches side by side; the best of them counts")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  cli.add_option("--seed", options.seed, "Of the random choices")->capture_default_str();
  cli.add_option("--seeds", options.seeds, "So many, from --seed on: mean and standard deviation")
      ->check(CLI::Range(1, 1'000))
      ->capture_default_str();
  cli.add_option("--curve", options.curve, "Judge after so many seconds, too; example: 1,5,20")
      ->delimiter(',');
  CLI11_PARSE(cli, argc, argv);
  return RunAll(options);
}

}  // namespace shardmanager::roadef

int main(int argc, char** argv) { return shardmanager::roadef::Main(argc, argv); }
