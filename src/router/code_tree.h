// A sorted set of 64-bit numbers that answers "how many are not above x?" fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/pages.h"

namespace shardmanager::router {

// A static B+ tree whose blocks are one cache line each: 8 numbers, 9 children, so
// 100,000 numbers are 6 lines deep, and a block is compared without a branch. After
// S. Slotin, "Algorithms for Modern Hardware", chapter "Static B-Trees". Immutable
// once built.
class CodeTree {
 public:
  // `sorted`: ascending, without duplicates.
  explicit CodeTree(std::span<const uint64_t> sorted = {});

  size_t size() const { return size_; }

  struct Found {
    size_t count;   // how many numbers are <= x
    bool contains;  // the greatest of them is x
  };
  Found Find(uint64_t x) const {
    const Block* level = blocks_.data();
    size_t at = 0;
    for (size_t below = height_; below > 0; --below) {
      level = blocks_.data() + level_begin_[below];
      at = at * (kBlock + 1) + NotAbove(level[at], x);
    }
    const Block& leaf = blocks_[level_begin_[0] + at];
    const size_t in_leaf = NotAbove(leaf, x);
    return {at * kBlock + in_leaf, in_leaf > 0 && leaf.codes[in_leaf - 1] == x};
  }

 private:
  static constexpr size_t kBlock = 8;
  static constexpr size_t kMostLevels = 12;  // 9^12 blocks: more than fit in memory
  struct alignas(64) Block {
    std::array<uint64_t, kBlock> codes;
  };

  // How many of the block's numbers are <= x. Two sums, so that the additions (with
  // carry, from the comparisons) of one need not wait for the other's.
  static size_t NotAbove(const Block& block, uint64_t x) {
    const auto& c = block.codes;
    size_t above_even = 0;
    size_t above_odd = 0;
    above_even += x < c[0];
    above_odd += x < c[1];
    above_even += x < c[2];
    above_odd += x < c[3];
    above_even += x < c[4];
    above_odd += x < c[5];
    above_even += x < c[6];
    above_odd += x < c[7];
    return kBlock - above_even - above_odd;
  }

  size_t size_ = 0;
  size_t height_ = 0;                              // levels above the leaves
  std::array<size_t, kMostLevels> level_begin_{};  // 0: the leaves
  PageVector<Block> blocks_;
};

}  // namespace shardmanager::router
