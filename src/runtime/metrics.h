// Prometheus metrics, without a global: main() makes one Metrics and hands it to
// those who count. In its own library (sm_metrics), so that the SDK needs none of it.
//
//   Counter moves = metrics.AddCounter("shardmanager_moves_total", "Moves begun.", {{"app",
//   "kv"}}); moves.Add();
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace prometheus {
class Counter;
class Gauge;
class Registry;
}  // namespace prometheus

namespace shardmanager {

// Handles: cheap to copy, thread-safe, valid while their Metrics lives. A handle
// that no Metrics gave counts nothing, so code need not ask whether it is measured.
class Counter {
 public:
  Counter() = default;
  void Add(double amount = 1) const;
  double value() const;

 private:
  friend class Metrics;
  explicit Counter(prometheus::Counter* impl) : impl_(impl) {}
  prometheus::Counter* impl_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  void Set(double value) const;
  double value() const;

 private:
  friend class Metrics;
  explicit Gauge(prometheus::Gauge* impl) : impl_(impl) {}
  prometheus::Gauge* impl_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  // Takes no lock.
  void Observe(double value) const;
  // In seconds, the unit of every duration that Prometheus sees.
  void Observe(Duration value) const;
  // False: no Metrics gave it.
  bool counts() const { return impl_ != nullptr; }

 private:
  friend class Metrics;
  class Observations;
  explicit Histogram(Observations* impl) : impl_(impl) {}
  Observations* impl_ = nullptr;
};

// Values that are read when somebody asks, and not kept as metrics: what is gone shows no more.
struct MetricFamily {
  struct Sample {
    std::map<std::string, std::string> labels;
    double value = 0;
  };
  std::string name;  // also one that all processes have, as process_resident_memory_bytes
  std::string help;
  bool is_counter = false;  // else a gauge
  std::vector<Sample> samples = {};
};

// Thread-safe. Names begin with "shardmanager_"; counters end in "_total",
// histograms in their unit ("_seconds", "_bytes"): another name is a mistake in our
// code and aborts. Asking twice for one name and labels gives the same metric.
class Metrics {
 public:
  using Labels = std::map<std::string, std::string>;

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `bounds`: upper bounds of the buckets, ascending; empty: 1 ms to 60 s.
  Histogram AddHistogram(const std::string& name, const std::string& help,
                         const std::vector<double>& bounds = {}, const Labels& labels = {});

  // `source` is asked at each scrape, on the scraper's thread, and must not block. When the handle
  // is destroyed it is not asked any more, and a scrape that asks it has ended.
  class Source;
  [[nodiscard]] std::unique_ptr<Source> AddSource(
      std::function<std::vector<MetricFamily>()> source);

  // What a scrape gets: the text exposition format.
  std::string Text() const;

 private:
  class Collected;
  std::shared_ptr<Collected> collected_;
  std::shared_ptr<prometheus::Registry> registry_;
};

class Metrics::Source {
 public:
  ~Source();

 private:
  friend class Metrics;
  Source(std::shared_ptr<Collected> collected, uint64_t id)
      : collected_(std::move(collected)), id_(id) {}
  const std::shared_ptr<Collected> collected_;
  const uint64_t id_;
};

}  // namespace shardmanager
