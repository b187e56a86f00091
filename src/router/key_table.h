// Which of many sorted strings is the last one not above a key?
//
// The table strips what all strings have in common at the front and packs the next
// 7 bytes and the length (up to 8, "goes on") into one number whose order is the
// strings' order; a CodeTree finds the number. What is left of a string is looked
// at only when the key has the same number: the remainders of the few strings that
// share a number lie side by side in one cache line or two, and where many strings
// share one ("customer:eu-west:...") a table of their remainders is nested.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/pages.h"
#include "router/code_tree.h"

namespace shardmanager::router {

// Immutable. Strings compare as unsigned bytes and may hold any bytes.
class KeyTable {
 public:
  // `sorted`: ascending, without duplicates; copied.
  explicit KeyTable(std::span<const std::string_view> sorted);
  KeyTable(KeyTable&&) = default;
  KeyTable& operator=(KeyTable&&) = default;

  // How many strings are <= key. No lock, no allocation.
  size_t CountUpTo(std::string_view key) const {
    const int order = ComparePrefix(key);
    if (order != 0) [[unlikely]]
      return order < 0 ? empty_ : size_;
    const uint64_t code = Code(key.substr(prefix_.size()));
    const CodeTree::Found found = codes_.Find(code);
    if (found.contains && GoesOn(code)) return empty_ + ResolveTie(key, found.count - 1);
    return empty_ + (distinct_ ? found.count : groups_[found.count].first);
  }

  size_t size() const { return size_; }
  // How many groups of strings that share a code have a nested table: a key in such a group costs
  // a second search.
  size_t nested() const { return nested_.size(); }

 private:
  static constexpr size_t kCodeBytes = 7;
  static constexpr uint64_t kGoesOn = kCodeBytes + 1;
  // The strings' order is their codes' order; equal codes of strings that do not go
  // on mean equal strings.
  static uint64_t Code(std::string_view rest) {
    const size_t length = rest.size();
    if (length > kCodeBytes) return (Load<uint64_t>(rest.data()) & ~uint64_t{0xff}) | kGoesOn;
    if (length >= 4) {  // two overlapping halves
      const uint64_t head = Load<uint32_t>(rest.data());
      const uint64_t tail = Load<uint32_t>(rest.data() + length - 4);
      return head << 32 | tail << (8 * (8 - length)) | length;
    }
    uint64_t code = 0;
    for (size_t i = 0; i < length; ++i) {
      code |= uint64_t{static_cast<unsigned char>(rest[i])} << (56 - 8 * i);
    }
    return code | length;
  }
  // The bytes as a number whose order is theirs.
  template <typename Word>
  static Word Load(const char* bytes) {
    static_assert(std::endian::native == std::endian::little);
    Word word;
    std::memcpy(&word, bytes, sizeof word);
    if constexpr (sizeof word == 8) return __builtin_bswap64(word);
    return static_cast<Word>(__builtin_bswap32(static_cast<uint32_t>(word)));
  }
  static bool GoesOn(uint64_t code) { return (code & 0xff) == kGoesOn; }

  // Takes in the strings that share one code.
  // Returns where their remainders are.
  uint32_t AddRests(std::span<const std::string_view> group, uint64_t code);
  // <0, 0, >0: the key is below, has, is above the common prefix.
  int ComparePrefix(std::string_view key) const {
    if (prefix_.size() <= 8 && key.size() >= 8) [[likely]] {
      const uint64_t word = Load<uint64_t>(key.data()) & prefix_mask_;
      return word == prefix_word_ ? 0 : word < prefix_word_ ? -1 : 1;
    }
    return key.substr(0, prefix_.size()).compare(prefix_);
  }
  // How many strings are <= key, which has the code of group `group` and goes on.
  size_t ResolveTie(std::string_view key, size_t group) const;

  size_t size_ = 0;
  size_t empty_ = 0;  // 1: the first string is "", which is kept out of the rest
  std::string prefix_;
  uint64_t prefix_word_ = 0;  // the first 8 bytes of prefix_, for a quick comparison
  uint64_t prefix_mask_ = 0;
  CodeTree codes_;
  bool distinct_ = true;  // each code stands for one string
  // One for each code, and one for the end; none where no code needs it. Side by side, as a tie
  // needs both.
  struct Group {
    uint32_t first;  // its first string
    // Where the remainders of its strings are: in packed_ (a byte for the length, then
    // the bytes, string after string), or kNested + index in nested_.
    uint32_t rests;
  };
  static constexpr uint32_t kNested = 1u << 31;
  PageVector<Group> groups_;
  PageString packed_;
  std::vector<KeyTable> nested_;
};

}  // namespace shardmanager::router
