// The public face (include/shardmanager/transfer.h): all shards of a process.
#include "shardmanager/transfer.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "transfer/local_copy.h"
#include "transfer/reception.h"
#include "transfer/row_total.h"
#include "transfer/transfer_messages.h"
#include "transfer/transfer_service.h"
#include "wire/app_servers.h"

namespace shardmanager {

using transfer::AddStep;
using transfer::CopyState;
using transfer::LocalCopy;
using transfer::Reception;
using transfer::ServerAt;

namespace {

// What is on the disk is looked through so often.
constexpr int64_t kLookMs = 3'600'000;

}  // namespace

class TransferImpl {
 public:
  TransferImpl(TransferOptions options, TransferStorage& storage)
      : options_(std::move(options)),
        storage_(storage),
        transport_(wire::Transport::Make(options_.security, "",
                                         {security::AServerOf(options_.app, options_.server)})),
        others_(transport_.ok() ? *transport_ : wire::Transport::Insecure(), options_.app),
        channels_(64, others_.Opener()),
        service_(
            options_.server, [this](const ShardId& shard) { return FindKnown(shard); },
            [this](const grpc::ServerContextBase& context, const std::string& taker) {
              return transport_.ok() ? others_.Contains(context, taker) : transport_.status();
            }),
        housekeeper_([this] { KeepHouse(); }) {}

  ~TransferImpl() {
    Stop();
    housekeeper_.join();
  }

  absl::Status PrepareAdd(const ShardGrant& grant);
  absl::Status Add(const ShardGrant& grant);
  absl::Status PrepareDrop(const ShardId& shard);
  absl::Status Drop(const ShardId& shard);
  void Stop();
  Transfer::Progress progress(const ShardId& shard);
  grpc::Service* service() { return &service_; }

 private:
  struct Entry {
    std::shared_ptr<LocalCopy> copy;
    std::shared_ptr<Reception> reception;
    Transfer::Progress progress;
  };

  absl::StatusOr<std::shared_ptr<LocalCopy>> Find(const ShardId& shard);
  absl::StatusOr<std::shared_ptr<LocalCopy>> FindKnown(const ShardId& shard);
  std::shared_ptr<Reception> Receive(const ShardGrant& grant,
                                     const std::shared_ptr<LocalCopy>& copy,
                                     const ServerAt& source);
  std::shared_ptr<Reception> ReceptionOf(const ShardGrant& grant);
  absl::Status CheckOnlyOwned(const ShardGrant& grant, const LocalCopy& copy,
                              const ServerAt& source);
  ServerAt Self() const { return {options_.server, options_.endpoint()}; }
  void EndReception(const ShardId& shard);
  void KeepHouse();
  std::optional<int64_t> PruneAll();
  void AskWhetherItArrived(const ShardId& shard, LocalCopy& copy);

