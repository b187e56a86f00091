#include "server/shard_server_service.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "model/proto_values.h"
#include "server/control/commands_of.h"
#include "server/control/results.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager::server {

namespace {

using Done = std::function<void(const grpc::Status& status)>;

}  // namespace

// What both forms of the service stand on: who waits for which results.
class ShardServerService::Impl {
 public:
  explicit Impl(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  ReplyId NewId() {
    std::lock_guard lock(mutex_);
    return ++last_id_;
  }
  // Begins the command, whose results go to `results` until Forget().
  void Begin(const grpc::ServerContextBase& context, ReplyId id,
             const std::shared_ptr<Results>& results, absl::StatusOr<Command> command) {
    {
      std::lock_guard lock(mutex_);
      waiting_[id] = results;
    }
    if (auto s = callbacks_.check_caller(context); !s.ok()) return results->End(wire::ToGrpc(s));
    if (!command.ok()) return results->End(wire::ToGrpc(command.status()));
    command->reply = id;
    callbacks_.command(*std::move(command));
  }
  void Forget(ReplyId id) {
    std::shared_ptr<Results> gone;  // destroyed outside the lock
    std::lock_guard lock(mutex_);
    auto it = waiting_.find(id);
    gone = std::move(it->second);
    waiting_.erase(it);
  }
  std::shared_ptr<Results> Find(ReplyId id) {
    std::lock_guard lock(mutex_);
    auto it = waiting_.find(id);
    return it == waiting_.end() ? nullptr : it->second;
  }

  // `done` is called on any thread, when the response is filled.
  void Collect(const grpc::ServerContextBase& context, const v1::CollectLoadRequest& request,
               v1::CollectLoadResponse* response, const Done& done) {
    if (auto s = callbacks_.check_caller(context); !s.ok()) return done(wire::ToGrpc(s));
    callbacks_.collect(FromHeader(request.header()),
                       [this, response, done](absl::StatusOr<Engine::Holdings> held) {
                         if (!held.ok()) return done(wire::ToGrpc(held.status()));
                         Fill(*held, response);
                         done(grpc::Status::OK);
                       });
  }

  // Likewise.
  void AskReshape(const grpc::ServerContextBase& context, const v1::PrepareReshapeRequest& request,
                  const Done& done) {
    if (auto s = callbacks_.check_caller(context); !s.ok()) return done(wire::ToGrpc(s));
    const absl::StatusOr<Reshape> reshape = ReshapeOf(request.reshape());
    if (!reshape.ok()) return done(wire::ToGrpc(reshape.status()));
    callbacks_.reshape(FromHeader(request.header()), *reshape,
                       [done](const absl::Status& may) { done(wire::ToGrpc(may)); });
  }

 private:
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
  std::map<ReplyId, std::shared_ptr<Results>> waiting_;
};

// Calls cost no thread, however long a shard loads.
class ShardServerService::ByCallbacks final : public v1::ShardServer::CallbackService {
 public:
  explicit ByCallbacks(Impl& impl) : impl_(impl) {}

 private:
  using Writer = grpc::ServerWriteReactor<v1::ShardResults>;
  using Context = grpc::CallbackServerContext;

  Writer* AddShard(Context* context, const v1::AddShardRequest* request) override {
    return Go(*context, *request);
  }
  Writer* DropShard(Context* context, const v1::DropShardRequest* request) override {
    return Go(*context, *request);
  }
  Writer* ChangeRole(Context* context, const v1::ChangeRoleRequest* request) override {
    return Go(*context, *request);
  }
  Writer* PrepareAddShard(Context* context, const v1::PrepareAddShardRequest* request) override {
    return Go(*context, *request);
  }
  Writer* PrepareDropShard(Context* context, const v1::PrepareDropShardRequest* request) override {
    return Go(*context, *request);
  }
  Writer* UpdateMembership(Context* context, const v1::UpdateMembershipRequest* request) override {
    return Go(*context, *request);
  }
  grpc::ServerUnaryReactor* CollectLoad(Context* context, const v1::CollectLoadRequest* request,
                                        v1::CollectLoadResponse* response) override {
    return Answer(context,
                  [&](const Done& done) { impl_.Collect(*context, *request, response, done); });
  }
  grpc::ServerUnaryReactor* PrepareReshape(Context* context,
                                           const v1::PrepareReshapeRequest* request,
                                           v1::PrepareReshapeResponse*) override {
    return Answer(context, [&](const Done& done) { impl_.AskReshape(*context, *request, done); });
  }

