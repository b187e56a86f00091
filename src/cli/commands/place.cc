#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "allocator/placer/placer.h"
#include "allocator/roadef/challenge.h"
#include "cli/commands/commands.h"
#include "cli/commands/place_report.h"
#include "cli/render.h"
#include "cli/text_file.h"
#include "cli/yaml/proto_to_text.h"
#include "cli/yaml/yaml_to_proto.h"
#include "wire/place_for.h"

namespace shardmanager::cli {
namespace {

using std::chrono::steady_clock;

// The challenge starts from a valid placement; annealing does the work.
constexpr uint64_t kRoadefDescentSteps = 100'000;

// A bar on the standard error, where a person watches; gone at the end.
class ProgressBar {
 public:
  explicit ProgressBar(Terminal& terminal) : terminal_(terminal) {}
  ~ProgressBar() {
    if (shown_ >= 0) *terminal_.err << "\r" << std::string(60, ' ') << "\r" << std::flush;
  }
  // For PlaceFor: goes on always.
  bool Show(double part) {
    const int percent = static_cast<int>(part * 100);
    if (!terminal_.interactive || percent == shown_) return true;
    shown_ = percent;
    *terminal_.err << "\rLooking for better plans " << ProgressText(part) << std::flush;
    return true;
  }

 private:
  Terminal& terminal_;
  int shown_ = -1;
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
                  const v1::PlaceResponse& plan, Terminal& terminal) {
  const ExitCode code = plan.feasible() ? kOk : kRefused;
  if (command.output == "json" || command.output == "yaml") {
    *terminal.out << (command.output == "json" ? ToJson(plan) : ToYaml(plan));
    return code;
  }
  *terminal.out << PlanText(plan, terminal.colour);
  if (command.dry_run) *terminal.out << MovesText(plan, terminal.colour);
  if (!IsFile(command) || command.dry_run) return code;
  const absl::Status written = WriteTextFile(command.output, ToYaml(After(problem, plan)));
  if (!written.ok()) return Wrong(written, terminal);
  *terminal.out << "Written to " << command.output << ".\n";
  return code;
}

ExitCode PlaceYaml(const PlaceCommand& command, Terminal& terminal) {
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
  auto placer = placer::Placer::Make(*problem, wire::OptionsFor(command.time, command.seed));
  if (!placer.ok()) {
    *terminal.err << WithPlaces(std::string(placer.status().message()), file->text, file->name,
                                v1::PlacementProblem(), document);
    return kUsage;
  }
  {
    ProgressBar bar(terminal);
    wire::PlaceFor(**placer, command.time, [&](double part) { return bar.Show(part); });
  }
  return ShowPlan(command, *problem, (*placer)->Answer(), terminal);
}

// --- The ROADEF challenge ------------------------------------------------------------

struct Solved {
  std::string assignment;
  double before = 0;
  double after = 0;
  bool valid = false;
};

absl::StatusOr<Solved> Solve(const std::string& model, const std::string& assignment,
                             const PlaceCommand& command, Terminal& terminal) {
  const auto start = steady_clock::now();
  const auto posed = roadef::ParseInstance(model, assignment);
  if (!posed.ok()) return posed.status();
  const auto challenge = roadef::Challenge::Make(*posed);
  if (!challenge.ok()) return challenge.status();
  Solved solved;
  solved.before = roadef::Challenge::CostOf(solver::State((*challenge)->model()).Total());
  solver::Search search((*challenge)->model(),
                        {.seed = command.seed, .step_budget = kRoadefDescentSteps});
  search.Descend();
  ProgressBar bar(terminal);
  wire::AnnealFor(
      start, command.time, [&](double part) { return bar.Show(part); },
      [&](uint64_t steps, double progress, double after) {
        search.Anneal({.steps = steps, .progress = progress, .progress_after = after});
      });
  solved.assignment = (*challenge)->ToText(search.Where());
  solved.after = roadef::Challenge::CostOf(search.BestScore());
  solved.valid = search.BestScore()[solver::kConstraintLevel] <= solver::kTolerance;
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
                                   solved->before, solved->valid ? "holds" : "does NOT hold");
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
