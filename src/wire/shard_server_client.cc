#include "wire/shard_server_client.h"

#include <google/protobuf/arena.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "model/proto_values.h"
#include "model/request_metadata.h"
#include "model/traffic/key_spread.h"
#include "model/traffic/request_times.h"
#include "runtime/clock.h"
#include "shardmanager/v1/shard_server.grpc.pb.h"
#include "wire/grpc_status.h"
#include "wire/keepalive.h"

namespace shardmanager::wire {
namespace {

using orchestrator::CommandOutcome;
using orchestrator::NamedGrant;
using orchestrator::NamedResult;
using orchestrator::ServerAddress;
using orchestrator::ServerCommand;

// Of a question.
constexpr std::chrono::seconds kAnswerTimeout{10};
// What a server with very many shards may answer.
constexpr int kMaxMessageBytes = 64 << 20;
// Of the metrics, or regions, that a server reports for one shard or for itself. A spec, or an app,
// has far fewer.
constexpr size_t kMostEntries = 64;
// Of the counts of requests that a server tells: what is beyond is nonsense.
constexpr size_t kMostBusyShards = 16;
constexpr size_t kMostKeys = 8;
constexpr uint32_t kMostOneIn = 1'000'000;
constexpr uint64_t kMostCountedMs = 24 * 3'600'000;

void FillHeader(const ServerAddress& to, v1::CommandHeader* header) {
  header->set_app(to.app.value());
  header->set_server(to.server.value());
  header->set_incarnation(to.incarnation.value());
  header->set_leader_epoch(to.leader_epoch.value());
}

template <typename Request>
void FillCommand(const ServerAddress& to, const std::vector<NamedGrant>& grants, Request* request) {
  FillHeader(to, request->mutable_header());
  for (const NamedGrant& grant : grants) {
    v1::ShardGrant* out = request->add_shards();
    out->set_shard(grant.shard.value());
    out->set_role(ToProto(grant.role));
    out->set_epoch(grant.epoch.value());
    out->set_next_epoch(grant.next_epoch.value());
    for (const ShardId& shard : grant.made_of) out->add_made_of(shard.value());
    if (!grant.made_of.empty()) *out->mutable_range() = grant.range;
    out->set_hash_keys(grant.hash_keys);
    out->set_operation(grant.operation.substr(0, request_metadata::kLongestOperation));
    if (!grant.members) continue;
    out->mutable_members()->set_version(grant.members_version);
    for (const Peer& peer : *grant.members) {
      v1::ShardMember* member = out->mutable_members()->add_members();
      member->set_server(peer.server.value());
      member->set_endpoint(peer.endpoint);
    }
  }
}

CommandOutcome ToOutcome(v1::ShardState state) {
  switch (state) {
    case v1::DONE:
      return CommandOutcome::kDone;
    case v1::FAILED:
      return CommandOutcome::kFailed;
    case v1::STALE:
      return CommandOutcome::kStale;
    case v1::CALLED_OFF:
      return CommandOutcome::kCalledOff;
    default:
      return CommandOutcome::kLoading;
  }
}

}  // namespace

// Calls under way register here, so that the destructor can cancel and await them. When
// one is over it ends (its context may go now, and is cancelled no more), destroys
// itself, and leaves as the last thing, when it holds no channel any more: if the last
// reference to one went on gRPC's callback thread, gRPC would have the thread join itself.
class ShardServerClient::Impl {
 public:
  using Stub = v1::ShardServer::Stub;

  ~Impl() {
    std::unique_lock lock(mutex_);
    closing_ = true;
    for (grpc::ClientContext* context : cancellable_) context->TryCancel();
    idle_.wait(lock, [this] { return calls_ == 0; });
  }

  explicit Impl(Options options) : options_(std::move(options)) {
    SM_CHECK(options_.transport != nullptr, "it is said how servers are connected to");
  }

  std::shared_ptr<Stub> StubFor(const ServerAddress& to) {
    std::vector<std::shared_ptr<Stub>> dropped;  // goes after the lock
    std::lock_guard lock(mutex_);
    const TimePoint now = MonotonicNow();
    DropUnused(now, dropped);
    Connection& connection = connections_[{to.endpoint, to.app.value(), to.server.value()}];
    if (connection.stub == nullptr) connection.stub = Connect(to);
    connection.last_used = now;
    return connection.stub;
  }

