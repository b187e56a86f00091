#include "wire/discovery_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "runtime/serial_executor.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "wire/grpc_status.h"
#include "wire/keepalive.h"

namespace shardmanager::wire {
namespace {

using discovery::Hub;
using discovery::Message;
using discovery::Subscription;

// Refers to the message's bytes instead of copying them.
grpc::ByteBuffer Wrap(const Message& message) {
  auto* keep = new Message(message);
  const grpc::Slice bytes(
      const_cast<char*>(message->data()), message->size(),
      [](void* kept) { delete static_cast<Message*>(kept); }, keep);
  return grpc::ByteBuffer(&bytes, 1);
}

// One subscriber's stream. gRPC, the hub and the heartbeat timer call in from their
// own threads. At most one write is under way; what to write next is decided when it
// is done, so a slow subscriber never has anything queued.
class Stream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                     public std::enable_shared_from_this<Stream> {
 public:
  using OnGone = std::function<void(Stream*)>;

  Stream(grpc::CallbackServerContext& context, BulkGate& gate, OnGone on_gone)
      : context_(context), gate_(gate), on_gone_(std::move(on_gone)) {}

  // Lives from here until OnDone. `open`: counts as long as this lives.
  // `source`: as discovery::Subscriber.
  void Begin(Hub& hub, const v1::WatchRequest& request, std::string source,
             security::OpenCounts::Open open) {
    self_ = shared_from_this();
    open_ = std::move(open);
    name_ = request.subscriber();
    kind_ = request.kind();
    discovery::Subscriber who{.known = std::nullopt,
                              .wake =
                                  [weak = weak_from_this()] {
                                    if (auto stream = weak.lock()) stream->Pump();
                                  },
                              .cell = request.cell(),
                              .source = std::move(source)};
    if (request.has_known()) who.known = MapVersion::From(request.known());
    auto subscription = hub.Subscribe(AppName(request.app()), std::move(who));
    {
      std::lock_guard lock(mutex_);
      subscription_ = std::move(subscription);
    }
    Pump();
    Greet();
  }

  void Refuse(grpc::Status status) {
    self_ = shared_from_this();
    End(std::move(status));
  }

  void HeartbeatIfQuietFor(Duration quiet) {
    std::lock_guard lock(mutex_);
    if (!MayWrite() || MonotonicNow() - last_write_ < quiet) return;
    Write(subscription_->Heartbeat());
  }

  // Whom it has just cut off, as the client has taken nothing of a message for so long; "": nobody.
  // The client sees CANCELLED: there is no room left to tell it more.
  std::string CutOffIfStuckFor(Duration slow, const Gate& gate) {
    std::lock_guard lock(mutex_);
    if (!writing_ || end_.has_value() || MonotonicNow() - last_write_ < slow) return "";
    end_ = grpc::Status::CANCELLED;
    std::string who = absl::StrCat(gate.WhoCalls(&context_), " at ", context_.peer());
    context_.TryCancel();
    return who;
  }

  // Adds itself to what is told of its subscriber, if that passes maps on.
  void AddTo(std::map<std::string, v1::RelayStatus>& relays, TimePoint now) {
    if (kind_ != v1::SUBSCRIBER_RELAY && kind_ != v1::SUBSCRIBER_STANDBY) return;
    v1::RelayStatus& status = relays[name_];
    status.set_name(name_);
    status.set_kind(kind_ == v1::SUBSCRIBER_RELAY ? "relay" : "standby");
    status.set_apps(status.apps() + 1);
    std::lock_guard lock(mutex_);
    const bool behind = writing_ || next_ != nullptr;
    const int64_t behind_ms = behind ? (now - busy_since_) / Milliseconds(1) : 0;
    if (behind_ms < kBehindMs) return;
    status.set_apps_behind(status.apps_behind() + 1);
    status.set_behind_ms(std::max(status.behind_ms(), behind_ms));
  }

  void End(grpc::Status status) {
    std::lock_guard lock(mutex_);
    if (end_.has_value()) return;
    end_ = std::move(status);
    if (!writing_) Finish(*end_);
  }

 private:
  // A message that is being sent for less than this is on its way.
  static constexpr int64_t kBehindMs = 1'000;

  // REQUIRES: mutex_ held. The timer and the hub know the stream before Begin() has
  // its subscription: what they miss then, Begin() makes good.
  bool MayWrite() const { return subscription_ != nullptr && !writing_ && !end_.has_value(); }

  // Says at once that somebody listens, when there is nothing else to say.
  void Greet() {
    std::lock_guard lock(mutex_);
    if (!MayWrite() || last_write_ != TimePoint()) return;
    Write(subscription_->Heartbeat());
  }

