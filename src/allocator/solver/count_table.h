// How many objects of a group stand in a domain, for groups too large to be looked
// through. A hash table with open addressing: entries never leave, as the same pairs
// come back all the time.
#pragma once

#include <cstdint>
#include <vector>

#include "allocator/solver/ids.h"

namespace shardmanager::solver {

class CountTable {
 public:
  CountTable() : slots_(64) {}

  uint32_t Get(GroupId g, DomainId d) const { return slots_[Find(Key(g, d))].count; }
  // Returns the count after it.
  uint32_t Add(GroupId g, DomainId d, int change) {
    size_t at = Find(Key(g, d));
    if (slots_[at].key == kEmpty) {
      if (++used_ * 2 > slots_.size()) {
        Grow();
        at = Find(Key(g, d));
      }
      slots_[at].key = Key(g, d);
    }
    return slots_[at].count += static_cast<uint32_t>(change);
  }

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t count = 0;
  };

  static uint64_t Key(GroupId g, DomainId d) { return uint64_t{g.index()} << 32 | d.index(); }
  size_t Find(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (key * 0x9e3779b97f4a7c15 >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) slots_[Find(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace shardmanager::solver