  size_t connections() {
    std::lock_guard lock(mutex_);
    return connections_.size();
  }

  // False: closing, the call must not start.
  bool Enter(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    if (closing_) return false;
    cancellable_.insert(context);
    ++calls_;
    return true;
  }

  void End(grpc::ClientContext* context) {
    std::lock_guard lock(mutex_);
    cancellable_.erase(context);
  }

  // Null: closing.
  template <typename Call>
  std::shared_ptr<Call> Ask(const ServerAddress& to) {
    auto call = std::make_shared<Call>();
    call->stub = StubFor(to);
    call->context.set_deadline(std::chrono::system_clock::now() + kAnswerTimeout);
    FillHeader(to, call->request.mutable_header());
    return Enter(&call->context) ? call : nullptr;
  }

  template <typename Call>
  void EndQuestion(std::shared_ptr<Call>& call) {
    End(&call->context);
    call.reset();
    Leave();
  }

  void Leave() {
    std::lock_guard lock(mutex_);
    if (--calls_ == 0) idle_.notify_all();
  }

  bool closing() {
    std::lock_guard lock(mutex_);
    return closing_;
  }

 private:
  struct Connection {
    std::shared_ptr<Stub> stub;
    TimePoint last_used;
  };

  std::shared_ptr<Stub> Connect(const ServerAddress& to) const {
    grpc::ChannelArguments args;
    args.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // A server that comes back on its port is to be reached soon.
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);  // the connect time-out
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
    SetKeepalive({.ping_after = options_.ping_after, .give_up = options_.give_up}, args);
    return v1::ShardServer::NewStub(options_.transport->Open(
        to.endpoint, security::AServerOf(to.app.value(), to.server.value()), std::move(args)));
  }

  // REQUIRES: mutex_ held. Those that a call still holds stay: it would be the last to
  // let go, on gRPC's thread.
  void DropUnused(TimePoint now, std::vector<std::shared_ptr<Stub>>& dropped) {
    if (now - last_swept_ < options_.keep_unused / 2) return;
    last_swept_ = now;
    for (auto it = connections_.begin(); it != connections_.end();) {
      Connection& connection = it->second;
      const bool unused = now - connection.last_used >= options_.keep_unused;
      if (!unused || connection.stub.use_count() > 1) {
        ++it;
        continue;
      }
      dropped.push_back(std::move(connection.stub));
      it = connections_.erase(it);
    }
  }

  const Options options_;
  std::mutex mutex_;
  std::condition_variable idle_;
  bool closing_ = false;
  size_t calls_ = 0;
  std::set<grpc::ClientContext*> cancellable_;
  // By endpoint, app and server: who is believed there depends on all of them.
  std::map<std::array<std::string, 3>, Connection> connections_;
  TimePoint last_swept_{};
};

namespace {

// One call of a command; deletes itself when it is over.
template <typename Client>
class CommandCall final : public grpc::ClientReadReactor<v1::ShardResults> {
 public:
  CommandCall(Client& client, std::shared_ptr<v1::ShardServer::Stub> stub,
              const std::vector<NamedGrant>& grants, Duration timeout,
              orchestrator::CommandSender::ResultsCallback on_results)
      : client_(client), stub_(std::move(stub)), on_results_(std::move(on_results)) {
    context_.set_deadline(std::chrono::system_clock::now() + timeout);
    for (const NamedGrant& grant : grants) open_[grant.shard] = grant.epoch;
  }