  void Pump() {
    std::lock_guard lock(mutex_);
    if (!MayWrite()) return;
    if (next_ == nullptr) next_ = subscription_->Pull();
    if (next_ == nullptr) busy_ = false;
    if (next_ != nullptr && gate_.IsLarge(next_->size())) {
      at_gate_ = true;
      const bool admitted = gate_.Enter(this, MonotonicNow(), [weak = weak_from_this()] {
        if (auto stream = weak.lock()) stream->Pump();
      });
      if (!admitted) return;
    } else if (std::exchange(at_gate_, false)) {
      gate_.Leave(this);
    }
    if (next_ != nullptr) Write(std::exchange(next_, nullptr));
  }

  // REQUIRES: mutex_ held, not writing. gRPC never calls back from inside StartWrite.
  void Write(const Message& message) {
    buffer_ = Wrap(message);
    writing_ = true;
    if (!busy_) busy_since_ = MonotonicNow();
    busy_ = true;
    last_write_ = MonotonicNow();
    StartWrite(&buffer_);
  }

  void OnWriteDone(bool ok) override {
    {
      std::lock_guard lock(mutex_);
      writing_ = false;
      buffer_.Clear();
      if (!ok && !end_.has_value()) end_ = grpc::Status::CANCELLED;
      if (end_.has_value()) {
        Finish(*end_);
        return;
      }
    }
    Pump();
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }

  void OnDone() override {
    std::shared_ptr<Stream> self = std::move(self_);
    std::shared_ptr<Subscription> subscription;
    {
      std::lock_guard lock(mutex_);
      subscription = std::move(subscription_);
    }
    subscription.reset();
    open_ = {};
    gate_.Leave(this);
    on_gone_(this);
  }

  grpc::CallbackServerContext& context_;
  BulkGate& gate_;
  const OnGone on_gone_;
  security::OpenCounts::Open open_;
  std::shared_ptr<Stream> self_;
  std::string name_;  // of the subscriber
  v1::SubscriberKind kind_ = v1::SUBSCRIBER_KIND_UNSPECIFIED;

  std::mutex mutex_;
  std::shared_ptr<Subscription> subscription_;
  Message next_;          // pulled, and too large to be sent before the gate admits it
  bool at_gate_ = false;  // it entered the gate, or waits there
  bool writing_ = false;
  bool busy_ = false;  // it was not up to date since busy_since_
  TimePoint busy_since_;
  std::optional<grpc::Status> end_;  // decided; Finish was or will be called once
  TimePoint last_write_;
  grpc::ByteBuffer buffer_;
};

}  // namespace

class DiscoveryService::Impl final
    : public v1::Discovery::WithRawCallbackMethod_Watch<
          v1::Discovery::WithRawCallbackMethod_ReportServers<v1::Discovery::Service>> {
 public:
  Impl(Hub& hub, Options options)
      : hub_(hub),
        options_(options),
        gate_(options.bulk, [this](std::function<void()> task) { timer_.Post(std::move(task)); }),
        timer_("sm-heartbeat") {
    timer_.Post([this] { Beat(); });
  }
  ~Impl() override { timer_.Stop(); }

  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* bytes) override {
    auto stream = std::make_shared<Stream>(*context, gate_, [this](Stream* gone) { Remove(gone); });
    v1::WatchRequest request;
    grpc::ByteBuffer copy(*bytes);
    const grpc::Status parsed =
        grpc::SerializationTraits<v1::WatchRequest>::Deserialize(&copy, &request);
    if (grpc::Status may = May(*context, request); !may.ok()) {
      stream->Refuse(may);
    } else if (grpc::Status status = Check(parsed, request); !status.ok()) {
      stream->Refuse(status);
    } else if (auto open = options_.gate.BeginStream(context); !open.ok()) {
      stream->Refuse(ToGrpc(open.status()));
    } else if (!Add(stream)) {
      stream->Refuse({grpc::StatusCode::UNAVAILABLE, "this publisher is shutting down"});
    } else {
      LogDebug("{} subscribes to {}", request.subscriber(), request.app());
      stream->Begin(hub_, request, options_.gate.WhoCalls(context), *std::move(open));
    }
    return stream.get();
  }

