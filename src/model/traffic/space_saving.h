// The most frequent keys of a stream, in bounded memory: the sketch Space-Saving of Metwally,
// Agrawal and El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams",
// ICDT 2005.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace shardmanager {

// Not thread-safe. With `most` entries, after n keys:
//   * an entry's count is at least the key's true count, and above it by at most `error`;
//   * no error is above n / most;
//   * every key whose true count is above n / most has an entry.
class SpaceSaving {
 public:
  struct Entry {
    std::string key;
    std::string shard;  // as of the last time
    uint64_t count = 0;
    uint64_t error = 0;
  };

  // REQUIRES: `most` is at least 1.
  explicit SpaceSaving(size_t most) : most_(most) {}

  void Add(std::string_view key, std::string_view shard);
  // At most `count` entries, descending by count, then ascending by key.
  std::vector<Entry> Top(size_t count) const;
  // How many were added.
  uint64_t total() const { return total_; }
  void Clear();

 private:
  const size_t most_;
  uint64_t total_ = 0;
  std::vector<Entry> entries_;
  absl::flat_hash_map<std::string, size_t> places_;  // by key: in entries_
};

}  // namespace shardmanager
