// scripts/bench roadef [--set a|b] [--seconds 60] [--steps 0] [--instances a1_1,a2_4] [--seed 1]
// [--curve 1,5,20]: a set of the ROADEF/EURO 2012 challenge through the generic specs, one core, so
// many seconds of processor time or steps each, judged by a checker that knows nothing of the
// solver. The files are read from SM_ROADEF_DIR or from ../shared/data/roadef beside the source
// tree.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "allocator/roadef/challenge.h"
#include "allocator/solver/anytime/improve.h"
#include "tests/allocator/roadef_checker.h"
#include "tests/allocator/roadef_files.h"

namespace shardmanager::roadef {
namespace {

// Of this thread's own processor time: what else the machine does is not in the figures.
double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The annealing does the work; the descent only takes what lies on the way.
constexpr uint64_t kDescentSteps = 100'000;

struct Options {
  double seconds = 60;
  std::string set = "a";
  std::string instances;  // of the set; "": all
  uint64_t seed = 1;
  uint64_t steps = 0;  // 0: `seconds` instead
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

Result RunOne(const Published& published, const std::string& folder, const Options& options) {
  const std::string model = ReadText(ModelPath(folder, published.name));
  const std::string original = ReadText(AssignmentPath(folder, published.name));
  const auto start = Now();
  const auto instance = ParseInstance(model, original);
  const auto challenge = instance.ok() ? Challenge::Make(*instance) : instance.status();
  if (!challenge.ok()) {
    std::fprintf(stderr, "error: %s: %s\n", published.name, challenge.status().ToString().c_str());
    std::exit(1);
  }
  solver::Search search((*challenge)->model(), {.seed = options.seed});
  solver::ImproveOptions improve{.descent_steps = kDescentSteps};
  if (options.steps > 0) {
    improve.budget.steps = options.steps;
  } else {
    improve.budget.cpu_seconds = options.seconds;
  }
  const auto judge = [&] { return Judge(model, original, (*challenge)->ToText(search.Where())); };
  Curve curve(published, options.curve, judge);
  improve.clocks = [&] { return solver::Spent{.cpu_seconds = Now() - start - curve.seconds()}; };
  improve.go_on = [&](const solver::Spent& spent, double) {
    curve.Look(spent.cpu_seconds);
    return true;
  };
  solver::Improve(search, improve);
  Result result;
  result.seconds = Now() - start - curve.seconds();
  const Verdict verdict = judge();
  result.valid = verdict.broken.empty();
  result.cost = verdict.cost;
  result.gap_pct = GapPct(verdict.cost, published);
  result.steps_per_s = static_cast<double>(search.steps()) / result.seconds;
  std::printf("%-6s %12ld %12ld %12ld %8.3f %6.2f %7.1f  %s%s\n", published.name,
              published.original, published.reference, result.cost, result.gap_pct,
              result.steps_per_s / 1e6, result.seconds,
              result.valid ? "valid" : "BROKEN: ", verdict.broken.c_str());
  std::fflush(stdout);
  return result;
}

bool Wanted(const std::string& list, const std::string& name) {
  return list.empty() || ("," + list + ",").find("," + name + ",") != std::string::npos;
}

int RunAll(const Options& options) {
  const std::string folder = Folder(SM_SOURCE_DIR);
  if (folder.empty()) {
    std::fprintf(stderr, "error: the challenge's files are not there: set SM_ROADEF_DIR\n");
    return 1;
  }
  std::printf("%-6s %12s %12s %12s %8s %6s %7s\n", "", "original", "reference", "cost", "gap %",
              "M/s", "s");
  double gap = 0, steps = 0, seconds = 0, worst = -100;
  int runs = 0, invalid = 0;
  for (const Published& published : Instances(options.set)) {
    if (!Wanted(options.instances, published.name)) continue;
    const Result result = RunOne(published, folder, options);
    ++runs;
    invalid += !result.valid;
    gap += result.gap_pct;
    worst = std::max(worst, result.gap_pct);
    steps += result.steps_per_s;
    seconds = std::max(seconds, result.seconds);
  }
  if (runs == 0) {
    std::fprintf(stderr, "error: no such instance: %s\n", options.instances.c_str());
    return 2;
  }
  const bool is_b = options.set == "b";
  std::printf("FIGURE %s %.3f %%\n", is_b ? "roadef_b_gap_pct" : "roadef_gap_pct", gap / runs);
  std::printf("FIGURE %s %.3f %%\n", is_b ? "roadef_b_worst_pct" : "roadef_worst_gap_pct", worst);
  std::printf("FIGURE roadef_invalid %d solutions\n", invalid);
  std::printf("FIGURE roadef_msteps_s %.2f M/s\n", steps / runs / 1e6);
  std::printf("FIGURE roadef_seconds %.1f s\n", seconds);
  return invalid == 0 ? 0 : 1;
}

int Usage() {
  std::fprintf(stderr,
               "usage: bench_roadef [--set a|b] [--seconds 60] [--steps 0] [--instances a1_1,a2_4] "
               "[--seed 1] [--curve 1,5,20]\n");
  return 2;
}

}  // namespace

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const char* value = argv[i + 1];
    if (flag == "--seconds") {
      options.seconds = std::atof(value);
    } else if (flag == "--set") {
      options.set = value;
    } else if (flag == "--instances") {
      options.instances = value;
    } else if (flag == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (flag == "--steps") {
      options.steps = std::strtoull(value, nullptr, 10);
    } else if (flag == "--curve") {
      for (const std::string& second : std::vector<std::string>(absl::StrSplit(value, ','))) {
        options.curve.push_back(std::atof(second.c_str()));
      }
    } else {
      return Usage();
    }
  }
  if (argc % 2 == 0 || !(options.seconds > 0)) return Usage();
  return RunAll(options);
}

}  // namespace shardmanager::roadef

int main(int argc, char** argv) { return shardmanager::roadef::Main(argc, argv); }
