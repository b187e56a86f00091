#include "server/admission_table.h"

#include <limits>
#include <utility>

#include "absl/hash/hash.h"
#include "base/defect.h"
#include "model/request_metadata.h"

namespace shardmanager::server {
namespace {

constexpr size_t kFirstSize = 256;

size_t HashOf(std::string_view shard) { return absl::HashOf(shard); }

}  // namespace

void AdmissionSlot::Release() {
  // Sequentially consistent, like the other side in Close().
  if (word_.fetch_sub(1) == 1) table_.on_drained_(shard_);
}

bool AdmissionSlot::Enter() {
  if ((word_.load() & kOpen) == 0) return false;
  if ((word_.fetch_add(1) & kOpen) != 0) return true;
  Release();  // closed in between
  return false;
}

AdmissionTable::AdmissionTable(std::function<void(const ShardId&)> on_drained, Clock now)
    : on_drained_(std::move(on_drained)),
      now_(now),
      lease_until_(std::numeric_limits<int64_t>::min()) {
  all_cells_.push_back(std::make_unique<Cells>(kFirstSize));
  current_ = all_cells_.back().get();
}

AdmissionTable::~AdmissionTable() = default;

AdmissionTable::Admitted AdmissionTable::Admit(std::string_view shard) {
  namespace meta = request_metadata;
  if (stopping_.load(std::memory_order_relaxed)) return {.refusal = meta::kStopping};
  AdmissionSlot* slot = Find(shard);
  if (slot == nullptr) return {.refusal = meta::kNotOwner};
  if (!slot->Enter()) {
    const bool loading = slot->loading_.load(std::memory_order_relaxed);
    return {.refusal = loading ? meta::kLoading : meta::kNotOwner};
  }
  const Role role = slot->role_.load(std::memory_order_relaxed);
  const bool needs_lease = !Planted(Defect::kNoLease) &&
                           (role == Role::kPrimary || stop_all_.load(std::memory_order_relaxed));
  // Looked at after the request is counted: what is admitted is admitted under a
  // lease that is valid now.
  if (needs_lease && now_().time_since_epoch().count() >= lease_until_.load()) {
    slot->Release();
    return {.refusal = meta::kLeaseLapsed};
  }
  // And the gate is looked at once more: a lease that came back while we were between
  // the two looks came after the gates were closed that a former life left open.
  if ((slot->word_.load() & AdmissionSlot::kOpen) == 0) {
    slot->Release();
    return {.refusal = meta::kNotOwner};
  }
  return {slot, ShardEpoch(slot->epoch_.load(std::memory_order_relaxed)), role, nullptr};
}

void AdmissionTable::Open(const ShardId& shard, Role role, ShardEpoch epoch) {
  AdmissionSlot& slot = FindOrMake(shard);
  slot.loading_ = false;
  slot.role_ = role;
  slot.epoch_ = epoch.value();
  slot.word_.fetch_or(AdmissionSlot::kOpen);
}

void AdmissionTable::ShowLoading(const ShardId& shard) { FindOrMake(shard).loading_ = true; }

bool AdmissionTable::Idle(const ShardId& shard) const {
  const AdmissionSlot* slot = Find(shard.value());
  return slot == nullptr || slot->word_.load() == 0;
}

AdmissionSlot* AdmissionTable::Hold(std::string_view shard) {
  AdmissionSlot* slot = Find(shard);
  return slot != nullptr && slot->Enter() ? slot : nullptr;
}

void AdmissionTable::Close(const ShardId& shard) {
  AdmissionSlot& slot = FindOrMake(shard);
  slot.loading_ = false;
  if ((slot.word_.fetch_and(~AdmissionSlot::kOpen) & ~AdmissionSlot::kOpen) == 0) {
    on_drained_(shard);
  }
}

AdmissionSlot* AdmissionTable::Find(std::string_view shard) const {
  const Cells& cells = *current_.load(std::memory_order_acquire);
  const size_t mask = cells.cells.size() - 1;
  for (size_t i = HashOf(shard) & mask;; i = (i + 1) & mask) {
    AdmissionSlot* slot = cells.cells[i].load(std::memory_order_acquire);
    if (slot == nullptr || slot->shard_.value() == shard) return slot;
  }
}

AdmissionSlot& AdmissionTable::FindOrMake(const ShardId& shard) {
  if (AdmissionSlot* slot = Find(shard.value())) return *slot;
  slots_.push_back(std::unique_ptr<AdmissionSlot>(new AdmissionSlot(shard, *this)));
  Cells* cells = current_.load(std::memory_order_relaxed);
  if (slots_.size() * 2 > cells->cells.size()) {
    all_cells_.push_back(std::make_unique<Cells>(cells->cells.size() * 2));
    cells = all_cells_.back().get();
    for (const auto& slot : slots_) Insert(*cells, slot.get());
    current_.store(cells, std::memory_order_release);
  } else {
    Insert(*cells, slots_.back().get());
  }
  return *slots_.back();
}

void AdmissionTable::Insert(Cells& cells, AdmissionSlot* slot) {
  const size_t mask = cells.cells.size() - 1;
  size_t i = HashOf(slot->shard_.value()) & mask;
  while (cells.cells[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask;
  cells.cells[i].store(slot, std::memory_order_release);
}

}  // namespace shardmanager::server
