// One shard's copy on this server: its custody as stored, and whether it is being served.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "shardmanager/transfer.h"
#include "transfer/custody.h"

namespace shardmanager::transfer {

// Thread-safe. Every change of the custody is stored before it counts.
class LocalCopy {
 public:
  LocalCopy(std::shared_ptr<TransferableShard> shard, Custody custody)
      : shard_(std::move(shard)), custody_(std::move(custody)) {}

  static absl::StatusOr<std::shared_ptr<LocalCopy>> Load(TransferStorage& storage,
                                                         const ShardId& shard);

  Custody custody() const;
  TransferableShard& shard() { return *shard_; }

  // ---- as the server that has the right to serve ----
  // As DecideAdd. If it is to be served at once it is open when this returns.
  absl::StatusOr<AddDecision> Add(ShardEpoch epoch, bool make_new);
  // A handover begins: the next Close() waits for the new owner.
  void PrepareToLeave();
  // Serves no more. Waits until a new owner that follows has everything, at most `patience`.
  // Nothing: there was nobody to wait for, or it took too long. Else how long it took.
  std::optional<Duration> Close(Duration patience);

  // ---- as the one that another server asks ----
  struct ClaimResult {
    ClaimAnswer answer;
    TransferableShard::Contents contents;
  };
  absl::StatusOr<ClaimResult> Answer(const Claim& claim);
  absl::Status Confirmed(const std::string& taker, ShardEpoch epoch);
  // A new owner reads changes. Waits until the shard is closed, at most `patience`.
  // True: it is closed.
  bool AwaitClosed(Duration patience);

  // ---- as the one that receives ----
  // The shard is to come from `source`. Stored, so that it is never taken for a new one.
  // Errors: as CheckPrepare.
  absl::Status Expect(ShardEpoch epoch, const ServerAt& source);
  // Stores what came, with the custody; and, if it becomes owned, opens it.
  absl::StatusOr<RowTotal> Store(TransferWrite write, Custody next);

  // Removes rows that nobody needs, if it is time. When to look again, in milliseconds since
  // 1970; nothing: never.
  absl::StatusOr<std::optional<int64_t>> Prune(int64_t grace_ms, int64_t now_ms);

  // Ends all waiting.
  void Stop();

 private:
  absl::Status Put(TransferWrite write, const Custody& next, bool durable);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  const std::shared_ptr<TransferableShard> shard_;
  Custody custody_;
  bool open_ = false;     // served here, or about to be
  bool leaving_ = false;  // in a handover
  bool closed_ = false;   // in a handover, and served no more
  bool stopped_ = false;
  std::optional<TimePoint> followed_at_;  // last time that a new owner read changes
};

}  // namespace shardmanager::transfer
