// Dense ids: positions in a table. Hot state is keyed by them; names live in an
// Interner.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace shardmanager {

template <typename Tag>
class DenseId {
 public:
  constexpr DenseId() = default;
  constexpr explicit DenseId(size_t index) : index_(static_cast<uint32_t>(index)) {}

  constexpr uint32_t index() const { return index_; }
  constexpr bool valid() const { return index_ != kInvalid; }

  friend constexpr auto operator<=>(DenseId, DenseId) = default;
  template <typename H>
  friend H AbslHashValue(H h, DenseId id) {
    return H::combine(std::move(h), id.index_);
  }

 private:
  static constexpr uint32_t kInvalid = std::numeric_limits<uint32_t>::max();
  uint32_t index_ = kInvalid;
};

// The ids of a whole table, in order: `for (ServerIndex id : IdRange<ServerIndex>(count))`.
template <typename Id>
class IdRange {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(size_t index) : index_(index) {}
    constexpr Id operator*() const { return Id(index_); }
    constexpr Iterator& operator++() {
      ++index_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    size_t index_;
  };

  constexpr explicit IdRange(size_t count) : count_(count) {}
  constexpr Iterator begin() const { return Iterator(0); }
  constexpr Iterator end() const { return Iterator(count_); }

 private:
  size_t count_;
};

using ShardIndex = DenseId<struct ShardIndexTag>;
using ServerIndex = DenseId<struct ServerIndexTag>;

}  // namespace shardmanager
