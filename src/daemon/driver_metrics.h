// How long plans, writes, commands and takeovers take, for Prometheus.
#pragma once

#include "orchestrator/shell/ports.h"
#include "runtime/metrics.h"

namespace shardmanager::daemon {

// Without the label `app`: a histogram has many series.
class DriverMetrics final : public orchestrator::Meter {
 public:
  explicit DriverMetrics(Metrics& metrics);

  void Planned(const AppName& app, Duration took) override;
  void Wrote(const AppName& app, orchestrator::WriteOutcome outcome, Duration took) override;
  void Commanded(const AppName& app, CommandKind kind, orchestrator::CommandOutcome outcome,
                 Duration took) override;
  void TookOver(const AppName& app, Duration took) override;

 private:
  Metrics& metrics_;
  const Histogram plans_;
  const Histogram takeovers_;
};

}  // namespace shardmanager::daemon
