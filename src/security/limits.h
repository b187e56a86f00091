// What one identity may take of a process, so that enough is left for the others; and how many
// calls the process has refused, and why.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "security/call_rates.h"
#include "security/open_counts.h"

namespace shardmanager::security {

// Why a call was refused, or ended.
enum class Refusal : uint8_t {
  kNoIdentity,   // its connection has no certificate of the cell
  kNoRole,       // its identity lacks the role
  kCallRate,     // its identity makes too many calls a second
  kCallsAtOnce,  // ... at once
  kStreams,      // its identity has too many streams open
  kSlowReader,   // a stream whose client does not read
};
inline constexpr size_t kRefusals = static_cast<size_t>(Refusal::kSlowReader) + 1;

// For metrics. Example: "no_role".
std::string_view NameOf(Refusal refusal);

// Thread-safe.
class Limits {
 public:
  struct Options {
    // Of calls that hold a thread until they are answered (the admin API's): how many one identity
    // may make in a second, and have under way. 0: no limit.
    double calls_per_s = 0;
    size_t calls_at_once = 0;
    // Of shard maps, one for each app that a client watches. 0: no limit.
    size_t streams = 0;
  };
  Limits();
  explicit Limits(const Options& options);

  // RESOURCE_EXHAUSTED: it makes too many, and is counted as refused. Keep what is returned until
  // the call ends.
  absl::StatusOr<OpenCounts::Open> BeginCall(const std::string& who, TimePoint now);
  absl::StatusOr<OpenCounts::Open> BeginStream(const std::string& who);

  void Count(Refusal refusal) { ++refused_[static_cast<size_t>(refusal)]; }
  uint64_t refused(Refusal refusal) const { return refused_[static_cast<size_t>(refusal)]; }

 private:
  CallRates rates_;
  OpenCounts calls_;
  OpenCounts streams_;
  std::array<std::atomic<uint64_t>, kRefusals> refused_{};
};

}  // namespace shardmanager::security
