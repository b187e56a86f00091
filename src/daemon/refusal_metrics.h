// Calls that a process refused, for Prometheus: of shardmanagerd and of shard-discoveryd.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "runtime/metrics.h"
#include "security/limits.h"

namespace shardmanager::daemon {

// shardmanager_refused_calls_total{reason}. All reasons are there from the start, at 0.
class RefusalMetrics {
 public:
  RefusalMetrics(Metrics& metrics, std::shared_ptr<const security::Limits> limits)
      : limits_(std::move(limits)) {
    for (size_t i = 0; i < security::kRefusals; ++i) {
      counters_[i] = metrics.AddCounter(
          "shardmanager_refused_calls_total",
          "Calls and streams that were refused, or cut off, for the sake of security "
          "(docs/security.md).",
          {{"reason", std::string(NameOf(static_cast<security::Refusal>(i)))}});
    }
  }

  // Call it now and then, from one thread.
  void Show() {
    for (size_t i = 0; i < security::kRefusals; ++i) {
      const auto now = static_cast<double>(limits_->refused(static_cast<security::Refusal>(i)));
      counters_[i].Add(now - counters_[i].value());
    }
  }

 private:
  std::shared_ptr<const security::Limits> limits_;
  std::array<Counter, security::kRefusals> counters_;
};

}  // namespace shardmanager::daemon