  // `ask` is given what to call with the status, when the response is there.
  static grpc::ServerUnaryReactor* Answer(Context* context,
                                          absl::FunctionRef<void(const Done&)> ask) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    ask([reactor](const grpc::Status& status) { reactor->Finish(status); });
    return reactor;
  }

  template <typename Request>
  Writer* Go(const Context& context, const Request& request) {
    const ReplyId id = impl_.NewId();
    const auto reactor = std::make_shared<ResultReactor>([this, id] { impl_.Forget(id); });
    impl_.Begin(context, id, reactor, CommandOf(request));
    return reactor.get();
  }

  Impl& impl_;
};

// A command costs a thread of gRPC until its last result.
class ShardServerService::Blocking final : public v1::ShardServer::Service {
 public:
  explicit Blocking(Impl& impl) : impl_(impl) {}

 private:
  using Writer = grpc::ServerWriter<v1::ShardResults>;
  using Context = grpc::ServerContext;

  grpc::Status AddShard(Context* context, const v1::AddShardRequest* request,
                        Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status DropShard(Context* context, const v1::DropShardRequest* request,
                         Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status ChangeRole(Context* context, const v1::ChangeRoleRequest* request,
                          Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status PrepareAddShard(Context* context, const v1::PrepareAddShardRequest* request,
                               Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status PrepareDropShard(Context* context, const v1::PrepareDropShardRequest* request,
                                Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status UpdateMembership(Context* context, const v1::UpdateMembershipRequest* request,
                                Writer* writer) override {
    return Go(*context, *request, *writer);
  }
  grpc::Status CollectLoad(Context* context, const v1::CollectLoadRequest* request,
                           v1::CollectLoadResponse* response) override {
    return Await([&](const Done& done) { impl_.Collect(*context, *request, response, done); });
  }
  grpc::Status PrepareReshape(Context* context, const v1::PrepareReshapeRequest* request,
                              v1::PrepareReshapeResponse*) override {
    return Await([&](const Done& done) { impl_.AskReshape(*context, *request, done); });
  }

  // As ByCallbacks::Answer has it.
  static grpc::Status Await(absl::FunctionRef<void(const Done&)> ask) {
    std::promise<grpc::Status> answer;
    ask([&answer](const grpc::Status& status) { answer.set_value(status); });
    return answer.get_future().get();
  }

  template <typename Request>
  grpc::Status Go(const Context& context, const Request& request, Writer& writer) {
    const ReplyId id = impl_.NewId();
    const auto loop = std::make_shared<ResultLoop>();
    impl_.Begin(context, id, loop, CommandOf(request));
    grpc::Status status = loop->Run(context, writer);
    impl_.Forget(id);
    return status;
  }

  Impl& impl_;
};

ShardServerService::ShardServerService(Callbacks callbacks)
    : impl_(std::make_unique<Impl>(std::move(callbacks))),
      by_callbacks_(std::make_unique<ByCallbacks>(*impl_)),
      blocking_(std::make_unique<Blocking>(*impl_)) {}
ShardServerService::~ShardServerService() = default;

grpc::Service* ShardServerService::Beside(const std::vector<grpc::Service*>& services) {
  bool blocks = false;
  bool calls_back = false;
  for (const grpc::Service* service : services) {
    blocks |= service->has_synchronous_methods();
    calls_back |= service->has_callback_methods();
  }
  if (blocks && !calls_back) return blocking_.get();
  return by_callbacks_.get();
}

void ShardServerService::Send(const Reply& reply) {
  if (auto results = impl_->Find(reply.reply)) results->Send(reply);
}

void ShardServerService::Send(const Refuse& refuse) {
  if (auto results = impl_->Find(refuse.reply)) results->End(wire::ToGrpc(refuse.status));
}

}  // namespace shardmanager::server
