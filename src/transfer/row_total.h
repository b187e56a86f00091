// What a copy has, as two numbers that every change can keep up to date.
#pragma once

#include <cstdint>
#include <string_view>

namespace shardmanager::transfer {

// The order of rows does not matter: a sum of hashes.
struct Total {
  uint64_t count = 0;
  uint64_t sum = 0;
  friend bool operator==(const Total&, const Total&) = default;
};

// XXH64 of the value, seeded with the XXH64 of the key.
uint64_t RowHash(std::string_view key, std::string_view value);

}  // namespace shardmanager::transfer
