// How long plans, writes, commands and takeovers take, for Prometheus.
#pragma once

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
  Metrics& metrics_;
  const Histogram plans_;
  const Histogram takeovers_;
};

}  // namespace shardmanager::daemon
