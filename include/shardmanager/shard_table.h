// A table of what a server has for each shard that it holds. AddShard inserts, DropShard removes,
// requests find:
//
//   struct Counts { std::mutex mutex; std::map<std::string, uint64_t> by_key; };
//   ShardTable<Counts> shards_;
//
//   absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
//     auto counts = ShardTable<Counts>::New();
//     ... load into counts->by_key ...
//     shards_.Insert(grant.shard, std::move(counts));
//     return absl::OkStatus();
//   }
//   absl::Status DropShard(const ShardId& shard) override {
//     auto counts = shards_.Remove(shard);              // ours alone now
//     return counts ? Save(*counts) : absl::OkStatus();
//   }
//   grpc::Status Add(...) {
//     auto admission = server_.Admit(...);
//     if (!admission.ok()) return admission.status();
//     Counts& counts = *shards_.Find(admission.shard()); // good while the admission is held
//
// A request takes no lock of the table's, writes no memory that another one reads, and finds its
// shard in constant time: threads do not slow each other down, neither in the table nor, as each
// state has cache lines of its own, in the states of different shards. What requests of one shard
// do to its T is up to T.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "shardmanager/types.h"

namespace shardmanager {

// Thread-safe. What may be called when:
//
//   Find             while an Admission of the shard is held, and in the methods of ShardHandler
//   for the
//                    shard (whose calls for one shard never overlap): Insert and Remove of this
//                    shard do not run meanwhile. Those of other shards may.
//   Insert, Remove   in AddShard, DropShard and ChangeRole: no Admission of the shard is held then.
//   Not
//                    inside of Visit or ForEach.
//   Visit, ForEach   at any time, from any thread, such as one that writes metrics or flushes.
//   Insert and
//                    Remove of the shard wait until the function has returned, so it must be short.
//                    It may run together with requests of the shard.
//
// A pointer that Find returned is good until the Admission is released. Keep none beyond it.
//
// A shard that was ever inserted keeps an entry of about 150 bytes after it is removed: Find needs
// no lock because nothing that it may be looking at is given back before the table is destroyed.
template <typename T>
class ShardTable {
 public:
  // A state that is in no table, in cache lines of its own. Null after it was moved from. Movable.
  class Owner {
   public:
    Owner() = default;
    explicit operator bool() const { return padded_ != nullptr; }
    T& operator*() const { return padded_->state; }
    T* operator->() const { return &padded_->state; }

   private:
    friend class ShardTable;
    explicit Owner(typename ShardTable::Padded* padded) : padded_(padded) {}
    std::unique_ptr<typename ShardTable::Padded> padded_;
  };
  // T(arguments...).
  template <typename... Arguments>
  static Owner New(Arguments&&... arguments) {
    return Owner(new Padded(std::forward<Arguments>(arguments)...));
  }

  ShardTable() { Grow(kFirstCells); }
  // REQUIRES: nobody uses the table any more.
  ~ShardTable() {
    for (const auto& slot : slots_) Owner(slot->state.load());
  }
  ShardTable(const ShardTable&) = delete;
  ShardTable& operator=(const ShardTable&) = delete;

  // Takes the state in. Returns what the shard had before, if anything: AddShard may be called for
  // a shard that was not dropped. REQUIRES: `state` is not null.
  Owner Insert(const ShardId& shard, Owner state) {
    Slot& slot = FindOrAdd(shard);
    std::lock_guard lock(slot.mutex);
    return Owner(slot.state.exchange(state.padded_.release()));
  }

  // Null: the shard is not there.
  Owner Remove(const ShardId& shard) {
    Slot* slot = FindSlot(shard, Hash(shard));
    if (slot == nullptr) return Owner();
    std::lock_guard lock(slot->mutex);
    return Owner(slot->state.exchange(nullptr));
  }

  // Null: the shard is not there. No lock, no allocation.
  T* Find(const ShardId& shard) const {
    const Slot* slot = FindSlot(shard, Hash(shard));
    return slot == nullptr ? nullptr : StateOf(*slot);
  }

