// Hooks of observe.h that keep what they are told, for tests.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shardmanager/observe.h"

namespace shardmanager {

inline std::string TextOf(const AttributeValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return absl::StrCat(*number);
  return std::string(std::get<std::string_view>(value));
}

// Thread-safe.
class RecordedMetrics final : public MetricsSink {
 public:
  using Labels = std::map<std::string, std::string>;

  void Count(const Metric& metric, double amount, Attributes attributes) override {
    std::lock_guard lock(mutex_);
    values_[{std::string(metric.name), LabelsOf(attributes)}] += amount;
  }
  // Counts how many were recorded.
  void Record(const Metric& metric, double value, Attributes attributes) override {
    std::lock_guard lock(mutex_);
    if (value >= 0) values_[{std::string(metric.name), LabelsOf(attributes)}] += 1;
  }

  double Value(const Metric& metric, const Labels& labels) const {
    std::lock_guard lock(mutex_);
    const auto found = values_.find({std::string(metric.name), labels});
    return found == values_.end() ? 0 : found->second;
  }
  // How many combinations of metric and attributes there are.
  size_t size() const {
    std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  static Labels LabelsOf(Attributes attributes) {
    Labels labels;
    for (const Attribute& attribute : attributes) {
      labels[std::string(attribute.name)] = TextOf(attribute.value);
    }
    return labels;
  }

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, Labels>, double> values_;
};

struct RecordedSpan {
  int id = 0;
  int parent = 0;  // 0: none
  std::string remote_parent;
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  std::map<std::string, std::string> attributes;
  std::string error;
};

// Thread-safe. Its header is "x-span", with the id.
class RecordedTracer final : public Tracer {
 public:
  std::unique_ptr<Span> Start(const SpanStart& start) override;
  // Those that are over, in the order in which they ended.
  std::vector<RecordedSpan> ended() const {
    std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  class Recording;

  mutable std::mutex mutex_;
  int last_id_ = 0;
  std::vector<RecordedSpan> ended_;
};

class RecordedTracer::Recording final : public Span {
 public:
  Recording(RecordedTracer& tracer, RecordedSpan span) : tracer_(tracer), span_(std::move(span)) {}
  ~Recording() override {
    std::lock_guard lock(tracer_.mutex_);
    tracer_.ended_.push_back(std::move(span_));
  }
  void Set(const Attribute& attribute) override {
    span_.attributes[std::string(attribute.name)] = TextOf(attribute.value);
  }
  void SetError(std::string_view message) override { span_.error = message; }
  void Inject(
      absl::FunctionRef<void(std::string_view header, std::string_view value)> add) const override {
    add("x-span", absl::StrCat(span_.id));
  }
  int id() const { return span_.id; }

 private:
  RecordedTracer& tracer_;
  RecordedSpan span_;
};

inline std::unique_ptr<Span> RecordedTracer::Start(const SpanStart& start) {
  RecordedSpan span{.name = std::string(start.name), .kind = start.kind};
  for (const Attribute& attribute : start.attributes) {
    span.attributes[std::string(attribute.name)] = TextOf(attribute.value);
  }
  if (start.parent != nullptr) span.parent = static_cast<const Recording*>(start.parent)->id();
  if (start.header) span.remote_parent = (*start.header)("x-span");
  {
    std::lock_guard lock(mutex_);
    span.id = ++last_id_;
  }
  return std::make_unique<Recording>(*this, std::move(span));
}

}  // namespace shardmanager