  void Start(const ServerAddress& to, const ServerCommand& command) {
    if (!client_.Enter(&context_)) {
      delete this;
      return;
    }
    Send(to, command);
    StartRead(&message_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    std::vector<NamedResult> results;
    for (const v1::ShardResult& r : message_.results()) {
      const CommandOutcome outcome = ToOutcome(r.state());
      const ShardId shard(r.shard());
      auto it = open_.find(shard);
      if (it == open_.end()) continue;
      results.push_back(
          {shard, it->second, outcome, r.progress(), r.error(), ShardEpoch(r.serving_epoch())});
      if (outcome != CommandOutcome::kLoading) open_.erase(it);
    }
    if (!results.empty() && !client_.closing()) on_results_(std::move(results));
    StartRead(&message_);
  }

  void OnDone(const grpc::Status& status) override {
    std::vector<NamedResult> results;
    for (const auto& [shard, epoch] : open_) {
      results.push_back({shard, epoch, CommandOutcome::kUnreachable, 0,
                         status.ok() ? "the server ended the call without an answer"
                                     : absl::StrCat("call failed: ", status.error_message())});
      if (status.error_code() == grpc::StatusCode::ABORTED) {
        results.back().outcome = CommandOutcome::kDeposed;
      }
      if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        results.back().outcome = CommandOutcome::kFailed;  // asking again will not help
      }
    }
    if (!results.empty() && !client_.closing()) on_results_(std::move(results));
    Client& client = client_;
    client.End(&context_);
    delete this;
    client.Leave();
  }

 private:
  void Send(const ServerAddress& to, const ServerCommand& command) {
    switch (command.kind) {
      case CommandKind::kAdd:
        return stub_->async()->AddShard(&context_, Make<v1::AddShardRequest>(to, command), this);
      case CommandKind::kDrop:
        return stub_->async()->DropShard(&context_, Make<v1::DropShardRequest>(to, command), this);
      case CommandKind::kPrepareAdd: {
        auto* request = Make<v1::PrepareAddShardRequest>(to, command);
        request->set_current_owner(command.other.server.value());
        request->set_current_owner_endpoint(command.other.endpoint);
        return stub_->async()->PrepareAddShard(&context_, request, this);
      }
      case CommandKind::kPrepareDrop: {
        auto* request = Make<v1::PrepareDropShardRequest>(to, command);
        request->set_new_owner(command.other.server.value());
        request->set_new_owner_endpoint(command.other.endpoint);
        return stub_->async()->PrepareDropShard(&context_, request, this);
      }
      case CommandKind::kChangeRole: {
        auto* request = Make<v1::ChangeRoleRequest>(to, command);
        request->set_new_primary(command.other.server.value());
        request->set_new_primary_endpoint(command.other.endpoint);
        return stub_->async()->ChangeRole(&context_, request, this);
      }
      case CommandKind::kSetMembers:
        return stub_->async()->UpdateMembership(
            &context_, Make<v1::UpdateMembershipRequest>(to, command), this);
    }
  }

  // Lives as long as the call.
  template <typename Request>
  Request* Make(const ServerAddress& to, const ServerCommand& command) {
    auto* request = google::protobuf::Arena::CreateMessage<Request>(&requests_);
    FillCommand(to, command.grants, request);
    return request;
  }

