// The bytes of a fuzzer as values: short inputs give small values, and an input that
// ends gives zeros, so every input is a valid one.
//
// Read from the front, so that a text file is a fine seed of a target that wants text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace shardmanager::fuzz {

class FuzzInput {
 public:
  explicit FuzzInput(std::string_view bytes) : bytes_(bytes) {}

  // Nothing is left: the loops over events end here.
  bool empty() const { return bytes_.empty(); }

  uint8_t Byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }
  bool Flag() { return (Byte() & 1) != 0; }
  // In [0, bound). REQUIRES: bound is 1 to 256.
  uint32_t Below(uint32_t bound) { return Byte() % bound; }
  // Anything: mostly small, sometimes of any size.
  uint64_t Number() {
    const uint8_t bytes = Byte();
    if (bytes < 200) return bytes;
    uint64_t number = 0;
    for (int i = 0; i <= bytes % 8; ++i) number = number << 8 | Byte();
    return number;
  }
  // Of at most `most` bytes; `most` is below 65,536.
  std::string Text(size_t most) {
    size_t length = Byte();
    if (most > 255) length = length << 8 | Byte();
    const auto text = std::string(bytes_.substr(0, std::min(length, most)));
    bytes_.remove_prefix(text.size());
    return text;
  }
  std::string_view Rest() { return std::exchange(bytes_, {}); }

 private:
  std::string_view bytes_;
};

}  // namespace shardmanager::fuzz
