// What the service needs of the storage, wherever it keeps the rows.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/types.h"

namespace kvstore {

// One shard's data. Thread-safe. A write whose fencing token is lower than the stored one is
// refused with ABORTED: somebody else has been given the shard since.
class KvShard {
 public:
  virtual ~KvShard() = default;

  virtual absl::Status Put(shardmanager::ShardEpoch epoch, std::string_view key,
                           std::string_view value) = 0;
  // Was it there?
  virtual absl::StatusOr<bool> Delete(shardmanager::ShardEpoch epoch, std::string_view key) = 0;
  virtual absl::StatusOr<std::optional<std::string>> Get(std::string_view key) = 0;

  struct Row {
    std::string key;
    std::string value;
  };
  struct Range {
    std::string start = {};  // the first key
    std::string end = {};    // the key after the last one; empty: there is no end
    size_t max_rows = 1'000;
    size_t max_bytes = 1 << 20;  // the row that reaches it is the last one
  };
  struct Page {
    std::vector<Row> rows;
    bool more = false;  // the range has further rows
  };
  // In key order.
  virtual absl::StatusOr<Page> Scan(const Range& range) = 0;

  // What it costs to serve the shard: for the Shard Manager, which balances it.
  struct Load {
    double requests_per_s = 0;  // since the last call; the first one: 0
    double bytes = 0;           // that its file takes
  };
  virtual Load TakeLoad(std::chrono::steady_clock::time_point now) = 0;
};

}  // namespace kvstore