  Client& client_;
  const std::shared_ptr<v1::ShardServer::Stub> stub_;  // goes after the context, as below
  const orchestrator::CommandSender::ResultsCallback on_results_;
  grpc::ClientContext context_;
  google::protobuf::Arena requests_;
  v1::ShardResults message_;
  std::map<ShardId, ShardEpoch> open_;  // without a final result
};

// A question of one answer.
template <typename Request, typename Response>
struct Question {
  // The last to go: while it is here, the context's channel is not dropped as unused.
  std::shared_ptr<v1::ShardServer::Stub> stub;
  grpc::ClientContext context;
  Request request;
  Response response;
};
using CollectCall = Question<v1::CollectLoadRequest, v1::CollectLoadResponse>;
using ReshapeCall = Question<v1::PrepareReshapeRequest, v1::PrepareReshapeResponse>;

// Of metrics and their amounts, or of regions and their requests. What is too much is left out.
template <typename Entry, typename Value>
std::vector<Entry> ToEntries(const google::protobuf::Map<std::string, Value>& reported) {
  std::vector<Entry> entries;
  entries.reserve(std::min(reported.size(), kMostEntries));
  for (const auto& [name, value] : reported) {
    if (entries.size() == kMostEntries) break;
    entries.push_back({name, value});
  }
  return entries;
}

std::vector<orchestrator::MetricAmount> ToAmounts(
    const google::protobuf::Map<std::string, double>& reported) {
  return ToEntries<orchestrator::MetricAmount>(reported);
}

orchestrator::RequestCount ToCount(const v1::ShardTraffic& traffic) {
  const int classes = std::min<int>(traffic.times_size(), kTimeClasses);
  return {.shard = traffic.shard(),
          .requests = traffic.requests(),
          .errors = std::min(traffic.errors(), traffic.requests()),
          .times = {traffic.times().begin(), traffic.times().begin() + classes}};
}

orchestrator::SampledKeys ToKeys(const v1::KeySample& sample) {
  orchestrator::SampledKeys keys{.requests = sample.requests(),
                                 .one_in = std::clamp<uint32_t>(sample.one_in(), 1, kMostOneIn)};
  for (const v1::FrequentKey& key : sample.top()) {
    if (keys.top.size() == kMostKeys) break;
    if (key.key().size() > request_metadata::kLongestNamedKey) continue;
    keys.top.push_back({key.key(), key.shard(), key.count(), std::min(key.error(), key.count())});
  }
  if (sample.by_hash_size() == static_cast<int>(kHashParts)) {
    keys.by_hash.assign(sample.by_hash().begin(), sample.by_hash().end());
  }
  return keys;
}

orchestrator::CountedTraffic ToTraffic(const v1::CollectLoadResponse& response) {
  orchestrator::CountedTraffic traffic{.requests = response.requests(),
                                       .keys = ToKeys(response.keys())};
  traffic.counted_for =
      Milliseconds(static_cast<int64_t>(std::min<uint64_t>(response.counted_ms(), kMostCountedMs)));
  for (const v1::ShardTraffic& shard : response.traffic()) {
    if (traffic.shards.size() == kMostBusyShards) break;
    traffic.shards.push_back(ToCount(shard));
  }
  return traffic;
}

}  // namespace

orchestrator::Holdings ToHoldings(const v1::CollectLoadResponse& response) {
  orchestrator::Holdings holdings{.capacity = ToAmounts(response.capacity())};
  auto& held = holdings.held;
  held.reserve(static_cast<size_t>(response.shards_size()));
  for (const v1::HeldShard& shard : response.shards()) {
    held.push_back({.shard = shard.shard(),
                    .epoch = ShardEpoch(shard.epoch()),
                    .serving = shard.state() == v1::DONE,
                    .role = shard.role() == v1::SECONDARY ? Role::kSecondary : Role::kPrimary,
                    .load = ToAmounts(shard.load()),
                    .requests = ToEntries<orchestrator::RequestsFrom>(shard.requests_by_region())});
  }
  holdings.traffic = ToTraffic(response);
  return holdings;
}

ShardServerClient::ShardServerClient(Options options) : impl_(std::make_unique<Impl>(options)) {}
ShardServerClient::~ShardServerClient() = default;

size_t ShardServerClient::connections() const { return impl_->connections(); }

void ShardServerClient::Send(const ServerAddress& to, ServerCommand command, Duration timeout,
                             ResultsCallback on_results) {
  auto* call = new CommandCall<Impl>(*impl_, impl_->StubFor(to), command.grants, timeout,
                                     std::move(on_results));
  call->Start(to, command);  // it deletes itself
}

void ShardServerClient::Collect(const ServerAddress& to, ReportCallback on_report) {
  auto call = impl_->Ask<CollectCall>(to);
  if (call == nullptr) return;
  call->stub->async()->CollectLoad(
      &call->context, &call->request, &call->response,
      [this, call, on_report = std::move(on_report)](const grpc::Status& status) mutable {
        if (!impl_->closing()) {
          if (status.ok()) {
            on_report(ToHoldings(call->response));
          } else {
            on_report(absl::UnavailableError(status.error_message()));
          }
        }
        impl_->EndQuestion(call);
      });
}

void ShardServerClient::AskReshape(const ServerAddress& to, const v1::Reshape& reshape,
                                   StatusCallback on_answer) {
  auto call = impl_->Ask<ReshapeCall>(to);
  if (call == nullptr) return;
  *call->request.mutable_reshape() = reshape;
  call->stub->async()->PrepareReshape(
      &call->context, &call->request, &call->response,
      [this, call, on_answer = std::move(on_answer)](const grpc::Status& status) mutable {
        if (!impl_->closing()) on_answer(FromGrpc(status));
        impl_->EndQuestion(call);
      });
}

}  // namespace shardmanager::wire
