#include "cli/commands/place_progress.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shardmanager::cli {
namespace {

constexpr double kSecondsBetween = 1;
constexpr double kPartBetween = 0.05;

std::string Amount(double cost) {
  if (std::abs(cost - std::round(cost)) < solver::kTolerance && std::abs(cost) < 1e15) {
    return absl::StrFormat("%.0f", std::abs(cost));
  }
  return absl::StrFormat("%.6g", cost);
}

std::string GoalCosts(const PlanSoFar& plan) {
  std::string text;
  for (int l = solver::kFirstGoalLevel; l < solver::kMovementLevel; ++l) {
    if (!plan.levels[static_cast<size_t>(l)]) continue;
    absl::StrAppend(&text, text.empty() ? "" : "/", Amount(plan.score[l]));
  }
  return text.empty() ? "0" : text;
}

}  // namespace

std::string CurveHeader() {
  return absl::StrFormat("%8s  %-28s  %12s  %8s\n", "SECONDS", "COST", "CONSTRAINT", "MOVES");
}

std::string CurveLine(double seconds, const PlanSoFar& plan) {
  std::string broken = Amount(plan.score[solver::kConstraintLevel]);
  const double unplaced = plan.score[solver::kUnplacedLevel];
  if (unplaced > 0) absl::StrAppend(&broken, ", ", Amount(unplaced), " unplaced");
  return absl::StrFormat("%8.1f  %-28s  %12s  %8u\n", seconds, GoalCosts(plan), broken, plan.moves);
}

bool Curve::Due(const solver::Spent& spent, double part) const {
  if (out_ == nullptr) return false;
  return !begun_ || spent.seconds >= seconds_ + kSecondsBetween || part >= part_ + kPartBetween;
}

void Curve::Show(const solver::Spent& spent, double part, const PlanSoFar& plan) {
  if (out_ == nullptr) return;
  if (!begun_) *out_ << CurveHeader();
  *out_ << CurveLine(spent.seconds, plan) << std::flush;
  begun_ = true;
  seconds_ = spent.seconds;
  part_ = part;
}

std::string OutcomeText(const solver::Outcome& outcome, bool moves_priced) {
  if (outcome.fewest_moves) {
    return moves_priced ? "No plan has moves that cost less.\n" : "No plan has fewer moves.\n";
  }
  std::string text;
  const char* before = "the descent";
  for (const solver::Phase& phase : outcome.phases) {
    if (phase.improved && phase.name == solver::kQuickPhase) before = "a quick one before it";
    if (phase.improved) continue;
    if (phase.name == solver::kAnnealingPhase) {
      absl::StrAppend(&text, "The annealing (", phase.steps, " steps) found nothing better than ",
                      before, ".\n");
    } else if (phase.name == solver::kFewerMovesPhase) {
      absl::StrAppend(&text, "Fewer moves were looked for (", phase.steps,
                      " steps) and not found.\n");
    }
  }
  return text;
}

}  // namespace shardmanager::cli
