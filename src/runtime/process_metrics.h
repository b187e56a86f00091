// What Prometheus's client libraries tell of every process: processor time, memory, open files.
// https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics
#pragma once

#include <vector>

#include "runtime/metrics.h"

namespace shardmanager {

// From /proc; what cannot be read is left out.
std::vector<MetricFamily> ProcessMetrics();

}  // namespace shardmanager
