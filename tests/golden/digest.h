// A short number for a long run: equal runs have equal ones, in every process and build.
#pragma once

#include <cstdint>
#include <string_view>

namespace shardmanager {

// FNV-1a, of values or of characters.
class Digest {
 public:
  void Add(uint64_t value) { value_ = (value_ ^ value) * 1'099'511'628'211U; }
  void Add(std::string_view text) {
    for (const char c : text) Add(uint64_t{static_cast<uint8_t>(c)});
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14'695'981'039'346'656'037U;
};

}  // namespace shardmanager
