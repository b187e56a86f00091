#include "replicated_shard.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

namespace kvstore {

using shardmanager::Members;
using shardmanager::Peer;

namespace {

constexpr std::chrono::seconds kPatience{1};  // with one member
constexpr int kRowsPerMessage = 500;

absl::Status ToStatus(const Peer& member, const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(member.server.value(), " does not take it: ", status.error_message()));
}

}  // namespace

ReplicatedShard::ReplicatedShard(std::string id, std::string server, std::unique_ptr<ShardDb> file,
                                 StubFor stub_for)
    : id_(std::move(id)),
      server_(std::move(server)),
      file_(std::move(file)),
      stub_for_(std::move(stub_for)) {}

// ---- what the Shard Manager says ----

absl::Status ReplicatedShard::BecomePrimary(ShardEpoch epoch, std::optional<Members> members) {
  std::lock_guard lock(mutex_);
  if (absl::Status status = file_->Fence(epoch); !status.ok()) return status;
  epoch_ = epoch;
  members_ = std::move(members);
  sequence_ = 0;
  return absl::OkStatus();
}

void ReplicatedShard::BecomeSecondary() {
  std::lock_guard lock(mutex_);
  members_.reset();
}

absl::Status ReplicatedShard::SetMembers(const Members& members) {
  std::lock_guard lock(mutex_);
  for (const Peer& member : members) {
    const bool known =
        members_ && std::find(members_->begin(), members_->end(), member) != members_->end();
    if (known || member.server.value() == server_) continue;
    if (absl::Status status = CopyTo(member); !status.ok()) return status;
  }
  members_ = members;
  return absl::OkStatus();
}

absl::Status ReplicatedShard::CopyTo(const Peer& member) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 10 * kPatience);
  kv::CopyResponse response;
  const auto stub = stub_for_(member.endpoint);
  auto stream = stub->Copy(&context, &response);
  kv::CopyRequest begin;
  begin.set_shard(id_);
  begin.set_epoch(epoch_.value());
  begin.set_sequence(sequence_);
  bool going = stream->Write(begin);
  std::optional<std::string> last;
  while (going) {
    auto rows = file_->Rows(last, kRowsPerMessage);
    if (!rows.ok()) {
      context.TryCancel();
      (void)stream->Finish();
      return rows.status();
    }
    if (rows->empty()) break;
    kv::CopyRequest message;
    for (const ShardDb::Row& row : *rows) {
      kv::Row* out = message.add_rows();
      out->set_key(row.key);
      out->set_value(row.value);
    }
    last = rows->back().key;
    going = stream->Write(message);
  }
  stream->WritesDone();
  return ToStatus(member, stream->Finish());
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
  write.set_sequence(++sequence_);
  for (const Peer& member : *members_) {
    if (member.server.value() == server_) continue;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    kv::ApplyResponse response;
    const auto stub = stub_for_(member.endpoint);
    absl::Status status = ToStatus(member, stub->Apply(&context, write, &response));
    if (!status.ok()) return status;
  }
  return Store(write);
}

absl::Status ReplicatedShard::Store(const kv::ApplyRequest& write) {
  const ShardEpoch epoch(write.epoch());
  if (write.has_value()) return file_->Put(epoch, write.key(), write.value());
  return file_->Delete(epoch, write.key()).status();
}

absl::StatusOr<std::optional<std::string>> ReplicatedShard::Get(std::string_view key) {
  return file_->Get(key);
}

KvShard::Load ReplicatedShard::TakeLoad(std::chrono::steady_clock::time_point now) {
  return file_->TakeLoad(now);
}

// ---- what the primary says ----

absl::Status ReplicatedShard::Apply(const kv::ApplyRequest& write) {
  std::lock_guard lock(mutex_);
  const std::pair position(write.epoch(), write.sequence());
  if (position <= applied_ || write.epoch() < copying_) {
    return absl::AbortedError(
        absl::StrCat("write ", write.sequence(), " of epoch ", write.epoch(), " comes late"));
  }
  if (absl::Status status = Store(write); !status.ok()) return status;
  applied_ = position;
  return absl::OkStatus();
}

absl::Status ReplicatedShard::BeginCopy(const kv::CopyRequest& begin) {
  std::lock_guard lock(mutex_);
  const std::pair position(begin.epoch(), begin.sequence());
  if (position < applied_) return absl::AbortedError("the copy is older than this replica");
  if (absl::Status status = file_->Clear(ShardEpoch(begin.epoch())); !status.ok()) return status;
  applied_ = position;
  copying_ = begin.epoch();
  return absl::OkStatus();
}

absl::Status ReplicatedShard::AddRows(const kv::CopyRequest& message) {
  std::lock_guard lock(mutex_);
  for (const kv::Row& row : message.rows()) {
    absl::Status status = file_->Put(ShardEpoch(copying_), row.key(), row.value());
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace kvstore
