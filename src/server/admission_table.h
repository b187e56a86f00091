// Who may be processed now: the hot path of the server library.
//
// Lookup takes no lock and allocates nothing (slot_index_inl.h). A slot, once made, stays for the
// life of the server: some hundred bytes for each shard that was ever assigned here.
//
// A slot's word counts the requests in flight, with one bit for "open". Admitting
// adds one and then looks at the bit; closing clears the bit and then looks at the
// count: whoever comes second sees the other, so no request slips through a close,
// and the last one out reports that the slot is drained. (A request that finds the
// slot closed is not counted at all: a report for every refusal would be a flood.)
//
// A shard in a handover is closed, too: what finds it so asks, under a lock, whether it is
// to be held, forwarded, or (forwarded by the old owner) admitted. The same goes for what is
// meant for the primary and finds a secondary, and for what finds that the lease has lapsed
// while the session may still live: a renewal may come at any moment, so that is held, too.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/time.h"
#include "runtime/clock.h"
#include "server/handover.h"
#include "server/held/held_queue.h"
#include "server/lease_meter.h"
#include "server/on_partition.h"
#include "server/traffic/shard_counts.h"
#include "shardmanager/slot_index_inl.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

class AdmissionTable;

// One shard's gate.
class AdmissionSlot {
 public:
  const ShardId& shard() const { return shard_; }
  ShardCounts& counts() { return counts_; }
  // Ends one request.
  void Release();

 private:
  friend class AdmissionTable;
  static constexpr uint64_t kOpen = uint64_t{1} << 63;           // to all
  static constexpr uint64_t kOpenForwarded = uint64_t{1} << 62;  // to what is forwarded
  enum class Mode : uint8_t { kPlain, kPause, kHold, kAwaitForwarded, kOpenForwarded, kForward };

  // Begins one request, if the slot is open.
  bool Enter(uint64_t open);

  AdmissionSlot(ShardId shard, AdmissionTable& table) : shard_(std::move(shard)), table_(table) {}

  const ShardId shard_;
  AdmissionTable& table_;
  std::atomic<uint64_t> word_{0};
  ShardCounts counts_;
  std::atomic<bool> loading_{false};
  // Written only while closed and drained.
  std::atomic<uint64_t> epoch_{0};
  std::atomic<Role> role_{Role::kPrimary};
  // When it was opened, to all, under the grant of `opened_`. Never, if it is not.
  std::atomic<int64_t> opened_at_{kNever.time_since_epoch().count()};

  // The rest under the table's mutex.
  Mode mode_ = Mode::kPlain;
  ShardEpoch opened_;
  std::string old_owner_;  // of kAwaitForwarded and kOpenForwarded
  Successor successor_;    // of kForward, and of an open secondary that was the primary
  HeldLine line_;
};

class AdmissionTable {
 public:
  using Admitted = server::Admitted;

  // `on_drained` is called (on any thread, perhaps more than once, perhaps late) when a
  // closed slot had no request in flight; Idle() tells whether that is so now.
  // A plain function, as each request asks it.
  using Clock = TimePoint (*)();
  // `on_forwarded` is called (on any thread, perhaps often) when a request waits in
  // AwaitForwarded().
  explicit AdmissionTable(std::function<void(const ShardId&)> on_drained, Clock now = MonotonicNow,
                          std::function<void(const ShardId&)> on_forwarded = nullptr);
  ~AdmissionTable();

  struct Request {
    std::string_view shard;
    const Forwarder* forwarder = nullptr;  // not null: another server forwards it
    bool for_primary = false;              // a secondary is not to process it
    // It did not come through the router, such as a message of a stream that was admitted before.
    bool own_work = false;
  };
  // Wait-free, but in a handover and without a lease. The caller releases the slot when the request
  // is done.
  Admitted Admit(const Request& request);
  // Null: it was never assigned here. Thread-safe.
  AdmissionSlot* Find(std::string_view shard) const { return slots_.Find(shard); }
  // Where requests that are held wait, to ask again.
  HeldQueue& queue() { return queue_; }

  // Keeps the drain of an open shard waiting, whatever the lease says, for work of
  // ours on it. Null: it is not open. To be released like an admission.
  AdmissionSlot* Pin(std::string_view shard);

  // The rest from one thread only.
  // REQUIRES: the slot is new, or closed and drained. `primary`: of a secondary, where to
  // send what is meant for the primary; null: such requests are refused.
  void Open(const ShardId& shard, Role role, ShardEpoch epoch, const Successor* primary = nullptr);
  // Closes it, and holds everything that comes.
  void Pause(const ShardId& shard);
  void ShowLoading(const ShardId& shard);
  // The steps of a handover; see the actions of shard_book.h.
  void Hold(const ShardId& shard);
  void AwaitForwarded(const ShardId& shard, Role role, ShardEpoch epoch,
                      const std::string& old_owner);
  void OpenForwarded(const ShardId& shard, Role role, ShardEpoch epoch,
                     const std::string& old_owner);
  void Forward(const ShardId& shard, const Successor& to);
  // Closed, and nothing is in flight: stays so until Open().
  bool Idle(const ShardId& shard) const;
  // Reports at once if nothing is in flight.
  void Close(const ShardId& shard);
  // Primary work (all work, with kStopAll) is admitted before this time only. With kKeepServing
  // later work is, too, of what was open while a lease was valid. TimePoint::min(): the session has
  // ended; nothing waits for a renewal.
  void SetLease(TimePoint until);
  // There is none, and the first one of this life is about to come: requests wait for it, as for
  // the renewal of one that lapses now.
  void AwaitLease();
  void SetPolicy(OnPartition policy) { policy_ = policy; }
  // With kKeepServing: the lease has lapsed, or its session has ended, and no other one has begun.
  bool IsCutOff();
  // From here on everything is refused as "stopping".
  void StopAdmitting() { stopping_ = true; }
  TimePoint lease_until() const { return TimePoint(Duration(lease_until_.load())); }
  LeaseMeter& lease_meter() { return lease_meter_; }

 private:
  friend class AdmissionSlot;
  // What is counted at the slot, through `open`, is admitted or given back.
  Admitted AdmitAt(AdmissionSlot& slot, const Request& request);
  Admitted AdmitEntered(AdmissionSlot& slot, uint64_t open, const Request& request);
  Admitted AdmitInHandover(AdmissionSlot& slot, const Request& request);
  Admitted AdmitToPrimary(AdmissionSlot& slot, const Request& request);
  std::unique_ptr<Successor> SuccessorOf(const AdmissionSlot& slot) const;
  Admitted AdmitWithoutLease(AdmissionSlot& slot);
  bool LeaseHolds(const AdmissionSlot& slot, Role role) const;
  void SetMode(AdmissionSlot& slot, AdmissionSlot::Mode mode);
  void CloseTo(AdmissionSlot& slot, AdmissionSlot::Mode mode);
  AdmissionSlot& SlotOf(const ShardId& shard);  // made, if there is none

  const std::function<void(const ShardId&)> on_drained_;
  const Clock now_;
  const std::function<void(const ShardId&)> on_forwarded_;
  sdk_internal::SlotIndex<AdmissionSlot> slots_;
  std::atomic<int64_t> lease_until_;
  bool first_lease_comes_ = false;     // guarded by mutex_
  std::atomic<int64_t> leased_until_;  // the end of the newest lease that there was
  std::atomic<OnPartition> policy_{OnPartition::kStopPrimaries};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // of handovers, and of what waits for the lease
  HeldQueue queue_;   // under it, too
  LeaseMeter lease_meter_;
};

}  // namespace shardmanager::server
