#include "router/code_tree.h"

#include <limits>

namespace shardmanager::router {
namespace {

// Fills blocks up. x <= padding is never asked for: see CodeTree::CodeTree.
constexpr uint64_t kPadding = std::numeric_limits<uint64_t>::max();

}  // namespace

CodeTree::CodeTree(std::span<const uint64_t> sorted) : size_(sorted.size()) {
  Block empty;
  empty.codes.fill(kPadding);
  blocks_.resize(sorted.size() / kBlock + 1, empty);
  for (size_t i = 0; i < sorted.size(); ++i) blocks_[i / kBlock].codes[i % kBlock] = sorted[i];

  // Each level's blocks hold the smallest numbers below their children, but for the
  // first child's. `stride`: leaves below one block of the level last built.
  size_t below = blocks_.size();
  size_t stride = 1;
  while (below > 1) {
    level_begin_[++height_] = blocks_.size();
    const size_t count = (below + kBlock) / (kBlock + 1);
    for (size_t block = 0; block < count; ++block) {
      Block node = empty;
      for (size_t i = 0; i < kBlock; ++i) {
        const size_t child = block * (kBlock + 1) + i + 1;
        if (child < below) node.codes[i] = blocks_[child * stride].codes[0];
      }
      blocks_.push_back(node);
    }
    below = count;
    stride *= kBlock + 1;
  }
}

}  // namespace shardmanager::router
