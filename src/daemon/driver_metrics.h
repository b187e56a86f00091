// How long plans, writes, commands and takeovers take, for Prometheus.
#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "orchestrator/shell/ports.h"
#include "runtime/metrics.h"

namespace shardmanager::daemon {

// Without the label `app`: a histogram has many series.
class DriverMetrics final : public orchestrator::Meter {
 public:
  explicit DriverMetrics(Metrics& metrics);

  void Planned(Duration took) override;
  void Wrote(orchestrator::WriteOutcome outcome, Duration took) override;
  void Commanded(CommandKind kind, orchestrator::CommandOutcome outcome, Duration took) override;
  void TookOver(Duration took) override;

 private:
  static constexpr size_t kWriteOutcomes =
      static_cast<size_t>(orchestrator::WriteOutcome::kDeposed) + 1;
  static constexpr size_t kCommandOutcomes =
      static_cast<size_t>(orchestrator::CommandOutcome::kDeposed) + 1;
  static constexpr size_t kCommandKinds = static_cast<size_t>(CommandKind::kSetMembers) + 1;

  // REQUIRES: mutex_ is held.
  const Histogram& Writes(orchestrator::WriteOutcome outcome);
  const Histogram& Commands(CommandKind kind, orchestrator::CommandOutcome outcome);

  Metrics& metrics_;
  const Histogram plans_;
  const Histogram takeovers_;
  std::mutex mutex_;
  // Made when the first such thing happens: a histogram is looked up by its labels only once.
  std::array<std::optional<Histogram>, kWriteOutcomes> writes_;
  std::array<std::optional<Histogram>, kCommandKinds * kCommandOutcomes> commands_;
};

}  // namespace shardmanager::daemon
