#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "allocator/placer/placer.h"
#include "allocator/roadef/challenge.h"
#include "allocator/solver/anytime/improve.h"
#include "cli/commands/commands.h"
#include "cli/commands/place_progress.h"
#include "cli/commands/place_report.h"
#include "cli/render.h"
#include "cli/text_file.h"
#include "cli/yaml/proto_to_text.h"
#include "cli/yaml/yaml_to_proto.h"
#include "runtime/fork_join.h"
#include "runtime/stopwatch.h"

namespace shardmanager::cli {
namespace {

// The challenge starts from a valid placement; annealing does the work.
constexpr uint64_t kRoadefDescentSteps = 100'000;

// A bar on the standard error, where a person watches; gone at the end.
class ProgressBar {
 public:
  ProgressBar(Terminal& terminal, bool wanted)
      : terminal_(terminal), wanted_(wanted && terminal.interactive) {}
  ~ProgressBar() {
    if (shown_ >= 0) *terminal_.err << "\r" << std::string(60, ' ') << "\r" << std::flush;
  }
  void Show(double part) {
    const int percent = static_cast<int>(part * 100);
    if (!wanted_ || percent == shown_) return;
    shown_ = percent;
    *terminal_.err << "\rLooking for better plans " << ProgressText(part) << std::flush;
  }

 private:
  Terminal& terminal_;
  const bool wanted_;
  int shown_ = -1;
};

solver::Budget BudgetOf(const PlaceCommand& command) {
  solver::Budget budget;
  if (command.steps > 0) budget.steps = command.steps;
  if (command.time.count() > 0) budget.seconds = static_cast<double>(command.time.count()) * 1e-3;
  if (command.cpu_time.count() > 0) {
    budget.cpu_seconds = static_cast<double>(command.cpu_time.count()) * 1e-3;
  }
  return budget;
}

// The number of cores decides only where the clock ends the search: such a plan differs from
// machine to machine in any case.
constexpr uint32_t kMostThreadsUnasked = 8;

solver::PortfolioOptions SearchesOf(const PlaceCommand& command) {
  solver::PortfolioOptions options{
      .seed = command.seed, .searches = command.threads, .do_all = ForkJoin};
  const bool only_time = command.steps == 0 && command.cpu_time.count() == 0;
  if (options.searches == 0) {
    options.searches =
        only_time ? std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreadsUnasked) : 1;
  }
  return options;
}

// Runs a search within the command's budget, and shows how far it is.
class Watched {
 public:
  Watched(const PlaceCommand& command, const Stopwatch& watch, Terminal& terminal)
      : command_(command),
        watch_(watch),
        bar_(terminal, !command.progress),
        curve_(command.progress ? terminal.err : nullptr) {}

  // `improve` is told what the search is to be told.
  template <typename ImproveWith>
  void Run(const solver::Portfolio& portfolio, ImproveWith improve) {
    levels_ = solver::LevelsInUse(portfolio.state());
    improve(solver::ImproveOptions{
        .budget = BudgetOf(command_),
        .clocks = [this] { return Now(); },
        .go_on =
            [&](const solver::Spent& spent, double part) {
              bar_.Show(part);
              if (curve_.Due(spent, part)) curve_.Show(spent, part, PlanOf(portfolio));
              return true;
            },
    });
    curve_.Show(Now(), 1, PlanOf(portfolio));
  }

 private:
  solver::Spent Now() const {
    return {.seconds = watch_.seconds(), .cpu_seconds = watch_.cpu_seconds()};
  }
  PlanSoFar PlanOf(const solver::Portfolio& portfolio) const {
    return {.score = portfolio.BestScore(), .levels = levels_, .moves = portfolio.Moves()};
  }

  const PlaceCommand& command_;
  const Stopwatch& watch_;
  ProgressBar bar_;
  Curve curve_;
  std::vector<bool> levels_;
};

bool IsFile(const PlaceCommand& command) {
  return command.output != "text" && command.output != "json" && command.output != "yaml" &&
         command.output != "-";
}

absl::StatusOr<v1::PlacementProblem> ReadProblem(const TextFile& file, size_t* document) {
  auto documents = ReadYaml(file.text, file.name, v1::PlacementProblem());
  if (!documents.ok()) return documents.status();
  if (documents->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, ": found ", documents->size(), " documents; allowed: one problem"));
  }
  *document = documents->front().index;
  v1::PlacementProblem problem;
  problem.GetReflection()->Swap(&problem, documents->front().message.get());
  return problem;
}

