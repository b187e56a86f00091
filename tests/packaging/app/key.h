// How an account is written as a key.
#pragma once

#include <cstdint>
#include <string>

// Eight bytes, the most significant one first, so that keys are in the order of the numbers.
inline std::string KeyOf(uint64_t account) {
  std::string key(8, '\0');
  for (size_t i = 0; i < 8; ++i) key[i] = static_cast<char>(account >> (56 - 8 * i));
  return key;
}
