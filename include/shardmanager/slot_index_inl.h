// Slots by shard, which readers search without a lock while more are added. For ShardTable and the
// server library; not for use outside.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "shardmanager/types.h"

namespace shardmanager::sdk_internal {

// An open-addressing table that only grows. A slot, once made, stays for the life of the index, and
// an outgrown table is kept until the end (all of them together are as large as the last), so
// readers need no protection. `Slot` has a `const ShardId& shard() const`.
template <typename Slot>
class SlotIndex {
 public:
  SlotIndex() { Grow(kFirstSize); }
  SlotIndex(const SlotIndex&) = delete;
  SlotIndex& operator=(const SlotIndex&) = delete;

  // From any thread. Null: there is none.
  Slot* Find(std::string_view shard) const {
    const Cells& cells = *current_.load(std::memory_order_acquire);
    const size_t mask = cells.size() - 1;
    for (size_t i = absl::HashOf(shard) & mask;; i = (i + 1) & mask) {
      Slot* slot = cells[i].load(std::memory_order_acquire);
      if (slot == nullptr || slot->shard().value() == shard) return slot;
    }
  }

  // REQUIRES: there is none of this shard, and nobody else adds one meanwhile.
  Slot& Add(std::unique_ptr<Slot> slot) {
    slots_.push_back(std::move(slot));
    Cells& cells = *current_.load(std::memory_order_relaxed);
    if (slots_.size() * 2 > cells.size()) {
      Grow(cells.size() * 2);
    } else {
      Insert(cells, slots_.back().get());
    }
    return *slots_.back();
  }

  // In the order in which they were added; null: there are not so many. REQUIRES: nobody adds one
  // meanwhile.
  Slot* At(size_t number) const { return number < slots_.size() ? slots_[number].get() : nullptr; }

 private:
  using Cells = std::vector<std::atomic<Slot*>>;
  static constexpr size_t kFirstSize = 256;  // a power of two, as all sizes; half is used at most

  void Grow(size_t size) {
    auto cells = std::make_unique<Cells>(size);
    for (const auto& slot : slots_) Insert(*cells, slot.get());
    current_.store(cells.get(), std::memory_order_release);
    all_cells_.push_back(std::move(cells));
  }

  static void Insert(Cells& cells, Slot* slot) {
    const size_t mask = cells.size() - 1;
    size_t i = absl::HashOf(std::string_view(slot->shard().value())) & mask;
    while (cells[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask;
    cells[i].store(slot, std::memory_order_release);
  }

  std::atomic<Cells*> current_{nullptr};
  std::vector<std::unique_ptr<Cells>> all_cells_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace shardmanager::sdk_internal
