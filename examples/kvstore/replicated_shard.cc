#include "replicated_shard.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kvstore {

using shardmanager::Members;
using shardmanager::Peer;

namespace {

// With one member. Less than the time for which requests are held while a primary is demoted: that
// waits for SetMembers().
constexpr std::chrono::seconds kPatience{1};
constexpr int kRowsPerMessage = 500;

// A replica that is slower than the writes is not brought up to date for ever.
constexpr size_t kMostWritesQueued = 10'000;

absl::Status DoesNotTakeIt(const Peer& replica, const std::string& why) {
  return absl::UnavailableError(absl::StrCat(replica.server.value(), " does not take it: ", why));
}

}  // namespace

ReplicatedShard::ReplicatedShard(std::string id, std::string server, std::unique_ptr<ShardDb> file,
                                 StubFor stub_for)
    : id_(std::move(id)),
      server_(std::move(server)),
      file_(std::move(file)),
      stub_for_(std::move(stub_for)) {}

// ---- what the Shard Manager says ----

absl::Status ReplicatedShard::BecomePrimary(ShardEpoch epoch,
                                            const std::optional<Members>& members) {
  {
    std::lock_guard lock(mutex_);
    const auto token = file_->Token();
    if (!token.ok()) return token.status();
    if (*token > epoch) return absl::AbortedError("somebody else has been given the shard since");
    const auto run = file_->NextRun();
    if (!run.ok()) return run.status();
    epoch_ = epoch;
    run_ = *run;
    heeds_ = epoch.value();
    sequence_ = 0;
    members_.reset();
    ++copy_;
    unread_ = *token != epoch;  // else it is back under its grant, and was read under it already
  }
  if (members) (void)Adopt(*members, kPatience);  // or UpdateMembership will
  return absl::OkStatus();
}

void ReplicatedShard::BecomeSecondary() {
  std::lock_guard lock(mutex_);
  members_.reset();
  unread_ = false;
}

absl::Status ReplicatedShard::SetMembers(const Members& members) {
  return Adopt(members, 10 * kPatience);
}

absl::Status ReplicatedShard::Adopt(const Members& members, std::chrono::seconds patience) {
  absl::Status status = BringUpToDate(members, patience);
  std::lock_guard lock(mutex_);
  for (const Joiner& joiner : std::exchange(joiners_, {})) {
    if (status.ok() && joiner.lost) status = DoesNotTakeIt(joiner.replica, "it missed a write");
  }
  // The token is the lasting mark that they have everything.
  if (status.ok()) status = file_->Fence(epoch_);
  if (!status.ok()) return status;
  members_ = members;
  unread_ = false;
  return absl::OkStatus();
}

