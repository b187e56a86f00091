#include "transfer/row_total.h"

#include <xxhash.h>

namespace shardmanager::transfer {

// Seeded, so that ("ab", "c") and ("a", "bc") differ.
uint64_t RowHash(std::string_view key, std::string_view value) {
  return XXH64(value.data(), value.size(), XXH64(key.data(), key.size(), 0));
}

}  // namespace shardmanager::transfer