  const TransferOptions options_;
  TransferStorage& storage_;
  // An error: nothing is begun.
  const absl::StatusOr<std::shared_ptr<const wire::Transport>> transport_;
  const wire::AppServers others_;
  wire::ChannelPool channels_;
  transfer::TransferService service_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ShardId, Entry> entries_;
  bool stopped_ = false;
  bool look_ = true;  // the housekeeper should
  std::thread housekeeper_;
};

// ---- copies ----

absl::StatusOr<std::shared_ptr<LocalCopy>> TransferImpl::Find(const ShardId& shard) {
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[shard];
  if (entry.copy != nullptr) return entry.copy;
  auto loaded = LocalCopy::Load(storage_, shard);
  if (loaded.ok()) entry.copy = *loaded;
  return loaded;
}

// Others must not make us open what is not there.
absl::StatusOr<std::shared_ptr<LocalCopy>> TransferImpl::FindKnown(const ShardId& shard) {
  {
    std::lock_guard lock(mutex_);
    const auto found = entries_.find(shard);
    if (found != entries_.end() && found->second.copy != nullptr) return found->second.copy;
  }
  auto shards = storage_.List();
  if (!shards.ok()) return shards.status();
  if (std::find(shards->begin(), shards->end(), shard) != shards->end()) return Find(shard);
  return absl::NotFoundError(
      absl::StrCat("server ", options_.server, " has no trace of shard ", shard.value()));
}

// ---- as the new owner ----

// The one that is under way for this grant, or a new one.
std::shared_ptr<Reception> TransferImpl::Receive(const ShardGrant& grant,
                                                 const std::shared_ptr<LocalCopy>& copy,
                                                 const ServerAt& source) {
  if (auto under_way = ReceptionOf(grant); under_way != nullptr && !under_way->failed()) {
    return under_way;
  }
  EndReception(grant.shard);  // of an earlier grant; it writes no more when this returns
  transfer::ReceptionOptions options{
      .receiver = {.self = Self(),
                   .bytes_per_second = options_.bytes_per_second,
                   .patience = options_.patience},
      .batch_bytes = std::clamp<uint64_t>(options_.batch_bytes, 1, transfer::kMostBatchBytes),
      .shard = grant.shard,
      .epoch = grant.epoch,
      .source = source};
  std::lock_guard lock(mutex_);
  auto reception = std::make_shared<Reception>(std::move(options), copy, channels_);
  if (stopped_) reception->Stop();
  return entries_[grant.shard].reception = std::move(reception);
}

// Null: there is none for this grant.
std::shared_ptr<Reception> TransferImpl::ReceptionOf(const ShardGrant& grant) {
  std::lock_guard lock(mutex_);
  const std::shared_ptr<Reception>& reception = entries_[grant.shard].reception;
  return reception != nullptr && reception->epoch() == grant.epoch ? reception : nullptr;
}

// Its numbers stay.
void TransferImpl::EndReception(const ShardId& shard) {
  std::shared_ptr<Reception> old;  // destroyed, and waited for, outside the lock
  std::lock_guard lock(mutex_);
  Entry& entry = entries_[shard];
  old = std::exchange(entry.reception, nullptr);
  if (old == nullptr) return;
  entry.progress.rows_received = old->rows();
  entry.progress.bytes_received = old->bytes();
}

absl::Status TransferImpl::PrepareAdd(const ShardGrant& grant) {
  if (!transport_.ok()) return transport_.status();
  if (grant.old_owner.endpoint.empty()) {
    return absl::FailedPreconditionError(
        "old_owner.endpoint: found nothing; required: where the data are (is the control plane "
        "older than state transfer?)");
  }
  auto copy = Find(grant.shard);
  if (!copy.ok()) return copy.status();
  const ServerAt source{grant.old_owner.server.value(), grant.old_owner.endpoint};
  if ((*copy)->custody().state == CopyState::kOwned) return CheckOnlyOwned(grant, **copy, source);
  if (absl::Status s = (*copy)->Expect(grant.epoch, source); !s.ok()) return s;
  return Receive(grant, *copy, source)->AwaitReady();
}

// The shard comes back to the disk that has it: the one that was to serve it never could.
absl::Status TransferImpl::CheckOnlyOwned(const ShardGrant& grant, const LocalCopy& copy,
                                          const ServerAt& source) {
  transfer::TransferClient client(channels_, Self(), grant.shard, grant.epoch);
  const auto answer = client.Open(source);
  if (const auto* failed = std::get_if<transfer::Failed>(&answer)) return failed->status;
  const bool twice = std::get<transfer::Opened>(answer).state == CopyState::kOwned;
  return twice ? CheckPrepare(copy.custody(), grant.epoch) : absl::OkStatus();
}

absl::Status TransferImpl::Add(const ShardGrant& grant) {
  if (!transport_.ok()) return transport_.status();
  auto copy = Find(grant.shard);
  if (!copy.ok()) return copy.status();
  if (auto under_way = ReceptionOf(grant); under_way != nullptr && !under_way->failed()) {
    if (under_way->AwaitOwned().ok()) return absl::OkStatus();
  }
  auto decision = (*copy)->Add(grant.epoch, options_.make_new_shards);
  if (!decision.ok()) return decision.status();
  if (decision->step == AddStep::kServe) return absl::OkStatus();
  return Receive(grant, *copy, decision->from)->AwaitOwned();
}

// ---- as the old owner ----

absl::Status TransferImpl::PrepareDrop(const ShardId& shard) {
  auto copy = Find(shard);
  if (!copy.ok()) return copy.status();
  (*copy)->PrepareToLeave();
  return absl::OkStatus();
}

absl::Status TransferImpl::Drop(const ShardId& shard) {
  EndReception(shard);
  auto copy = Find(shard);
  if (!copy.ok()) return copy.status();
  const auto took = (*copy)->Close(options_.cutover_timeout);
  std::lock_guard lock(mutex_);
  look_ = true;
  changed_.notify_all();
  if (!took) return absl::OkStatus();
  entries_[shard].progress.cutover_us = took->count();
  LogInfo("shard {}: the new owner has everything, {} us after the last request", shard.value(),
          took->count());
  return absl::OkStatus();
}

void TransferImpl::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  for (auto& [shard, entry] : entries_) {
    if (entry.reception != nullptr) entry.reception->Stop();
  }
  changed_.notify_all();
}