absl::Status ReplicatedShard::BringUpToDate(const Members& members, std::chrono::seconds patience) {
  for (const Peer& member : members) {
    Joiner* joiner = nullptr;
    {
      std::lock_guard lock(mutex_);
      const bool known =
          members_ && std::find(members_->begin(), members_->end(), member) != members_->end();
      if (known || member.server.value() == server_) continue;
      joiner = &joiners_.emplace_back(Joiner{.replica = member, .writes = {}});
    }
    if (absl::Status status = CopyTo(*joiner, patience); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status ReplicatedShard::Ping(const Peer& replica) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  kv::PingResponse response;
  const grpc::Status status = stub_for_(replica.endpoint)->Ping(&context, {}, &response);
  return status.ok() ? absl::OkStatus() : DoesNotTakeIt(replica, status.error_message());
}

absl::Status ReplicatedShard::CopyTo(Joiner& joiner, std::chrono::seconds patience) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  if (absl::Status status = Ping(joiner.replica); !status.ok()) return status;
  kv::CopyResponse response;
  const auto stub = stub_for_(joiner.replica.endpoint);
  auto stream = stub->Copy(&context, &response);
  kv::CopyRequest begin;
  {
    std::lock_guard lock(mutex_);
    begin.set_shard(id_);
    begin.set_epoch(epoch_.value());
    begin.set_run(run_);
    begin.set_sequence(sequence_);
    joiner.writes.clear();
  }
  bool going = stream->Write(begin);
  std::optional<std::string> last;
  while (going) {
    const auto message = NextRows(joiner, last);
    if (!message.ok()) {
      context.TryCancel();
      (void)stream->Finish();
      return message.status();
    }
    going = stream->Write(*message) && !message->end();
  }
  stream->WritesDone();
  if (grpc::Status status = stream->Finish(); !status.ok()) {
    return DoesNotTakeIt(joiner.replica, status.error_message());
  }
  return EndCopy(joiner);
}

// The rows after `last`, as they are now, and the writes that came since the last call.
absl::StatusOr<kv::CopyRequest> ReplicatedShard::NextRows(Joiner& joiner,
                                                          std::optional<std::string>& last) {
  std::lock_guard lock(mutex_);
  if (joiner.lost) return DoesNotTakeIt(joiner.replica, "it is slower than the writes");
  auto rows = file_->Rows(last, kRowsPerMessage);
  if (!rows.ok()) return rows.status();
  kv::CopyRequest message;
  for (ShardDb::Row& row : *rows) {
    kv::Row* out = message.add_rows();
    out->set_key(row.key);
    out->set_value(std::move(row.value));
  }
  message.set_end(rows->size() < static_cast<size_t>(kRowsPerMessage));
  if (!rows->empty()) last = std::move(rows->back().key);
  for (kv::ApplyRequest& write : std::exchange(joiner.writes, {})) {
    *message.add_writes() = std::move(write);
  }
  return message;
}

// Sends the writes that came since the last rows were read. From here on it gets each write as
// a member does.
absl::Status ReplicatedShard::EndCopy(Joiner& joiner) {
  std::lock_guard lock(mutex_);
  const Deadline deadline = std::chrono::system_clock::now() + kPatience;
  for (const kv::ApplyRequest& write : joiner.writes) {
    if (absl::Status s = Send(joiner.replica, write, deadline); !s.ok()) return s;
  }
  joiner.writes.clear();
  joiner.copying = false;
  return absl::OkStatus();
}

absl::Status ReplicatedShard::Send(const Peer& to, const kv::ApplyRequest& write,
                                   Deadline deadline) {
  grpc::ClientContext context;
  context.set_deadline(deadline);
  kv::ApplyResponse response;
  const grpc::Status status = stub_for_(to.endpoint)->Apply(&context, write, &response);
  return status.ok() ? absl::OkStatus() : DoesNotTakeIt(to, status.error_message());
}

// ---- for clients ----

absl::Status ReplicatedShard::Put(ShardEpoch epoch, std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex_);
  kv::ApplyRequest write;
  write.set_epoch(epoch.value());
  write.set_key(std::string(key));
  write.set_value(std::string(value));
  return Spread(std::move(write));
}

absl::StatusOr<bool> ReplicatedShard::Delete(ShardEpoch epoch, std::string_view key) {
  std::lock_guard lock(mutex_);
  const auto found = file_->Get(key);
  if (!found.ok()) return found.status();
  kv::ApplyRequest write;
  write.set_epoch(epoch.value());
  write.set_key(std::string(key));
  if (absl::Status status = Spread(std::move(write)); !status.ok()) return status;
  return found->has_value();
}

absl::Status ReplicatedShard::Spread(kv::ApplyRequest write) {
  if (!members_) {
    return absl::UnavailableError("who holds the shard beside this server is not known yet");
  }
  write.set_shard(id_);
  write.set_run(run_);
  write.set_sequence(++sequence_);
  for (const Peer& member : *members_) {
    if (member.server.value() == server_) continue;
    absl::Status status = Send(member, write, std::chrono::system_clock::now() + kPatience);
    if (!status.ok()) return status;
  }
  if (absl::Status status = Store(write); !status.ok()) return status;
  for (Joiner& joiner : joiners_) SpreadTo(joiner, write);
  return absl::OkStatus();
}

