// Rows of a shard's file, read page by page in key order.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "kv_shard.h"
#include "sqlite.h"

namespace kvstore {

// The smallest key that is greater.
inline std::string KeyAfter(std::string key) {
  key.push_back('\0');
  return key;
}

// The statement that ReadPage() takes.
inline constexpr char kRowsFrom[] = "SELECT key, value FROM kv WHERE key >= ? ORDER BY key";

absl::StatusOr<KvShard::Page> ReadPage(Statement& rows_from, const KvShard::Range& range);

}  // namespace kvstore