Transfer::Progress TransferImpl::progress(const ShardId& shard) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(shard);
  if (found == entries_.end()) return {};
  Transfer::Progress progress = found->second.progress;
  if (const Reception* reception = found->second.reception.get()) {
    progress.rows_received = reception->rows();
    progress.bytes_received = reception->bytes();
  }
  return progress;
}

// ---- the housekeeper ----

void TransferImpl::KeepHouse() {
  for (;;) {
    {
      std::lock_guard lock(mutex_);
      if (stopped_) return;
      look_ = false;
    }
    const int64_t now = WallMilliseconds();
    const int64_t next = std::min(PruneAll().value_or(now + kLookMs), now + kLookMs);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, Milliseconds(std::max<int64_t>(next - now, 1)),
                      [&] { return stopped_ || look_; });
  }
}

// When the next one is due.
std::optional<int64_t> TransferImpl::PruneAll() {
  const auto shards = storage_.List();
  if (!shards.ok()) {
    LogWarning("cannot list the copies on this disk: {}", shards.status().ToString());
    return std::nullopt;
  }
  std::optional<int64_t> next;
  for (const ShardId& shard : *shards) {
    const auto copy = Find(shard);
    if (!copy.ok()) continue;  // whoever needs it will say so
    AskWhetherItArrived(shard, **copy);
    const auto due =
        (*copy)->Prune(options_.grace / std::chrono::milliseconds(1), WallMilliseconds());
    if (!due.ok()) {
      LogWarning("cannot prune shard {}: {}", shard.value(), due.status().ToString());
    } else if (*due && (!next || **due < *next)) {
      next = **due;
    }
  }
  return next;
}

// Its confirmation may have been lost.
void TransferImpl::AskWhetherItArrived(const ShardId& shard, LocalCopy& copy) {
  const transfer::Custody custody = copy.custody();
  const bool late =
      WallMilliseconds() - custody.at_ms > options_.grace / std::chrono::milliseconds(1);
  if (custody.state != CopyState::kReleased || custody.confirmed || !late) return;
  transfer::TransferClient client(channels_, Self(), shard, custody.other_epoch);
  const auto answer = client.Open(custody.other);
  const auto* opened = std::get_if<transfer::Opened>(&answer);
  if (opened == nullptr) return;
  if (!HasArrived(custody, {opened->state, opened->lineage, opened->last_sequence})) return;
  if (absl::Status s = copy.Confirmed(custody.other.server, custody.other_epoch); !s.ok()) {
    LogWarning("shard {}: {}", shard.value(), s.ToString());
  }
}

// ---- the public face ----

void RowTotal::Add(std::string_view key, std::string_view value) {
  ++count;
  sum += transfer::RowHash(key, value);
}

void RowTotal::Remove(std::string_view key, std::string_view value) {
  --count;
  sum -= transfer::RowHash(key, value);
}

Transfer::Transfer(TransferOptions options, TransferStorage& storage)
    : impl_(std::make_unique<TransferImpl>(std::move(options), storage)) {}
Transfer::~Transfer() = default;

grpc::Service* Transfer::service() { return impl_->service(); }
absl::Status Transfer::PrepareAddShard(const ShardGrant& grant) { return impl_->PrepareAdd(grant); }
absl::Status Transfer::AddShard(const ShardGrant& grant) { return impl_->Add(grant); }
absl::Status Transfer::PrepareDropShard(const ShardId& shard) { return impl_->PrepareDrop(shard); }
absl::Status Transfer::DropShard(const ShardId& shard) { return impl_->Drop(shard); }
void Transfer::Stop() { impl_->Stop(); }
Transfer::Progress Transfer::progress(const ShardId& shard) const { return impl_->progress(shard); }

}  // namespace shardmanager
