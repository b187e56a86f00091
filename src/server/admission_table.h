// Who may be processed now: the hot path of the server library.
//
// Lookup takes no lock and allocates nothing: an open-addressing table that only
// grows. A slot, once made, stays for the life of the server (some hundred bytes for
// each shard that was ever assigned here), and an outgrown table is kept until the
// end (all of them together are as large as the last), so readers need no protection.
//
// A slot's word counts the requests in flight, with one bit for "open". Admitting
// adds one and then looks at the bit; closing clears the bit and then looks at the
// count: whoever comes second sees the other, so no request slips through a close,
// and the last one out reports that the slot is drained. (A request that finds the
// slot closed is not counted at all: a report for every refusal would be a flood.)
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "runtime/clock.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

class AdmissionTable;

// One shard's gate.
class AdmissionSlot {
 public:
  const ShardId& shard() const { return shard_; }
  // Ends one request.
  void Release();

 private:
  friend class AdmissionTable;
  static constexpr uint64_t kOpen = uint64_t{1} << 63;

  // Begins one request, if the slot is open.
  bool Enter();

  AdmissionSlot(ShardId shard, AdmissionTable& table) : shard_(std::move(shard)), table_(table) {}

  const ShardId shard_;
  AdmissionTable& table_;
  std::atomic<uint64_t> word_{0};
  std::atomic<bool> loading_{false};
  // Written only while closed and drained.
  std::atomic<uint64_t> epoch_{0};
  std::atomic<Role> role_{Role::kPrimary};
};

class AdmissionTable {
 public:
  struct Admitted {
    AdmissionSlot* slot = nullptr;  // null: refused
    ShardEpoch epoch;
    Role role = Role::kPrimary;
    const char* refusal = nullptr;  // a word of model/request_metadata.h
  };

  // `on_drained` is called (on any thread, perhaps more than once, perhaps late) when a
  // closed slot had no request in flight; Idle() tells whether that is so now.
  // A plain function, as each request asks it.
  using Clock = TimePoint (*)();
  explicit AdmissionTable(std::function<void(const ShardId&)> on_drained, Clock now = MonotonicNow);
  ~AdmissionTable();

  // Wait-free. The caller releases the slot when the request is done.
  Admitted Admit(std::string_view shard);

  // Keeps the drain of an open shard waiting, whatever the lease says, for work of
  // ours on it. Null: it is not open. To be released like an admission.
  AdmissionSlot* Hold(std::string_view shard);

  // The rest from one thread only.
  // REQUIRES: the slot is new, or closed and drained.
  void Open(const ShardId& shard, Role role, ShardEpoch epoch);
  void ShowLoading(const ShardId& shard);
  // Closed, and nothing is in flight: stays so until Open().
  bool Idle(const ShardId& shard) const;
  // Reports at once if nothing is in flight.
  void Close(const ShardId& shard);
  // Primary work (all work, with `stop_all`) is admitted before this time only.
  void SetLease(TimePoint until) { lease_until_ = until.time_since_epoch().count(); }
  void SetStopAll(bool stop_all) { stop_all_ = stop_all; }
  // From here on everything is refused as "stopping".
  void StopAdmitting() { stopping_ = true; }
  TimePoint lease_until() const { return TimePoint(Duration(lease_until_.load())); }

 private:
  friend class AdmissionSlot;
  // Power-of-two many cells, at most half of them used.
  struct Cells {
    explicit Cells(size_t size) : cells(size) {}
    std::vector<std::atomic<AdmissionSlot*>> cells;
  };

  AdmissionSlot* Find(std::string_view shard) const;
  AdmissionSlot& FindOrMake(const ShardId& shard);
  static void Insert(Cells& cells, AdmissionSlot* slot);

  const std::function<void(const ShardId&)> on_drained_;
  const Clock now_;
  std::atomic<Cells*> current_;
  std::vector<std::unique_ptr<Cells>> all_cells_;
  std::vector<std::unique_ptr<AdmissionSlot>> slots_;
  std::atomic<int64_t> lease_until_;
  std::atomic<bool> stop_all_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace shardmanager::server
