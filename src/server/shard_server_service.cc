#include "server/shard_server_service.h"

#include <grpcpp/grpcpp.h>

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/keys/reshape.h"
#include "model/proto_values.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager::server {
namespace {

// As documented on the requests.
constexpr int kMaxShardsPerCommand = 10'000;
constexpr int kMostMembers = 64;

v1::ShardState ToProto(ResultState state) {
  switch (state) {
    case ResultState::kLoading:
      return v1::LOADING;
    case ResultState::kDone:
      return v1::DONE;
    case ResultState::kFailed:
      return v1::FAILED;
    case ResultState::kStale:
      return v1::STALE;
    case ResultState::kCalledOff:
      return v1::CALLED_OFF;
  }
  return v1::SHARD_STATE_UNSPECIFIED;
}

// What is wrong with the grants of a command.
absl::Status CheckGrants(const google::protobuf::RepeatedPtrField<v1::ShardGrant>& grants,
                         CommandKind kind) {
  if (grants.empty() || grants.size() > kMaxShardsPerCommand) {
    return absl::InvalidArgumentError(
        absl::StrCat("shards: found ", grants.size(), "; allowed: 1 to ", kMaxShardsPerCommand));
  }
  std::set<std::string> seen;
  for (int i = 0; i < grants.size(); ++i) {
    const v1::ShardGrant& grant = grants[i];
    const std::string at = absl::StrCat("shards[", i, "].");
    const bool role = grant.role() == v1::PRIMARY || grant.role() == v1::SECONDARY;
    if (grant.shard().empty()) {
      return absl::InvalidArgumentError(at + "shard: found \"\"; allowed: a shard's id");
    }
    if (!seen.insert(grant.shard()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(at, "shard: found \"", grant.shard(), "\" again; allowed: once"));
    }
    if (grant.epoch() == 0) {
      return absl::InvalidArgumentError(at + "epoch: found 0; allowed: 1 or more");
    }
    const bool comes = kind == CommandKind::kAdd || kind == CommandKind::kPrepareAdd ||
                       kind == CommandKind::kChangeRole;
    if (comes && !role) {
      return absl::InvalidArgumentError(absl::StrCat(
          at, "role: found ", static_cast<int>(grant.role()), "; allowed: PRIMARY, SECONDARY"));
    }
    if (grant.members().members_size() > kMostMembers) {
      return absl::InvalidArgumentError(absl::StrCat(at, "members: found ",
                                                     grant.members().members_size(),
                                                     "; allowed: at most ", kMostMembers));
    }
    if (grant.made_of_size() > kMostReshaped) {
      return absl::InvalidArgumentError(absl::StrCat(at, "made_of: found ", grant.made_of_size(),
                                                     "; allowed: at most ", kMostReshaped));
    }
    if (kind == CommandKind::kSetMembers && !grant.has_members()) {
      return absl::InvalidArgumentError(at + "members: found nothing; required");
    }
    if (kind == CommandKind::kPrepareDrop && grant.next_epoch() <= grant.epoch()) {
      return absl::InvalidArgumentError(absl::StrCat(at, "next_epoch: found ", grant.next_epoch(),
                                                     "; allowed: above epoch ", grant.epoch()));
    }
  }
  return absl::OkStatus();
}

std::optional<Members> MembersOf(const v1::ShardGrant& grant) {
  if (!grant.has_members()) return std::nullopt;
  Members members;
  for (const v1::ShardMember& m : grant.members().members()) {
    members.push_back({ServerName(m.server()), m.endpoint()});
  }
  return members;
}

std::optional<ShardOrigin> OriginOf(const v1::ShardGrant& grant) {
  if (grant.made_of().empty()) return std::nullopt;
  ShardOrigin origin{{}, grant.range().start(), grant.range().end(), grant.hash_keys()};
  for (const std::string& shard : grant.made_of()) origin.made_of.emplace_back(shard);
  return origin;
}

absl::Status CheckReshape(const v1::Reshape& reshape) {
  const bool fits = !reshape.from().empty() && !reshape.to().empty() &&
                    reshape.from_size() <= kMostReshaped && reshape.to_size() <= kMostReshaped;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("reshape: found ", reshape.from_size(), " and ",
                                                 reshape.to_size(), " shards; allowed: 1 to ",
                                                 kMostReshaped, " of each"));
}

std::vector<Reshape::Shard> ToShards(const google::protobuf::RepeatedPtrField<v1::Shard>& shards) {
  std::vector<Reshape::Shard> out;
  for (const v1::Shard& shard : shards) {
    out.push_back({ShardId(shard.id()), shard.range().start(), shard.range().end()});
  }
  return out;
}

