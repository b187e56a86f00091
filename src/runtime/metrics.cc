#include "runtime/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <utility>

namespace shardmanager {
namespace {

[[noreturn]] void Die(const std::string& name, const char* why) {
  std::fprintf(stderr, "metric %s: %s\n", name.c_str(), why);
  std::abort();
}

void RequireName(const std::string& name, std::initializer_list<std::string_view> endings) {
  if (!name.starts_with("shardmanager_")) Die(name, "the name must begin with shardmanager_");
  for (std::string_view ending : endings) {
    if (name.ends_with(ending)) return;
  }
  if (endings.size() > 0) Die(name, "the name must end in its unit, or in _total for a counter");
}

// prometheus-cpp throws when one name is asked for as two types, or is malformed.
template <typename Builder, typename... Arguments>
auto* Build(Builder builder, prometheus::Registry& registry, const std::string& name,
            const std::string& help, const Metrics::Labels& labels, const Arguments&... arguments) {
  try {
    return &builder.Name(name).Help(help).Register(registry).Add(labels, arguments...);
  } catch (const std::exception& e) {
    Die(name, e.what());
  }
}

std::vector<double> DefaultBounds() {
  return {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60};
}

}  // namespace

void Counter::Add(double amount) const {
  if (impl_ != nullptr) impl_->Increment(amount);
}
double Counter::value() const { return impl_ != nullptr ? impl_->Value() : 0; }

void Gauge::Set(double value) const {
  if (impl_ != nullptr) impl_->Set(value);
}
double Gauge::value() const { return impl_ != nullptr ? impl_->Value() : 0; }

// What was observed since the last scrape. The library's histogram takes a lock for each value, so
// it gets them together, before it is read.
class Histogram::Observations {
 public:
  Observations(prometheus::Histogram* kept, std::vector<double> bounds)
      : kept_(kept), bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Add(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  void Flush() {
    std::vector<double> counts;
    for (std::atomic<uint64_t>& count : counts_) {
      counts.push_back(static_cast<double>(count.exchange(0, std::memory_order_relaxed)));
    }
    kept_->ObserveMultiple(counts, sum_.exchange(0, std::memory_order_relaxed));
  }

 private:
  prometheus::Histogram* const kept_;
  const std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;  // the last one: above all bounds
  std::atomic<double> sum_ = 0;
};

void Histogram::Observe(double value) const {
  if (impl_ != nullptr) impl_->Add(value);
}
void Histogram::Observe(Duration value) const { Observe(InSeconds(value)); }

// The registry's metrics and those of the sources, as one collectable.
class Metrics::Collected final : public prometheus::Collectable {
 public:
  explicit Collected(std::shared_ptr<prometheus::Registry> registry)
      : registry_(std::move(registry)) {}

  uint64_t Add(std::function<std::vector<MetricFamily>()> source) {
    std::lock_guard lock(mutex_);
    sources_.emplace(next_, std::move(source));
    return next_++;
  }
  void Remove(uint64_t id) {
    std::lock_guard lock(mutex_);
    sources_.erase(id);
  }

  Histogram::Observations* ObservationsOf(prometheus::Histogram* kept,
                                          const std::vector<double>& bounds) {
    std::lock_guard lock(mutex_);
    auto& found = observations_[kept];
    if (!found) found = std::make_unique<Histogram::Observations>(kept, bounds);
    return found.get();
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::lock_guard lock(mutex_);
    for (const auto& [kept, observations] : observations_) observations->Flush();
    std::vector<prometheus::MetricFamily> all = registry_->Collect();
    for (const auto& [id, source] : sources_) {
      for (MetricFamily& family : source()) all.push_back(Converted(std::move(family)));
    }
    return all;
  }

 private:
  static prometheus::MetricFamily Converted(MetricFamily family) {
    prometheus::MetricFamily out;
    out.name = std::move(family.name);
    out.help = std::move(family.help);
    out.type = family.is_counter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    for (MetricFamily::Sample& sample : family.samples) {
      prometheus::ClientMetric& metric = out.metric.emplace_back();
      for (auto& [name, value] : sample.labels) metric.label.push_back({name, std::move(value)});
      (family.is_counter ? metric.counter.value : metric.gauge.value) = sample.value;
    }
    return out;
  }

  const std::shared_ptr<prometheus::Registry> registry_;
  mutable std::mutex mutex_;
  std::map<prometheus::Histogram*, std::unique_ptr<Histogram::Observations>> observations_;
  std::map<uint64_t, std::function<std::vector<MetricFamily>()>> sources_;  // in order of Add()
  uint64_t next_ = 0;
};

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  collected_ = std::make_shared<Collected>(registry_);
}
Metrics::~Metrics() = default;

Counter Metrics::AddCounter(const std::string& name, const std::string& help,
                            const Labels& labels) {
  RequireName(name, {"_total"});
  return Counter(Build(prometheus::BuildCounter(), *registry_, name, help, labels));
}

Gauge Metrics::AddGauge(const std::string& name, const std::string& help, const Labels& labels) {
  RequireName(name, {});
  return Gauge(Build(prometheus::BuildGauge(), *registry_, name, help, labels));
}

Histogram Metrics::AddHistogram(const std::string& name, const std::string& help,
                                const std::vector<double>& bounds, const Labels& labels) {
  RequireName(name, {"_seconds", "_bytes"});
  const std::vector<double> used = bounds.empty() ? DefaultBounds() : bounds;
  return Histogram(collected_->ObservationsOf(
      Build(prometheus::BuildHistogram(), *registry_, name, help, labels, used), used));
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(collected_->Collect());
}

std::unique_ptr<Metrics::Source> Metrics::AddSource(
    std::function<std::vector<MetricFamily>()> source) {
  return std::unique_ptr<Source>(new Source(collected_, collected_->Add(std::move(source))));
}

Metrics::Source::~Source() { collected_->Remove(id_); }

}  // namespace shardmanager