ExitCode ShowPlan(const PlaceCommand& command, const v1::PlacementProblem& problem,
                  const placer::Placer& placer, Terminal& terminal) {
  const v1::PlaceResponse plan = placer.Answer();
  const ExitCode code = plan.feasible() ? kOk : kRefused;
  if (command.output == "json" || command.output == "yaml") {
    *terminal.out << (command.output == "json" ? ToJson(plan) : ToYaml(plan));
    return code;
  }
  const bool moves_priced =
      std::any_of(problem.shards().begin(), problem.shards().end(),
                  [](const v1::PlacerShard& shard) { return shard.has_move_cost(); });
  *terminal.out << PlanText(plan, terminal.colour) << OutcomeText(placer.outcome(), moves_priced);
  if (command.dry_run) *terminal.out << MovesText(plan, terminal.colour);
  if (!IsFile(command) || command.dry_run) return code;
  const absl::Status written = WriteTextFile(command.output, ToYaml(After(problem, plan)));
  if (!written.ok()) return Wrong(written, terminal);
  *terminal.out << "Written to " << command.output << ".\n";
  return code;
}

ExitCode PlaceYaml(const PlaceCommand& command, Terminal& terminal) {
  const Stopwatch watch;
  if (command.files.size() != 1) {
    return Wrong(absl::InvalidArgumentError(absl::StrCat("place: found ", command.files.size(),
                                                         " files; allowed: one problem")),
                 terminal);
  }
  const auto file = ReadTextFile(command.files.front(), terminal);
  if (!file.ok()) return Wrong(file.status(), terminal);
  size_t document = 0;
  const auto problem = ReadProblem(*file, &document);
  if (!problem.ok()) {
    *terminal.err << std::string(problem.status().message()) << "\n";
    return kUsage;
  }
  auto placer = placer::Placer::Make(*problem, SearchesOf(command));
  if (!placer.ok()) {
    *terminal.err << WithPlaces(std::string(placer.status().message()), file->text, file->name,
                                v1::PlacementProblem(), document);
    return kUsage;
  }
  Watched(command, watch, terminal).Run((*placer)->portfolio(), [&](const auto& options) {
    (*placer)->Improve(options);
  });
  return ShowPlan(command, *problem, **placer, terminal);
}

// --- The ROADEF challenge ------------------------------------------------------------

struct Solved {
  std::string assignment;
  double before = 0;
  double after = 0;
  bool valid = false;
  std::string said;  // of the search
};

absl::StatusOr<Solved> Solve(const std::string& model, const std::string& assignment,
                             const PlaceCommand& command, Terminal& terminal) {
  const Stopwatch watch;
  const auto posed = roadef::ParseInstance(model, assignment);
  if (!posed.ok()) return posed.status();
  const auto challenge = roadef::Challenge::Make(*posed);
  if (!challenge.ok()) return challenge.status();
  Solved solved;
  solved.before = roadef::Challenge::CostOf(solver::State((*challenge)->model()).Total());
  solver::Portfolio portfolio((*challenge)->model(), SearchesOf(command));
  solver::Outcome outcome;
  Watched(command, watch, terminal).Run(portfolio, [&](solver::ImproveOptions options) {
    options.descent_steps = kRoadefDescentSteps;
    outcome = solver::Improve(portfolio, options);
  });
  solved.said = OutcomeText(outcome, true);
  solved.assignment = (*challenge)->ToText(portfolio.Where());
  solved.after = roadef::Challenge::CostOf(portfolio.BestScore());
  solved.valid = portfolio.BestScore()[solver::kConstraintLevel] <= solver::kTolerance;
  return solved;
}

ExitCode PlaceRoadef(const PlaceCommand& command, Terminal& terminal) {
  if (command.files.size() != 2 || command.output == "json" || command.output == "yaml") {
    return Wrong(
        absl::InvalidArgumentError(
            "place --format=roadef: allowed: two files, model and assignment, and -o FILE"),
        terminal);
  }
  const auto model = ReadTextFile(command.files[0], terminal);
  if (!model.ok()) return Wrong(model.status(), terminal);
  const auto assignment = ReadTextFile(command.files[1], terminal);
  if (!assignment.ok()) return Wrong(assignment.status(), terminal);
  const auto solved = Solve(model->text, assignment->text, command, terminal);
  if (!solved.ok()) return Wrong(solved.status(), terminal);
  *terminal.err << absl::StrFormat("cost %.0f, was %.0f; every constraint %s\n", solved->after,
                                   solved->before, solved->valid ? "holds" : "does NOT hold")
                << solved->said;
  if (!IsFile(command)) *terminal.out << solved->assignment;
  if (IsFile(command) && !command.dry_run) {
    const absl::Status written = WriteTextFile(command.output, solved->assignment);
    if (!written.ok()) return Wrong(written, terminal);
  }
  return solved->valid ? kOk : kRefused;
}

}  // namespace

ExitCode Place(const PlaceCommand& command, Terminal& terminal) {
  return command.roadef ? PlaceRoadef(command, terminal) : PlaceYaml(command, terminal);
}

}  // namespace shardmanager::cli