Command FromHeader(const v1::CommandHeader& header) {
  Command command;
  command.app = header.app();
  command.server = header.server();
  command.incarnation = Incarnation(header.incarnation());
  command.leader_epoch = LeaderEpoch(header.leader_epoch());
  return command;
}

// One call's results. gRPC allows one write at a time; the rest queues here.
class ResultStream final : public grpc::ServerWriteReactor<v1::ShardResults> {
 public:
  explicit ResultStream(std::function<void()> on_gone) : on_gone_(std::move(on_gone)) {}

  void Send(const Reply& reply) {
    v1::ShardResults message;
    for (const ShardResult& r : reply.results) {
      v1::ShardResult* out = message.add_results();
      out->set_shard(r.shard.value());
      out->set_epoch(r.epoch.value());
      out->set_state(ToProto(r.state));
      out->set_progress(r.progress);
      out->set_error(r.error);
      out->set_serving_epoch(r.serving_epoch.value());
    }
    std::lock_guard lock(mutex_);
    if (message.results_size() > 0) queue_.push_back(std::move(message));
    if (reply.last) end_ = grpc::Status::OK;
    GoOn();
  }

  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    end_ = status;
    GoOn();
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    queue_.pop_front();
    if (!ok) {
      queue_.clear();
      end_ = grpc::Status(grpc::StatusCode::CANCELLED, "the caller has gone");
    }
    GoOn();
  }

  void OnCancel() override { End({grpc::StatusCode::CANCELLED, "cancelled"}); }

  void OnDone() override { on_gone_(); }

 private:
  // REQUIRES: mutex_ is held.
  void GoOn() {
    if (writing_ || finished_) return;
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front());
    } else if (end_) {
      finished_ = true;
      Finish(*end_);
    }
  }

  const std::function<void()> on_gone_;
  std::mutex mutex_;
  std::deque<v1::ShardResults> queue_;
  std::optional<grpc::Status> end_;
  bool writing_ = false;
  bool finished_ = false;
};

}  // namespace

class ShardServerService::Impl final : public v1::ShardServer::CallbackService {
 public:
  using Writer = grpc::ServerWriteReactor<v1::ShardResults>;

  explicit Impl(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  Writer* AddShard(grpc::CallbackServerContext*, const v1::AddShardRequest* request) override {
    return Start(CommandKind::kAdd, *request);
  }
  Writer* DropShard(grpc::CallbackServerContext*, const v1::DropShardRequest* request) override {
    return Start(CommandKind::kDrop, *request);
  }
  Writer* ChangeRole(grpc::CallbackServerContext*, const v1::ChangeRoleRequest* request) override {
    const bool named = !request->new_primary().empty();
    if (named != !request->new_primary_endpoint().empty()) {
      return Missing("new_primary and new_primary_endpoint: both or neither");
    }
    return Start(CommandKind::kChangeRole, *request, [&](Command& command) {
      if (!named) return;
      for (const v1::ShardGrant& grant : request->shards()) {
        command.successors.push_back(
            {request->new_primary(), request->new_primary_endpoint(), ShardEpoch(grant.epoch())});
      }
    });
  }
  Writer* PrepareAddShard(grpc::CallbackServerContext*,
                          const v1::PrepareAddShardRequest* request) override {
    if (request->current_owner().empty()) return Missing("current_owner: a server's name");
    return Start(CommandKind::kPrepareAdd, *request, [&](Command& command) {
      command.old_owner = request->current_owner();
      const Peer old_owner{ServerName(request->current_owner()), request->current_owner_endpoint()};
      for (Grant& grant : command.grants) grant.old_owner = old_owner;
    });
  }
  Writer* PrepareDropShard(grpc::CallbackServerContext*,
                           const v1::PrepareDropShardRequest* request) override {
    if (request->new_owner().empty()) return Missing("new_owner: a server's name");
    if (request->new_owner_endpoint().empty()) return Missing("new_owner_endpoint: host:port");
    return Start(CommandKind::kPrepareDrop, *request, [&](Command& command) {
      for (const v1::ShardGrant& grant : request->shards()) {
        command.successors.push_back(
            {request->new_owner(), request->new_owner_endpoint(), ShardEpoch(grant.next_epoch())});
      }
    });
  }
  Writer* UpdateMembership(grpc::CallbackServerContext*,
                           const v1::UpdateMembershipRequest* request) override {
    return Start(CommandKind::kSetMembers, *request);
  }

  grpc::ServerUnaryReactor* CollectLoad(grpc::CallbackServerContext* context,
                                        const v1::CollectLoadRequest* request,
                                        v1::CollectLoadResponse* response) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    callbacks_.collect(FromHeader(request->header()),
                       [this, reactor, response](absl::StatusOr<Engine::Holdings> held) {
                         if (!held.ok()) return reactor->Finish(wire::ToGrpc(held.status()));
                         Fill(*held, response);
                         reactor->Finish(grpc::Status::OK);
                       });
    return reactor;
  }

