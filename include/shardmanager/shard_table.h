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
#include <memory>
#include <mutex>
#include <utility>

#include "shardmanager/slot_index_inl.h"
#include "shardmanager/types.h"

namespace shardmanager {

// Thread-safe. What may be called when:
//  * Find: while an Admission of the shard is held, and in the methods of ShardHandler for the
//    shard (whose calls for one shard never overlap). Insert and Remove of this shard do not run
//    meanwhile; those of other shards may.
//  * Insert, Remove: in AddShard, DropShard and ChangeRole, as no Admission of the shard is held
//    then. Not inside of Visit or ForEach.
//  * Visit, ForEach: at any time, from any thread, such as one that writes metrics or flushes.
//    Insert and Remove of the shard wait until the function has returned, so it must be short. It
//    may run together with requests of the shard.
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

  ShardTable() = default;
  // REQUIRES: nobody uses the table any more.
  ~ShardTable() {
    for (size_t i = 0; const Slot* slot = slots_.At(i); ++i) Owner(slot->state.load());
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
    Slot* slot = slots_.Find(shard.value());
    if (slot == nullptr) return Owner();
    std::lock_guard lock(slot->mutex);
    return Owner(slot->state.exchange(nullptr));
  }

  // Null: the shard is not there. No lock, no allocation.
  T* Find(const ShardId& shard) const {
    const Slot* slot = slots_.Find(shard.value());
    return slot == nullptr ? nullptr : StateOf(*slot);
  }

  // Calls function(T&). False: the shard is not there, and nothing was called.
  template <typename Function>
  bool Visit(const ShardId& shard, const Function& function) const {
    const Slot* slot = slots_.Find(shard.value());
    return slot != nullptr && VisitSlot(*slot, function);
  }

  // Calls function(const ShardId&, T&) for each shard, in the order in which the shards came for
  // the first time. Shards that come or go meanwhile are visited, or not.
  template <typename Function>
  void ForEach(const Function& function) const {
    const Slot* slot = nullptr;
    for (size_t i = 0; (slot = SlotAt(i)) != nullptr; ++i) {
      VisitSlot(*slot, [&](T& state) { function(slot->shard(), state); });
    }
  }

 private:
  // Two neighbouring lines of 64 bytes are often fetched as one.
  static constexpr size_t kLineBytes = 128;

  struct alignas(kLineBytes) Padded {
    template <typename... Arguments>
    explicit Padded(Arguments&&... arguments) : state(std::forward<Arguments>(arguments)...) {}
    T state;
  };

  // One for each shard that was ever inserted, which it stays with. In cache lines of its own, as
  // Visit writes to it.
  struct alignas(kLineBytes) Slot {
    explicit Slot(const ShardId& shard) : id(shard) {}
    const ShardId& shard() const { return id; }
    const ShardId id;
    std::atomic<Padded*> state{nullptr};
    mutable std::mutex mutex;  // held by who changes `state`, and during Visit
  };

  static T* StateOf(const Slot& slot) {
    Padded* padded = slot.state.load(std::memory_order_acquire);
    return padded == nullptr ? nullptr : &padded->state;
  }

  Slot& FindOrAdd(const ShardId& shard) {
    std::lock_guard lock(mutex_);
    if (Slot* slot = slots_.Find(shard.value())) return *slot;
    return slots_.Add(std::make_unique<Slot>(shard));
  }

  const Slot* SlotAt(size_t index) const {
    std::lock_guard lock(mutex_);
    return slots_.At(index);
  }

  template <typename Function>
  static bool VisitSlot(const Slot& slot, const Function& function) {
    std::lock_guard lock(slot.mutex);
    T* state = StateOf(slot);
    if (state == nullptr) return false;
    function(*state);
    return true;
  }

  mutable std::mutex mutex_;  // held by who adds a slot
  sdk_internal::SlotIndex<Slot> slots_;
};

}  // namespace shardmanager
