// How the rules of the spec report what they find. Internal to the validation.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"

namespace shardmanager {

inline constexpr uint32_t kHourMs = 3'600'000;
inline constexpr uint32_t kDayMs = 24 * kHourMs;
inline constexpr uint32_t kWeekMs = 7 * kDayMs;

struct Bounds {
  uint32_t least;
  uint32_t most;
  bool zero_is_default = false;
};

// Collects problems up to a bound: a spec with a million wrong shards must not
// answer with a million lines.
class SpecProblems {
 public:
  static constexpr size_t kMost = 20;

  void Add(std::string path, std::string found, std::string allowed) {
    if (!full()) problems_.push_back({std::move(path), std::move(found), std::move(allowed)});
  }
  // A field that this version does not know was set by a newer one: refused, for
  // to ignore it silently would be to promise what we do not do.
  void CheckKnown(const std::string& path, const google::protobuf::Message& message) {
    const auto& unknown = message.GetReflection()->GetUnknownFields(message);
    if (unknown.empty()) return;
    Add(path, absl::StrCat("unknown field number ", unknown.field(0).number()),
        "the fields that this version of the control plane knows");
  }

  // A number that must lie within bounds.
  void CheckBounds(const std::string& path, uint32_t value, Bounds bounds) {
    if (value >= bounds.least && value <= bounds.most) return;
    if (value == 0 && bounds.zero_is_default) return;
    Add(path, absl::StrCat(value),
        absl::StrCat(bounds.least, " to ", bounds.most,
                     bounds.zero_is_default ? ", or 0: the default" : ""));
  }

  // More would not be listed: stop looking.
  bool full() const { return problems_.size() >= kMost; }
  size_t size() const { return problems_.size(); }
  std::vector<SpecProblem> Take() { return std::move(problems_); }

 private:
  std::vector<SpecProblem> problems_;
};

}  // namespace shardmanager
