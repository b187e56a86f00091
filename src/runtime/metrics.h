// Prometheus metrics, without a global: main() makes one Metrics and hands it to
// those who count. In its own library (sm_metrics), so that the SDK needs none of it.
//
//   Counter moves = metrics.AddCounter("shardmanager_moves_total", "Moves begun.", {{"app",
//   "kv"}}); moves.Add();
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/time.h"

namespace prometheus {
class Counter;
class Exposer;
class Gauge;
class Histogram;
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
  void Observe(double value) const;
  // In seconds, the unit of every duration that Prometheus sees.
  void Observe(Duration value) const;

 private:
  friend class Metrics;
  explicit Histogram(prometheus::Histogram* impl) : impl_(impl) {}
  prometheus::Histogram* impl_ = nullptr;
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

  // What a scrape gets: the text exposition format.
  std::string Text() const;

 private:
  friend class MetricsServer;
  std::shared_ptr<prometheus::Registry> registry_;
};

// Serves http://<listen>/metrics until it is destroyed, which may take 2 s: its
// library looks that seldom whether it should stop.
//
// A client that connects and sends nothing does not hold up scrapes: as long as fewer than
// kConnections clients do that, a scrape is answered at once. With more of them a scrape waits
// until enough of them are closed, which happens to each after kRequestTimeout.
class MetricsServer {
 public:
  // Connections that are served at the same time; more wait. Each takes a thread of the HTTP
  // server from the moment it is accepted, even if its client says nothing.
  static constexpr int kConnections = 16;
  // A connection is closed when its client has not sent a whole request for so long, or does not
  // take any of the answer for so long.
  static constexpr std::chrono::milliseconds kRequestTimeout{2000};

  // `listen`: "host:port", the host a numeric address; port 0: a free one.
  // Errors: UNAVAILABLE, it cannot listen there, and why. `metrics` must outlive
  // the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                              const Metrics& metrics);
  ~MetricsServer();

  int port() const;

 private:
  explicit MetricsServer(std::unique_ptr<prometheus::Exposer> exposer);
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace shardmanager
