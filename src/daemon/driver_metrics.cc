#include "daemon/driver_metrics.h"

#include <array>
#include <string>
#include <string_view>

namespace shardmanager::daemon {
namespace {

using orchestrator::CommandOutcome;
using orchestrator::WriteOutcome;

constexpr std::array<std::string_view, 5> kWrites = {"ok", "conflict", "failed", "too-large",
                                                     "deposed"};
constexpr std::array<std::string_view, 7> kCommands = {
    "done", "loading", "failed", "stale", "called-off", "unreachable", "deposed"};
static_assert(kWrites.size() == static_cast<size_t>(WriteOutcome::kDeposed) + 1);
static_assert(kCommands.size() == static_cast<size_t>(CommandOutcome::kDeposed) + 1);

constexpr CommandKind kLastKind = CommandKind::kSetMembers;

Histogram Writes(Metrics& metrics, WriteOutcome outcome) {
  return metrics.AddHistogram("shardmanager_write_duration_seconds",
                              "Writes of assignments to ZooKeeper, from sent to answered.", {},
                              {{"outcome", std::string(kWrites[static_cast<size_t>(outcome)])}});
}

Histogram Commands(Metrics& metrics, CommandKind kind, CommandOutcome outcome) {
  return metrics.AddHistogram(
      "shardmanager_command_duration_seconds",
      "Commands to servers, one for each shard, from sent to its final answer.", {},
      {{"command", std::string(ToString(kind))},
       {"outcome", std::string(kCommands[static_cast<size_t>(outcome)])}});
}

}  // namespace

DriverMetrics::DriverMetrics(Metrics& metrics)
    : metrics_(metrics),
      plans_(metrics.AddHistogram("shardmanager_plan_duration_seconds",
                                  "Plans that the allocator made.")),
      takeovers_(metrics.AddHistogram(
          "shardmanager_takeover_duration_seconds",
          "A new leader reads the records of an app, until it decides for it again.")) {
  // Those that things usually come to are there from the start.
  Writes(metrics, WriteOutcome::kOk);
  Writes(metrics, WriteOutcome::kFailed);
  for (int kind = 0; kind <= static_cast<int>(kLastKind); ++kind) {
    Commands(metrics, static_cast<CommandKind>(kind), CommandOutcome::kDone);
    Commands(metrics, static_cast<CommandKind>(kind), CommandOutcome::kFailed);
  }
}

void DriverMetrics::Planned(Duration took) { plans_.Observe(took); }

void DriverMetrics::Wrote(WriteOutcome outcome, Duration took) {
  Writes(metrics_, outcome).Observe(took);
}

void DriverMetrics::Commanded(CommandKind kind, CommandOutcome outcome, Duration took) {
  Commands(metrics_, kind, outcome).Observe(took);
}

void DriverMetrics::TookOver(Duration took) { takeovers_.Observe(took); }

}  // namespace shardmanager::daemon
