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

}  // namespace

DriverMetrics::DriverMetrics(Metrics& metrics)
    : metrics_(metrics),
      plans_(metrics.AddHistogram("shardmanager_plan_duration_seconds",
                                  "Plans that the allocator made.")),
      takeovers_(metrics.AddHistogram(
          "shardmanager_takeover_duration_seconds",
          "A new leader reads the records of an app, until it decides for it again.")) {
  // Those that things usually come to are there from the start.
  static_assert(kWrites.size() == kWriteOutcomes && kCommands.size() == kCommandOutcomes);
  Writes(WriteOutcome::kOk);
  Writes(WriteOutcome::kFailed);
  for (size_t kind = 0; kind < kCommandKinds; ++kind) {
    Commands(static_cast<CommandKind>(kind), CommandOutcome::kDone);
    Commands(static_cast<CommandKind>(kind), CommandOutcome::kFailed);
  }
}

Histogram DriverMetrics::Writes(WriteOutcome outcome) {
  const auto row = static_cast<size_t>(outcome);
  return writes_[row].GetOr([&] {
    return metrics_.AddHistogram("shardmanager_write_duration_seconds",
                                 "Writes of assignments to ZooKeeper, from sent to answered.", {},
                                 {{"outcome", std::string(kWrites[row])}});
  });
}

Histogram DriverMetrics::Commands(CommandKind kind, CommandOutcome outcome) {
  const auto column = static_cast<size_t>(outcome);
  return commands_[static_cast<size_t>(kind) * kCommandOutcomes + column].GetOr([&] {
    return metrics_.AddHistogram(
        "shardmanager_command_duration_seconds",
        "Commands to servers, one for each shard, from sent to its final answer.", {},
        {{"command", std::string(ToString(kind))}, {"outcome", std::string(kCommands[column])}});
  });
}

void DriverMetrics::Planned(Duration took) { plans_.Observe(took); }

void DriverMetrics::Wrote(WriteOutcome outcome, Duration took) { Writes(outcome).Observe(took); }

void DriverMetrics::Commanded(CommandKind kind, CommandOutcome outcome, Duration took) {
  Commands(kind, outcome).Observe(took);
}

void DriverMetrics::TookOver(Duration took) { takeovers_.Observe(took); }

}  // namespace shardmanager::daemon