// The write does not depend on one that is no member yet.
void ReplicatedShard::SpreadTo(Joiner& joiner, const kv::ApplyRequest& write) {
  if (joiner.lost) return;
  if (!joiner.copying) {
    joiner.lost = !Send(joiner.replica, write, std::chrono::system_clock::now() + kPatience).ok();
  } else if (joiner.writes.size() < kMostWritesQueued) {
    joiner.writes.push_back(write);
  } else {
    joiner.lost = true;
  }
}

absl::Status ReplicatedShard::Store(const kv::ApplyRequest& write) {
  const ShardEpoch epoch(write.epoch());
  if (write.has_value()) return file_->Put(epoch, write.key(), write.value());
  return file_->Delete(epoch, write.key()).status();
}

absl::StatusOr<std::optional<std::string>> ReplicatedShard::Get(std::string_view key) {
  if (unread_) return absl::UnavailableError("its other replicas may lack what this one has");
  return file_->Get(key);
}

absl::StatusOr<KvShard::Page> ReplicatedShard::Scan(const Range& range) {
  if (unread_) return absl::UnavailableError("its other replicas may lack what this one has");
  return file_->Scan(range);
}

KvShard::Load ReplicatedShard::TakeLoad(std::chrono::steady_clock::time_point now) {
  return file_->TakeLoad(now);
}

// ---- what the primary says ----

absl::Status ReplicatedShard::Apply(const kv::ApplyRequest& write) {
  std::lock_guard lock(mutex_);
  const Position position{write.epoch(), write.run(), write.sequence()};
  if (position <= applied_ || write.epoch() < heeds_) {
    return absl::AbortedError(
        absl::StrCat("write ", write.sequence(), " of epoch ", write.epoch(), " comes late"));
  }
  ++copy_;  // what a copy that was broken off still sends is older
  if (absl::Status status = Store(write); !status.ok()) return status;
  applied_ = position;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ReplicatedShard::BeginCopy(const kv::CopyRequest& begin) {
  std::lock_guard lock(mutex_);
  const Position position{begin.epoch(), begin.run(), begin.sequence()};
  if (position < applied_ || begin.epoch() < heeds_) {
    return absl::AbortedError("the copy is older than this replica");
  }
  applied_ = position;
  heeds_ = begin.epoch();
  copied_.reset();
  return ++copy_;
}

absl::Status ReplicatedShard::AddRows(uint64_t copy, const kv::CopyRequest& rows) {
  std::lock_guard lock(mutex_);
  if (copy != copy_) return absl::AbortedError("a copy that comes late");
  if (absl::Status status = ReplaceRange(rows); !status.ok()) return status;
  for (const kv::ApplyRequest& write : rows.writes()) {
    if (absl::Status status = Store(write); !status.ok()) return status;
    applied_ = {write.epoch(), write.run(), write.sequence()};
  }
  return absl::OkStatus();
}

absl::Status ReplicatedShard::ReplaceRange(const kv::CopyRequest& message) {
  if (message.rows().empty() && !message.end()) return absl::OkStatus();
  const ShardEpoch epoch(heeds_);
  std::map<std::string, std::string> missing;
  for (const kv::Row& row : message.rows()) missing[row.key()] = row.value();
  std::optional<std::string> last;  // of the range; nothing: it goes to the end
  if (!message.end()) last = missing.rbegin()->first;
  for (bool within = true; within;) {
    const auto held = file_->Rows(copied_, kRowsPerMessage);
    if (!held.ok()) return held.status();
    within = !held->empty();
    for (const ShardDb::Row& row : *held) {
      within = !last || row.key <= *last;
      if (!within) break;
      copied_ = row.key;
      const auto kept = missing.find(row.key);
      if (kept == missing.end()) {
        if (auto deleted = file_->Delete(epoch, row.key); !deleted.ok()) return deleted.status();
      } else if (kept->second == row.value) {
        missing.erase(kept);
      }
    }
  }
  for (const auto& [key, value] : missing) {
    if (absl::Status status = file_->Put(epoch, key, value); !status.ok()) return status;
  }
  if (last) copied_ = last;
  return absl::OkStatus();
}

}  // namespace kvstore
