// How much of an app may be away at once. Pure; the one place that knows the rules written on
// AvailabilityPolicy in app_spec.proto.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

struct CountOrPercent {
  uint32_t value = 0;
  bool percent = false;

  // Of `all`, rounded down; of a percentage at least one.
  uint32_t Of(uint32_t all) const {
    if (!percent) return value;
    return std::max(1U, static_cast<uint32_t>(uint64_t{all} * value / 100));
  }
};
// "5" or "10%". Nothing: it is neither, or not from 1 to 1,000,000, or to 100%.
std::optional<CountOrPercent> ParseCountOrPercent(std::string_view text);

// `text`, found at `path`, is one of these; or "", unless it is required.
void CheckCountOrPercent(const std::string& path, const std::string& text, bool required,
                         SpecProblems* problems);

// Of a shard with so many replicas, how many may be away. `most`: as in the spec.
inline uint32_t MostUnavailable(uint32_t most, uint32_t replicas, bool quorum) {
  const uint32_t minority = replicas == 0 ? 0 : (replicas - 1) / 2;
  return std::min({most, replicas, quorum ? minority : replicas});
}

// AppSpec.availability and AppSpec.drain.
void CheckAvailability(const v1::AppSpec& spec, SpecProblems* problems);
void CheckDrainPolicy(const v1::AppSpec& spec, SpecProblems* problems);

}  // namespace shardmanager
