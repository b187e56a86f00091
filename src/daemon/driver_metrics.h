// How long plans, writes, commands and takeovers take, for Prometheus.
#pragma once

#include <array>
#include <atomic>

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

  // Made when the first such thing happens, as a histogram has many series; which it is, is looked
  // up by its labels only once.
  class Lazy {
   public:
    template <typename Make>
    Histogram GetOr(Make make) {
      Histogram histogram = made_.load(std::memory_order_acquire);
      if (histogram.counts()) return histogram;
      histogram = make();  // the same, if two do this at once
      made_.store(histogram, std::memory_order_release);
      return histogram;
    }

   private:
    std::atomic<Histogram> made_ = Histogram();
  };

  Histogram Writes(orchestrator::WriteOutcome outcome);
  Histogram Commands(CommandKind kind, orchestrator::CommandOutcome outcome);

  Metrics& metrics_;
  const Histogram plans_;
  const Histogram takeovers_;
  std::array<Lazy, kWriteOutcomes> writes_;
  std::array<Lazy, kCommandKinds * kCommandOutcomes> commands_;
};

}  // namespace shardmanager::daemon
