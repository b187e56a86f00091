// How many calls or streams each identity has open at once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/statusor.h"

namespace shardmanager::security {

// Thread-safe.
class OpenCounts {
 public:
  // One that is open; it counts until this is gone. May outlive the counts. Empty: counts nothing.
  class Open {
   public:
    Open() = default;
    Open(Open&&) = default;
    Open& operator=(Open&& other) noexcept {
      std::swap(counted_, other.counted_);
      return *this;
    }

   private:
    friend class OpenCounts;
    explicit Open(std::shared_ptr<void> counted) : counted_(std::move(counted)) {}
    std::shared_ptr<void> counted_;
  };

  // `most`: of one identity, 0 for no limit. `what` and `flag` are for errors. Example: "streams of
  // shard maps", "--streams".
  OpenCounts(size_t most, std::string what, std::string flag);

  // RESOURCE_EXHAUSTED: `who` has as many open as it may.
  absl::StatusOr<Open> Begin(const std::string& who);

  // Of all identities.
  size_t open() const;
  // Identities that have one open.
  size_t size() const;

 private:
  struct Counts {
    std::mutex mutex;
    std::unordered_map<std::string, size_t> of;  // none is 0
  };

  const size_t most_;
  const std::string what_;
  const std::string flag_;
  const std::shared_ptr<Counts> counts_;
};

}  // namespace shardmanager::security
