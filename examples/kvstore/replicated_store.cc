#include "replicated_store.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_status.h"

namespace kvstore {

using shardmanager::Members;
using shardmanager::Role;
using shardmanager::ShardGrant;
using shardmanager::ShardId;

namespace {

// Of a primary's copy, with a secondary that does not hold the shard yet.
constexpr std::chrono::seconds kHeardWithin{5};

}  // namespace

// What the primaries of this server's secondaries call. It needs no admission: what they may
// not write any more, the epochs tell.
class ReplicatedStore::Service final : public kv::KvReplica::Service {
 public:
  explicit Service(ReplicatedStore& store) : store_(store) {}

  grpc::Status Ping(grpc::ServerContext*, const kv::PingRequest*, kv::PingResponse*) override {
    return grpc::Status::OK;
  }

  grpc::Status Apply(grpc::ServerContext* context, const kv::ApplyRequest* request,
                     kv::ApplyResponse*) override {
    if (absl::Status s = store_.others_.check(*context); !s.ok()) return ToGrpc(s);
    const auto shard = store_.Replica(request->shard());
    return shard == nullptr ? NotHere(request->shard()) : ToGrpc(shard->Apply(*request));
  }

  grpc::Status Copy(grpc::ServerContext* context, grpc::ServerReader<kv::CopyRequest>* reader,
                    kv::CopyResponse*) override {
    if (absl::Status s = store_.others_.check(*context); !s.ok()) return ToGrpc(s);
    kv::CopyRequest message;
    if (!reader->Read(&message)) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "a copy without a beginning"};
    }
    const auto until =
        std::min(context->deadline(), std::chrono::system_clock::now() + kHeardWithin);
    const auto shard = store_.AwaitReplica(message.shard(), until);
    if (shard == nullptr) return NotHere(message.shard());
    const auto copy = shard->BeginCopy(message);
    absl::Status status = copy.status();
    while (status.ok() && !message.end()) {
      status = reader->Read(&message) ? shard->AddRows(*copy, message)
                                      : absl::DataLossError("a copy without an end");
    }
    return ToGrpc(status);
  }

 private:
  static grpc::Status NotHere(const std::string& shard) {
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("shard ", shard, " is not held here")};
  }

  ReplicatedStore& store_;
};

ReplicatedStore::ReplicatedStore(std::string folder, std::string server, OtherServers others)
    : folder_(std::move(folder)),
      server_(std::move(server)),
      others_(std::move(others)),
      service_(std::make_unique<Service>(*this)) {}

ReplicatedStore::~ReplicatedStore() = default;

grpc::Service* ReplicatedStore::replica_service() { return service_.get(); }

std::shared_ptr<ReplicatedShard> ReplicatedStore::Replica(const std::string& shard) const {
  std::lock_guard lock(mutex_);
  const auto found = replicas_.find(shard);
  return found == replicas_.end() ? nullptr : found->second;
}

std::shared_ptr<ReplicatedShard> ReplicatedStore::AwaitReplica(
    const std::string& shard, std::chrono::system_clock::time_point until) const {
  std::unique_lock lock(mutex_);
  came_.wait_until(lock, until, [&] { return replicas_.contains(shard); });
  const auto found = replicas_.find(shard);
  return found == replicas_.end() ? nullptr : found->second;
}

std::shared_ptr<kv::KvReplica::Stub> ReplicatedStore::StubFor(const std::string& endpoint) {
  std::lock_guard lock(mutex_);
  auto& stub = stubs_[endpoint];
  if (stub == nullptr) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    stub = kv::KvReplica::NewStub(others_.open(endpoint, arguments));
  }
  return stub;
}

// A secondary that is new here is brought up to date by the primary: UpdateMembership there.
absl::Status ReplicatedStore::AddShard(const ShardGrant& grant, const shardmanager::LoadProgress&) {
  const std::string& id = grant.shard.value();
  std::shared_ptr<ReplicatedShard> shard = Replica(id);  // still held from an earlier grant?
  if (shard == nullptr) {
    auto file = OpenFile(grant);
    if (!file.ok()) return file.status();
    shard = std::make_shared<ReplicatedShard>(
        id, server_, *std::move(file),
        [this](const std::string& endpoint) { return StubFor(endpoint); });
  }
  if (grant.role == Role::kSecondary) {
    shard->BecomeSecondary();
  } else if (absl::Status s = shard->BecomePrimary(grant.epoch, grant.members); !s.ok()) {
    return s;
  }
  // A split or a merge is planned: requests wait until the members have made their files, too.
  if (grant.role == Role::kPrimary && grant.origin && grant.members) {
    if (absl::Status s = shard->SetMembers(*grant.members); !s.ok()) return s;
  }
  {
    std::lock_guard lock(mutex_);
    replicas_[id] = shard;
  }
  came_.notify_all();
  Open(grant.shard, shard);
  return absl::OkStatus();
}

std::string ReplicatedStore::FileOf(const ShardId& shard) const {
  return folder_ + "/" + shard.value() + ".db";
}

// Of a shard that was made of others: with the rows that this server has of them.
absl::StatusOr<std::unique_ptr<ShardDb>> ReplicatedStore::OpenFile(const ShardGrant& grant) const {
  auto file = ShardDb::Open(FileOf(grant.shard), server_);
  if (!file.ok()) return file;
  const auto origin = grant.origin.value_or(shardmanager::ShardOrigin());
  for (const ShardId& from : origin.made_of) {
    if (!std::filesystem::exists(FileOf(from))) continue;
    auto old = ShardDb::Open(FileOf(from), server_);
    if (!old.ok()) return old;
    absl::Status taken = (*file)->TakeOver(**old, from.value(), origin, grant.epoch);
    if (!taken.ok()) return taken;
  }
  return file;
}

absl::Status ReplicatedStore::PrepareReshape(const shardmanager::Reshape&) {
  return absl::OkStatus();
}

absl::Status ReplicatedStore::ChangeRole(const ShardGrant& grant) {
  return AddShard(grant, [](double) {});
}

absl::Status ReplicatedStore::UpdateMembership(const ShardId& shard, const Members& members) {
  const auto replica = Replica(shard.value());
  if (replica == nullptr) return absl::NotFoundError("the shard is not held here");
  return replica->SetMembers(members);
}

absl::Status ReplicatedStore::DropShard(const ShardId& shard) {
  Close(shard);
  std::lock_guard lock(mutex_);
  replicas_.erase(shard.value());
  return absl::OkStatus();
}

}  // namespace kvstore
