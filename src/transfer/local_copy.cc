#include "transfer/local_copy.h"

#include <utility>

#include "runtime/clock.h"

namespace shardmanager::transfer {
namespace {

// A new owner that has not asked for so long is not there any more.
constexpr Duration kFollows = Seconds(2);

}  // namespace

absl::StatusOr<std::shared_ptr<LocalCopy>> LocalCopy::Load(TransferStorage& storage,
                                                           const ShardId& shard) {
  auto opened = storage.Open(shard);
  if (!opened.ok()) return opened.status();
  auto contents = (*opened)->State();
  if (!contents.ok()) return contents.status();
  auto custody = Unseal(contents->record);
  if (!custody.ok()) return custody.status();
  return std::make_shared<LocalCopy>(*std::move(opened), *std::move(custody));
}

Custody LocalCopy::custody() const {
  std::lock_guard lock(mutex_);
  return custody_;
}

// REQUIRES: mutex_ is held.
absl::Status LocalCopy::Put(TransferWrite write, const Custody& next, bool durable) {
  write.record = Seal(next);
  write.durable = durable;
  if (absl::Status status = shard_->Write(write); !status.ok()) return status;
  custody_ = next;
  return absl::OkStatus();
}

// ---- as the server that has the right to serve ----

absl::StatusOr<AddDecision> LocalCopy::Add(ShardEpoch epoch, bool make_new) {
  std::lock_guard lock(mutex_);
  auto decision = DecideAdd(custody_, epoch, make_new, WallMilliseconds());
  if (!decision.ok() || decision->step != AddStep::kServe) return decision;
  if (absl::Status s = Put({.fence = epoch}, decision->next, true); !s.ok()) return s;
  open_ = true;
  leaving_ = closed_ = false;
  return decision;
}

void LocalCopy::PrepareToLeave() {
  std::lock_guard lock(mutex_);
  leaving_ = true;
}

std::optional<Duration> LocalCopy::Close(Duration patience) {
  std::unique_lock lock(mutex_);
  const TimePoint begin = MonotonicNow();
  open_ = false;
  const bool followed = followed_at_ && begin - *followed_at_ < kFollows;
  if (!std::exchange(leaving_, false)) return std::nullopt;
  closed_ = true;
  changed_.notify_all();
  if (!followed) return std::nullopt;
  const bool done = changed_.wait_for(lock, patience, [&] {
    return stopped_ || (custody_.state == CopyState::kReleased && custody_.confirmed);
  });
  if (!done || stopped_) return std::nullopt;
  return MonotonicNow() - begin;
}

// ---- as the one that another server asks ----

absl::StatusOr<LocalCopy::ClaimResult> LocalCopy::Answer(const Claim& claim) {
  std::lock_guard lock(mutex_);
  auto contents = shard_->State();
  if (!contents.ok()) return contents.status();
  ClaimResult result{
      AnswerClaim(custody_, open_, contents->last_sequence, claim, WallMilliseconds()),
      *std::move(contents)};
  if (!result.answer.next) return result;
  TransferWrite write;
  if (result.answer.verdict == Verdict::kReleased) write.fence = claim.epoch;
  if (absl::Status s = Put(std::move(write), *result.answer.next, true); !s.ok()) return s;
  changed_.notify_all();
  return result;
}

absl::Status LocalCopy::Confirmed(const std::string& taker, ShardEpoch epoch) {
  std::lock_guard lock(mutex_);
  const auto next = Confirm(custody_, taker, epoch);
  if (!next) return absl::OkStatus();
  absl::Status status = Put({}, *next, false);
  changed_.notify_all();
  return status;
}

bool LocalCopy::AwaitClosed(Duration patience) {
  std::unique_lock lock(mutex_);
  followed_at_ = MonotonicNow();
  changed_.wait_for(lock, patience, [&] { return stopped_ || closed_; });
  followed_at_ = MonotonicNow();
  return closed_;
}

// ---- as the one that receives ----

absl::Status LocalCopy::Expect(ShardEpoch epoch, const ServerAt& source) {
  std::lock_guard lock(mutex_);
  if (absl::Status s = CheckPrepare(custody_, epoch); !s.ok()) return s;
  if (custody_.state != CopyState::kAbsent) return absl::OkStatus();
  return Put({.fence = epoch},
             {.state = CopyState::kReceiving,
              .epoch = epoch,
              .floor = epoch,
              .other = source,
              .at_ms = WallMilliseconds()},
             true);
}

absl::StatusOr<RowTotal> LocalCopy::Store(TransferWrite write, Custody next) {
  std::lock_guard lock(mutex_);
  if (absl::Status s = CheckStore(custody_, next.epoch); !s.ok()) return s;
  const bool owned = next.state == CopyState::kOwned;
  next.at_ms = WallMilliseconds();
  write.sequence = next.place.sequence;
  if (owned) write.fence = next.epoch;
  if (absl::Status s = Put(std::move(write), next, owned); !s.ok()) return s;
  if (owned) {
    open_ = true;
    leaving_ = closed_ = false;
  }
  auto contents = shard_->State();
  if (!contents.ok()) return contents.status();
  return contents->total;
}

absl::StatusOr<std::optional<int64_t>> LocalCopy::Prune(int64_t grace_ms, int64_t now_ms) {
  std::lock_guard lock(mutex_);
  const auto due = PruneAt(custody_, grace_ms);
  if (!due || *due > now_ms) return due;
  if (absl::Status s = Put({.clear = true}, Pruned(custody_), false); !s.ok()) return s;
  return std::optional<int64_t>();
}

void LocalCopy::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace shardmanager::transfer