  // Calls function(T&). False: the shard is not there, and nothing was called.
  template <typename Function>
  bool Visit(const ShardId& shard, const Function& function) const {
    const Slot* slot = FindSlot(shard, Hash(shard));
    return slot != nullptr && VisitSlot(*slot, function);
  }

  // Calls function(const ShardId&, T&) for each shard, in the order in which the shards came for
  // the first time. Shards that come or go meanwhile are visited, or not.
  template <typename Function>
  void ForEach(const Function& function) const {
    const Slot* slot = nullptr;
    for (size_t i = 0; (slot = SlotAt(i)) != nullptr; ++i) {
      VisitSlot(*slot, [&](T& state) { function(slot->id, state); });
    }
  }

 private:
  // Two neighbouring lines of 64 bytes are often fetched as one.
  static constexpr size_t kLineBytes = 128;
  static constexpr size_t kFirstCells = 64;  // a power of two

  struct alignas(kLineBytes) Padded {
    template <typename... Arguments>
    explicit Padded(Arguments&&... arguments) : state(std::forward<Arguments>(arguments)...) {}
    T state;
  };

  // One for each shard that was ever inserted, which it stays with. In cache lines of its own, as
  // Visit writes to it.
  struct alignas(kLineBytes) Slot {
    Slot(const ShardId& shard, size_t id_hash) : id(shard), hash(id_hash) {}
    const ShardId id;
    const size_t hash;
    std::atomic<Padded*> state{nullptr};
    mutable std::mutex mutex;  // held by who changes `state`, and during Visit
  };

  // A hash table with linear probing, at most half full: a search ends at an empty cell. Cells are
  // filled, and never emptied or moved; a larger table takes the place of a full one, which stays
  // until the end, as somebody may be searching it.
  using Cells = std::vector<std::atomic<Slot*>>;

  static size_t Hash(const ShardId& shard) { return std::hash<std::string>()(shard.value()); }

  static T* StateOf(const Slot& slot) {
    Padded* padded = slot.state.load(std::memory_order_acquire);
    return padded == nullptr ? nullptr : &padded->state;
  }

  Slot* FindSlot(const ShardId& shard, size_t hash) const {
    const Cells& cells = *cells_.load(std::memory_order_acquire);
    for (size_t at = hash;; ++at) {
      Slot* slot = cells[at & (cells.size() - 1)].load(std::memory_order_acquire);
      if (slot == nullptr || (slot->hash == hash && slot->id == shard)) return slot;
    }
  }

  Slot& FindOrAdd(const ShardId& shard) {
    const size_t hash = Hash(shard);
    std::lock_guard lock(mutex_);
    if (Slot* slot = FindSlot(shard, hash)) return *slot;
    slots_.push_back(std::make_unique<Slot>(shard, hash));
    Cells& cells = *tables_.back();
    if (slots_.size() > cells.size() / 2) {
      Grow(cells.size() * 2);
    } else {
      Fill(cells, *slots_.back());
    }
    return *slots_.back();
  }

  // REQUIRES of both: mutex_ is held, or nobody else knows the table.
  void Grow(size_t count) {
    auto cells = std::make_unique<Cells>(count);
    for (const auto& slot : slots_) Fill(*cells, *slot);
    tables_.push_back(std::move(cells));
    cells_.store(tables_.back().get(), std::memory_order_release);
  }
  static void Fill(Cells& cells, Slot& slot) {
    size_t at = slot.hash;
    while (cells[at & (cells.size() - 1)].load(std::memory_order_relaxed) != nullptr) ++at;
    cells[at & (cells.size() - 1)].store(&slot, std::memory_order_release);
  }

  const Slot* SlotAt(size_t index) const {
    std::lock_guard lock(mutex_);
    return index < slots_.size() ? slots_[index].get() : nullptr;
  }

  template <typename Function>
  static bool VisitSlot(const Slot& slot, const Function& function) {
    std::lock_guard lock(slot.mutex);
    T* state = StateOf(slot);
    if (state == nullptr) return false;
    function(*state);
    return true;
  }

  std::atomic<const Cells*> cells_{nullptr};  // the newest of tables_
  mutable std::mutex mutex_;                  // held by who adds a slot
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<Cells>> tables_;
};

}  // namespace shardmanager