  grpc::ServerUnaryReactor* PrepareReshape(grpc::CallbackServerContext* context,
                                           const v1::PrepareReshapeRequest* request,
                                           v1::PrepareReshapeResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const v1::Reshape& asked = request->reshape();
    if (absl::Status status = CheckReshape(asked); !status.ok()) {
      reactor->Finish(wire::ToGrpc(status));
      return reactor;
    }
    const Reshape reshape{ToShards(asked.from()), ToShards(asked.to()), asked.hash_keys()};
    callbacks_.reshape(FromHeader(request->header()), reshape,
                       [reactor](const absl::Status& may) { reactor->Finish(wire::ToGrpc(may)); });
    return reactor;
  }

  std::shared_ptr<ResultStream> Find(ReplyId id) {
    std::lock_guard lock(mutex_);
    auto it = streams_.find(id);
    return it == streams_.end() ? nullptr : it->second;
  }

 private:
  std::pair<ReplyId, std::shared_ptr<ResultStream>> NewStream() {
    std::lock_guard lock(mutex_);
    const ReplyId id = ++last_id_;
    auto stream = std::make_shared<ResultStream>([this, id] {
      std::shared_ptr<ResultStream> gone;  // destroyed outside the lock
      std::lock_guard inner(mutex_);
      auto it = streams_.find(id);
      gone = std::move(it->second);
      streams_.erase(it);
    });
    streams_[id] = stream;
    return {id, stream};
  }

  // `complete` adds what only commands of that kind have.
  template <typename Request>
  Writer* Start(
      CommandKind kind, const Request& request,
      absl::FunctionRef<void(Command&)> complete = [](Command&) {}) {
    auto [id, stream] = NewStream();
    if (absl::Status status = CheckGrants(request.shards(), kind); !status.ok()) {
      stream->End(wire::ToGrpc(status));
      return stream.get();
    }
    Command command = FromHeader(request.header());
    command.kind = kind;
    command.reply = id;
    for (const v1::ShardGrant& grant : request.shards()) {
      const Role role = grant.role() == v1::SECONDARY ? Role::kSecondary : Role::kPrimary;
      command.grants.push_back({.shard = ShardId(grant.shard()),
                                .role = role,
                                .epoch = ShardEpoch(grant.epoch()),
                                .members = MembersOf(grant),
                                .members_version = grant.members().version(),
                                .origin = OriginOf(grant)});
    }
    complete(command);
    callbacks_.command(std::move(command));
    return stream.get();
  }

  Writer* Missing(const char* what) {
    auto stream = NewStream().second;
    stream->End(
        {grpc::StatusCode::INVALID_ARGUMENT, absl::StrCat("found nothing; required: ", what)});
    return stream.get();
  }

  void Fill(const Engine::Holdings& held, v1::CollectLoadResponse* response) {
    for (const ShardBook::Held& h : held.shards) {
      v1::HeldShard* out = response->add_shards();
      out->set_shard(h.grant.shard.value());
      out->set_role(ToProto(h.grant.role));
      out->set_epoch(h.grant.epoch.value());
      out->set_state(h.serving ? v1::DONE : v1::LOADING);
      for (const auto& [metric, amount] : callbacks_.load(h.grant.shard)) {
        (*out->mutable_load())[metric] = amount;
      }
      for (const auto& [region, count] : callbacks_.requests(h.grant.shard)) {
        (*out->mutable_requests_by_region())[region] = count;
      }
    }
    callbacks_.traffic(*response);
    for (const auto& [metric, amount] : callbacks_.capacity()) {
      (*response->mutable_capacity())[metric] = amount;
    }
    using std::chrono::milliseconds;
    response->set_lease_remaining_ms(static_cast<uint64_t>(
        std::chrono::duration_cast<milliseconds>(held.lease_remaining).count()));
  }

  const Callbacks callbacks_;
  std::mutex mutex_;
  ReplyId last_id_ = 0;
  std::map<ReplyId, std::shared_ptr<ResultStream>> streams_;
};

ShardServerService::ShardServerService(Callbacks callbacks)
    : impl_(std::make_unique<Impl>(std::move(callbacks))) {}
ShardServerService::~ShardServerService() = default;

grpc::Service* ShardServerService::service() { return impl_.get(); }

void ShardServerService::Send(const Reply& reply) {
  if (auto stream = impl_->Find(reply.reply)) stream->Send(reply);
}

void ShardServerService::Send(const Refuse& refuse) {
  if (auto stream = impl_->Find(refuse.reply)) stream->End(wire::ToGrpc(refuse.status));
}

}  // namespace shardmanager::server
