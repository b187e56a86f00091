#include "runtime/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"

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

void Histogram::Observe(double value) const {
  if (impl_ != nullptr) impl_->Observe(value);
}
void Histogram::Observe(Duration value) const { Observe(InSeconds(value)); }

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {}
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
  return Histogram(Build(prometheus::BuildHistogram(), *registry_, name, help, labels, used));
}

std::string Metrics::Text() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                                    const Metrics& metrics) {
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", listen, "num_threads", std::to_string(kConnections),
        "request_timeout_ms", std::to_string(kRequestTimeout.count())});
    exposer->RegisterCollectable(metrics.registry_);
    return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(exposer)));
  } catch (const std::exception& e) {
    return absl::UnavailableError(absl::StrCat("cannot serve metrics on ", listen,
                                               ": is the port taken, or the host not a numeric "
                                               "address of this machine? (",
                                               e.what(), ")"));
  }
}

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer)
    : exposer_(std::move(exposer)) {}
MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const { return exposer_->GetListeningPorts().front(); }

}  // namespace shardmanager
