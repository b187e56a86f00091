#include "server/admission_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/defect.h"
#include "model/request_metadata.h"

namespace shardmanager::server {
namespace {

// Of the session whose lease it is.
bool HasEnded(TimePoint lease_until) { return lease_until == TimePoint::min(); }

}  // namespace

void AdmissionSlot::Release() {
  // Sequentially consistent, like the other side in Close().
  if (word_.fetch_sub(1) == 1) table_.on_drained_(shard_);
}

bool AdmissionSlot::Enter(uint64_t open) {
  if ((word_.load() & open) == 0) return false;
  if ((word_.fetch_add(1) & open) != 0) return true;
  Release();  // closed in between
  return false;
}

AdmissionTable::AdmissionTable(std::function<void(const ShardId&)> on_drained, Clock now,
                               std::function<void(const ShardId&)> on_forwarded)
    : on_drained_(std::move(on_drained)),
      now_(now),
      on_forwarded_(std::move(on_forwarded)),
      lease_until_(std::numeric_limits<int64_t>::min()),
      leased_until_(std::numeric_limits<int64_t>::min()),
      queue_(mutex_, [this] { return now_() < lease_until() || HasEnded(lease_until()); }) {}

AdmissionTable::~AdmissionTable() = default;

// ---- requests ----

AdmissionTable::Admitted AdmissionTable::Admit(const Request& request) {
  namespace meta = request_metadata;
  AdmissionSlot* slot = slots_.Find(request.shard);
  if (stopping_.load(std::memory_order_relaxed)) {
    // What went elsewhere is sent on as long as this process is there.
    Admitted admitted{.refusal = meta::kStopping};
    std::lock_guard lock(mutex_);
    if (slot != nullptr && request.forwarder == nullptr) admitted.forward_to = SuccessorOf(*slot);
    return admitted;
  }
  if (slot == nullptr) return {.refusal = meta::kNotOwner};
  return AdmitAt(*slot, request);
}

AdmissionTable::Admitted AdmissionTable::AdmitAt(AdmissionSlot& slot, const Request& request) {
  if (slot.Enter(AdmissionSlot::kOpen)) {
    return AdmitEntered(slot, AdmissionSlot::kOpen, request);
  }
  return AdmitInHandover(slot, request);
}

AdmissionTable::Admitted AdmissionTable::AdmitEntered(AdmissionSlot& slot, uint64_t open,
                                                      const Request& request) {
  namespace meta = request_metadata;
  const Role role = slot.role_.load(std::memory_order_relaxed);
  // Looked at after the request is counted: what is admitted is admitted under a
  // lease that is valid now.
  if (!LeaseHolds(slot, role)) {
    slot.Release();
    return AdmitWithoutLease(slot);
  }
  // And the gate is looked at once more: a lease that came back while we were between
  // the two looks came after the gates were closed that a former life left open.
  if ((slot.word_.load() & open) == 0) {
    slot.Release();
    return AdmitInHandover(slot, request);  // a hold closes it, too
  }
  if (request.for_primary && role != Role::kPrimary) {
    slot.Release();
    return AdmitToPrimary(slot, request);
  }
  return {&slot, ShardEpoch(slot.epoch_.load(std::memory_order_relaxed)), role, nullptr};
}

bool AdmissionTable::LeaseHolds(const AdmissionSlot& slot, Role role) const {
  if (Planted(Defect::kNoLease)) return true;
  const OnPartition policy = policy_.load(std::memory_order_relaxed);
  if (role != Role::kPrimary && policy != OnPartition::kStopAll) return true;
  if (now_() < lease_until()) return true;
  // Nothing begins to be served without a lease: another server may have had the shard since.
  return policy == OnPartition::kKeepServing && slot.opened_at_ < leased_until_;
}

bool AdmissionTable::IsCutOff() {
  std::lock_guard lock(mutex_);
  const bool had_lease = leased_until_ != std::numeric_limits<int64_t>::min();
  return policy_ == OnPartition::kKeepServing && had_lease && !first_lease_comes_ &&
         now_() >= lease_until();
}

// Held while the session may still live. Nothing is admitted before the lease is valid again.
AdmissionTable::Admitted AdmissionTable::AdmitWithoutLease(AdmissionSlot& slot) {
  Admitted without{.refusal = request_metadata::kLeaseLapsed};
  std::lock_guard lock(mutex_);
  if (HasEnded(lease_until())) return without;
  without.held_at = &slot.line_;
  without.held_since = slot.line_.changes();
  without.lapsed_at = lease_until();
  return without;
}

void AdmissionTable::AwaitLease() {
  std::lock_guard lock(mutex_);
  if (!HasEnded(lease_until())) return;
  lease_until_ = now_().time_since_epoch().count();
  first_lease_comes_ = true;
}

void AdmissionTable::SetLease(TimePoint until) {
  std::lock_guard lock(mutex_);
  const bool first = std::exchange(first_lease_comes_, false) || HasEnded(lease_until());
  if (!first && until > lease_until()) lease_meter_.Renewed(lease_until() - now_());
  lease_until_ = until.time_since_epoch().count();
  // A lease may be taken back before its time: it was valid until now.
  const int64_t now = now_().time_since_epoch().count();
  leased_until_ = std::max(std::min(leased_until_.load(), now), lease_until_.load());
  if (now_() < lease_until() || HasEnded(lease_until())) queue_.LeaseDecided();
}

// What is meant for the primary, at a secondary. One that was the primary sends it on; one
// to whom it is sent on is about to become the primary.
AdmissionTable::Admitted AdmissionTable::AdmitToPrimary(AdmissionSlot& slot,
                                                        const Request& request) {
  namespace meta = request_metadata;
  std::unique_lock lock(mutex_);
  if (slot.role_.load() == Role::kPrimary) {  // since it was looked at
    lock.unlock();
    return AdmitAt(slot, request);
  }
  // Between two modes the gate may be open for a moment. Asking it again would not end before
  // the next mode; a thread that sets it may be far from its turn.
  if (request.forwarder != nullptr || slot.mode_ != AdmissionSlot::Mode::kPlain) {
    return {.refusal = meta::kMoving, .held_at = &slot.line_, .held_since = slot.line_.changes()};
  }
  if (slot.successor_.server.empty()) return {.refusal = meta::kNotOwner};
  return {.refusal = meta::kMoving, .forward_to = std::make_unique<Successor>(slot.successor_)};
}

AdmissionTable::Admitted AdmissionTable::AdmitInHandover(AdmissionSlot& slot,
                                                         const Request& request) {
  namespace meta = request_metadata;
  using Mode = AdmissionSlot::Mode;
  const Forwarder* forwarder = request.forwarder;
  std::unique_lock lock(mutex_);
  const Mode mode = slot.mode_;
  const bool from_old_owner = forwarder != nullptr && forwarder->server == slot.old_owner_ &&
                              forwarder->epoch.value() == slot.epoch_.load();
  Admitted held{
      .refusal = meta::kMoving, .held_at = &slot.line_, .held_since = slot.line_.changes()};
  // What was forwarded once is not forwarded again.
  if (mode == Mode::kForward && forwarder == nullptr) {
    if (auto to = SuccessorOf(slot)) return {.refusal = meta::kMoving, .forward_to = std::move(to)};
    lock.unlock();
    return AdmitWithoutLease(slot);
  }
  if (mode == Mode::kPause || (mode == Mode::kHold && forwarder == nullptr)) return held;
  lock.unlock();
  if (mode == Mode::kAwaitForwarded && from_old_owner) {
    on_forwarded_(slot.shard_);
    return held;
  }
  // Opened since it was found closed.
  if (mode == Mode::kPlain && slot.Enter(AdmissionSlot::kOpen)) {
    return AdmitEntered(slot, AdmissionSlot::kOpen, request);
  }
  // A stream that the old owner has sent on asks for each of its messages as this server's work.
  const bool enters = mode == Mode::kOpenForwarded && (from_old_owner || request.own_work);
  if (enters && slot.Enter(AdmissionSlot::kOpenForwarded)) {
    return AdmitEntered(slot, AdmissionSlot::kOpenForwarded, request);
  }
  const bool loading = slot.loading_.load(std::memory_order_relaxed);
  return {.refusal = loading ? meta::kLoading : meta::kNotOwner};
}

// To whom it is sent on, under the lease; null: it is not. REQUIRES: the mutex is held.
std::unique_ptr<Successor> AdmissionTable::SuccessorOf(const AdmissionSlot& slot) const {
  const bool forwards = slot.mode_ == AdmissionSlot::Mode::kForward && LeaseHolds(slot, slot.role_);
  return forwards ? std::make_unique<Successor>(slot.successor_) : nullptr;
}

// ---- modes ----

void AdmissionTable::SetMode(AdmissionSlot& slot, AdmissionSlot::Mode mode) {
  std::lock_guard lock(mutex_);
  slot.mode_ = mode;
  queue_.Changed(slot.line_);
}

void AdmissionTable::Open(const ShardId& shard, Role role, ShardEpoch epoch,
                          const Successor* primary) {
  AdmissionSlot& slot = SlotOf(shard);
  slot.loading_ = false;
  {
    std::lock_guard lock(mutex_);
    slot.role_ = role;
    slot.epoch_ = epoch.value();
    slot.successor_ = primary == nullptr ? Successor{} : *primary;
    if (std::exchange(slot.opened_, epoch) != epoch) {
      slot.opened_at_ = now_().time_since_epoch().count();
    }
  }
  slot.word_.fetch_or(AdmissionSlot::kOpen);
  SetMode(slot, AdmissionSlot::Mode::kPlain);
}

void AdmissionTable::ShowLoading(const ShardId& shard) {
  AdmissionSlot& slot = SlotOf(shard);
  slot.loading_ = true;
  // What the old owner of a handover forwards is held until the shard has loaded.
  if (slot.mode_ == AdmissionSlot::Mode::kAwaitForwarded) return;
  SetMode(slot, AdmissionSlot::Mode::kPlain);
}

bool AdmissionTable::Idle(const ShardId& shard) const {
  const AdmissionSlot* slot = slots_.Find(shard.value());
  return slot == nullptr || slot->word_.load() == 0;
}

AdmissionSlot* AdmissionTable::Pin(std::string_view shard) {
  AdmissionSlot* slot = slots_.Find(shard);
  return slot != nullptr && slot->Enter(AdmissionSlot::kOpen) ? slot : nullptr;
}

void AdmissionTable::Close(const ShardId& shard) {
  AdmissionSlot& slot = SlotOf(shard);
  slot.loading_ = false;
  CloseTo(slot, AdmissionSlot::Mode::kPlain);
}

void AdmissionTable::Hold(const ShardId& shard) {
  CloseTo(SlotOf(shard), AdmissionSlot::Mode::kHold);
}

void AdmissionTable::Pause(const ShardId& shard) {
  CloseTo(SlotOf(shard), AdmissionSlot::Mode::kPause);
}

void AdmissionTable::CloseTo(AdmissionSlot& slot, AdmissionSlot::Mode mode) {
  constexpr uint64_t kAnyOpen = AdmissionSlot::kOpen | AdmissionSlot::kOpenForwarded;
  SetMode(slot, mode);  // before it closes: what finds it closed must find why
  if ((slot.word_.fetch_and(~kAnyOpen) & ~kAnyOpen) == 0) on_drained_(slot.shard_);
}

void AdmissionTable::AwaitForwarded(const ShardId& shard, Role role, ShardEpoch epoch,
                                    const std::string& old_owner) {
  AdmissionSlot& slot = SlotOf(shard);
  {
    std::lock_guard lock(mutex_);
    slot.old_owner_ = old_owner;
    slot.role_ = role;
    slot.epoch_ = epoch.value();
    slot.opened_ = ShardEpoch();
    slot.opened_at_ = kNever.time_since_epoch().count();
  }
  SetMode(slot, AdmissionSlot::Mode::kAwaitForwarded);
}

void AdmissionTable::OpenForwarded(const ShardId& shard, Role role, ShardEpoch epoch,
                                   const std::string& old_owner) {
  AwaitForwarded(shard, role, epoch, old_owner);
  AdmissionSlot& slot = SlotOf(shard);
  slot.word_.fetch_or(AdmissionSlot::kOpenForwarded);
  SetMode(slot, AdmissionSlot::Mode::kOpenForwarded);
}

void AdmissionTable::Forward(const ShardId& shard, const Successor& to) {
  AdmissionSlot& slot = SlotOf(shard);
  {
    std::lock_guard lock(mutex_);
    slot.successor_ = to;
  }
  SetMode(slot, AdmissionSlot::Mode::kForward);
}

AdmissionSlot& AdmissionTable::SlotOf(const ShardId& shard) {
  if (AdmissionSlot* slot = slots_.Find(shard.value())) return *slot;
  return slots_.Add(std::unique_ptr<AdmissionSlot>(new AdmissionSlot(shard, *this)));
}

}  // namespace shardmanager::server
