#include "cli/commands/place_report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render.h"
#include "cli/table.h"

namespace shardmanager::cli {
namespace {

constexpr int kBarWidth = 30;

std::string Percent(double part) { return absl::StrFormat("%.1f%%", part * 100); }

// Enough digits to see a difference.
std::string Cost(double cost) {
  if (cost == std::floor(cost) && cost < 1e15) return absl::StrFormat("%.0f", cost);
  return absl::StrFormat("%.4g", cost);
}

std::string MetricsTable(const v1::PlaceResponse& plan, bool colour) {
  Table table({"METRIC", "MEAN", "MOST BEFORE", "MOST AFTER"});
  for (const auto& m : plan.metrics()) {
    const Tone tone = m.max_after() > 1 ? Tone::kBad : Tone::kPlain;
    table.AddRow({{Shown(m.metric())},
                  {Percent(m.mean_utilization())},
                  {Percent(m.max_before())},
                  {Percent(m.max_after()), tone}});
  }
  return table.Render(colour);
}

Tone ToneOf(const v1::PlaceResponse::RuleCost& rule) {
  if (rule.after() <= 0) return Tone::kGood;
  return rule.level().rfind("goal", 0) == 0 ? Tone::kWarning : Tone::kBad;
}

std::string RulesTable(const v1::PlaceResponse& plan, bool colour) {
  Table table({"RULE", "LEVEL", "COST BEFORE", "AFTER", "WORST"});
  for (const auto& rule : plan.rules()) {
    table.AddRow({{Shown(rule.rule())},
                  {rule.level()},
                  {Cost(rule.before())},
                  {Cost(rule.after()), ToneOf(rule)},
                  {Shown(rule.worst())}});
  }
  return table.Render(colour);
}

std::string Reasons(const v1::PlaceResponse& plan) {
  std::string text;
  for (const auto& rule : plan.rules()) {
    if (rule.after() <= 0 || rule.level().rfind("goal", 0) == 0) continue;
    absl::StrAppend(&text, "  ", Shown(rule.rule()), " is broken");
    if (rule.places() > 0) {
      absl::StrAppend(&text, " at ", rule.places(), rule.places() == 1 ? " place" : " places");
    }
    if (!rule.worst().empty()) absl::StrAppend(&text, ", most at ", Shown(rule.worst()));
    if (rule.shards_size() > 0) {
      absl::StrAppend(&text, "; shards: ", Shown(absl::StrJoin(rule.shards(), ", ")));
    }
    if (!rule.help().empty()) absl::StrAppend(&text, "; ", Shown(rule.help()));
    text += "\n";
  }
  return text;
}

}  // namespace

std::string PlanText(const v1::PlaceResponse& plan, bool colour) {
  std::string text = MetricsTable(plan, colour);
  if (plan.rules_size() > 0) absl::StrAppend(&text, "\n", RulesTable(plan, colour));
  absl::StrAppend(&text, "\n", plan.moves_size(), plan.moves_size() == 1 ? " move; " : " moves; ");
  if (plan.feasible()) {
    return text + "every constraint " + Painted({"holds", Tone::kGood}, colour) + ".\n";
  }
  absl::StrAppend(&text, Painted({"not", Tone::kBad}, colour),
                  " every constraint holds; this is the best that was found:\n", Reasons(plan));
  return text;
}

std::string MovesText(const v1::PlaceResponse& plan, bool colour) {
  size_t width = 0;
  for (const auto& move : plan.moves()) width = std::max(width, Width(Shown(move.shard())));
  std::string text;
  const auto add = [&](const char* sign, const std::string& shard, const std::string& server,
                       Tone tone) {
    if (server.empty()) return;
    const std::string pad(width - Width(Shown(shard)), ' ');
    absl::StrAppend(
        &text,
        Painted({absl::StrCat(sign, " ", Shown(shard), pad, "  ", Shown(server)), tone}, colour),
        "\n");
  };
  for (const auto& move : plan.moves()) {
    add("-", move.shard(), move.from(), Tone::kBad);
    add("+", move.shard(), move.to(), Tone::kGood);
    if (move.to().empty()) absl::StrAppend(&text, "! ", Shown(move.shard()), "  has no place\n");
  }
  return text;
}

v1::PlacementProblem After(const v1::PlacementProblem& problem, const v1::PlaceResponse& plan) {
  v1::PlacementProblem after = problem;
  for (int i = 0; i < plan.shards_size(); ++i) {
    v1::PlacerShard& shard = *after.mutable_shards(i);
    shard.set_replicas(static_cast<uint32_t>(plan.shards(i).servers_size()));
    shard.clear_servers();
    for (const std::string& server : plan.shards(i).servers()) {
      if (!server.empty()) shard.add_servers(server);
    }
  }
  return after;
}

std::string ProgressText(double part) {
  const int full = static_cast<int>(std::clamp(part, 0.0, 1.0) * kBarWidth);
  return absl::StrCat("[", std::string(static_cast<size_t>(full), '#'),
                      std::string(static_cast<size_t>(kBarWidth - full), ' '), "] ",
                      absl::StrFormat("%3.0f%%", std::clamp(part, 0.0, 1.0) * 100));
}

}  // namespace shardmanager::cli