  grpc::ServerUnaryReactor* ReportServers(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* bytes,
                                          grpc::ByteBuffer* answer) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const grpc::Status taken = Take(*context, *bytes);
    if (taken.ok()) *answer = grpc::ByteBuffer(nullptr, 0);  // an empty ReportServersResponse
    reactor->Finish(taken);
    return reactor;
  }

  size_t waiting() const { return gate_.waiting(); }

  std::vector<v1::RelayStatus> Relays() {
    std::vector<std::shared_ptr<Stream>> streams;
    {
      std::lock_guard lock(mutex_);
      streams = Alive();
    }
    std::map<std::string, v1::RelayStatus> by_name;
    for (const auto& stream : streams) stream->AddTo(by_name, MonotonicNow());
    std::vector<v1::RelayStatus> all;
    for (auto& [name, status] : by_name) {
      if (all.size() < kMostRelays) all.push_back(std::move(status));
    }
    return all;
  }

  void EndStreams() {
    std::vector<std::shared_ptr<Stream>> streams;
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
      streams = Alive();
    }
    for (const auto& stream : streams) {
      stream->End({grpc::StatusCode::UNAVAILABLE, "this publisher is shutting down"});
    }
  }

 private:
  static constexpr size_t kMostRelays = 1'000;

  static grpc::Status Check(const grpc::Status& parsed, const v1::WatchRequest& request) {
    constexpr size_t kLongestName = 63;
    if (!parsed.ok()) return {grpc::StatusCode::INVALID_ARGUMENT, "not a WatchRequest"};
    if (request.app().empty() || request.app().size() > kLongestName) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "app: found \"" +
                                                      request.app().substr(0, kLongestName) +
                                                      "\"; allowed: 1 to 63 characters"};
    }
    return grpc::Status::OK;
  }

  // Whether the caller may make the call with this request.
  template <typename Request>
  grpc::Status May(const grpc::ServerContextBase& context, const Request& request) const {
    return ToGrpc(options_.gate.Check(&context, RuleFor<Request>(), request.app()));
  }

  grpc::Status Take(const grpc::ServerContextBase& context, const grpc::ByteBuffer& bytes) {
    constexpr size_t kMostBytes = 1 << 20;
    if (bytes.Length() > kMostBytes) {
      return ToGrpc(absl::InvalidArgumentError(absl::StrCat(
          "the report: found ", bytes.Length(), " bytes; allowed: at most ", kMostBytes)));
    }
    v1::ReportServersRequest report;
    grpc::ByteBuffer copy(bytes);
    if (!grpc::SerializationTraits<v1::ReportServersRequest>::Deserialize(&copy, &report).ok()) {
      return {grpc::StatusCode::INVALID_ARGUMENT, "not a ReportServersRequest"};
    }
    if (grpc::Status may = May(context, report); !may.ok()) return may;
    if (options_.reports == nullptr) {
      return {grpc::StatusCode::UNIMPLEMENTED, "this publisher hears no reports"};
    }
    const absl::Status taken = options_.reports->Take(report);
    taken.ok() ? refused_.Over("reports of servers are taken again")
               : refused_.Say(absl::StrCat("a report of servers is refused: ",
                                           std::string(taken.message())));
    return ToGrpc(taken);
  }

  bool Add(const std::shared_ptr<Stream>& stream) {
    std::lock_guard lock(mutex_);
    if (ending_) return false;
    streams_.emplace(stream.get(), stream);
    return true;
  }

  void Remove(Stream* gone) {
    std::lock_guard lock(mutex_);
    streams_.erase(gone);
  }

  // REQUIRES: mutex_ held.
  std::vector<std::shared_ptr<Stream>> Alive() const {
    std::vector<std::shared_ptr<Stream>> alive;
    alive.reserve(streams_.size());
    for (const auto& [key, stream] : streams_) {
      if (auto locked = stream.lock()) alive.push_back(std::move(locked));
    }
    return alive;
  }

  void Beat() {
    std::vector<std::shared_ptr<Stream>> streams;
    {
      std::lock_guard lock(mutex_);
      streams = Alive();
    }
    for (const auto& stream : streams) {
      stream->HeartbeatIfQuietFor(options_.heartbeat);
      const std::string who = stream->CutOffIfStuckFor(options_.slow, options_.gate);
      if (!who.empty()) SayCutOff(who);
    }
    gate_.ExpelStalled(MonotonicNow());
    const Duration pause = std::min(options_.heartbeat / 4, options_.bulk.stall / 2);
    timer_.PostAt(MonotonicNow() + pause, [this] { Beat(); });
  }

  void SayCutOff(const std::string& who) const {
    options_.gate.Refused(
        security::Refusal::kSlowReader,
        absl::StrCat("a subscriber is cut off, as it has taken nothing of a message for ",
                     options_.slow / Milliseconds(1), " ms: ", who));
  }

  Hub& hub_;
  const Options options_;
  std::mutex mutex_;
  bool ending_ = false;
  absl::flat_hash_map<Stream*, std::weak_ptr<Stream>> streams_;
  BulkGate gate_;
  Repeater refused_;
  SerialExecutor timer_;
};

DiscoveryService::DiscoveryService(discovery::Hub& hub, Options options)
    : impl_(std::make_unique<Impl>(hub, options)) {}
DiscoveryService::~DiscoveryService() = default;

grpc::Service* DiscoveryService::service() { return impl_.get(); }
std::vector<v1::RelayStatus> DiscoveryService::Relays() const { return impl_->Relays(); }
size_t DiscoveryService::waiting() const { return impl_->waiting(); }
void DiscoveryService::EndStreams() { impl_->EndStreams(); }

void PrepareForSubscribers(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Of one connection; what one identity may have open on all of its connections is the gate's.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 10'000);
  // Who connects and says nothing, or has nothing more to say, makes room.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 600'000);
  SetKeepalive({.ping_after = Seconds(20), .give_up = Seconds(10)}, builder);
}

}  // namespace shardmanager::wire
