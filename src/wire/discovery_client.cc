#include "wire/discovery_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/state_machine.h"
#include "discovery/map_receiver.h"
#include "discovery/publisher_outlook.h"
#include "discovery/reconnect_policy.h"
#include "runtime/clock.h"
#include "runtime/process_name.h"
#include "runtime/serial_executor.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "wire/calls_under_way.h"
#include "wire/keepalive.h"
#include "wire/report_sender.h"

namespace shardmanager::wire {
namespace {

DiscoveryClientOptions WithDefaults(DiscoveryClientOptions options) {
  if (options.subscriber.empty()) options.subscriber = HostAndPid();
  if (options.seed == 0) {
    options.seed = static_cast<uint64_t>(MonotonicNow().time_since_epoch().count()) ^
                   static_cast<uint64_t>(getpid()) << 32;
  }
  return options;
}

// A map's bytes are not made objects of by gRPC: WatchUpdate.
using WatchStub = grpc::TemplatedGenericStub<v1::WatchRequest, grpc::ByteBuffer>;
constexpr char kWatchMethod[] = "/shardmanager.v1.Discovery/Watch";

struct Endpoint {
  explicit Endpoint(const std::shared_ptr<grpc::Channel>& channel)
      : watch(channel), rest(v1::Discovery::NewStub(channel)) {}
  WatchStub watch;
  const std::unique_ptr<v1::Discovery::Stub> rest;
};

std::unique_ptr<Endpoint> Connect(const Transport& transport, const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  // This client has its own back-off; gRPC's would add to it.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);  // the connect time-out
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  SetKeepalive({.ping_after = Seconds(20), .give_up = Seconds(10)}, arguments);
  arguments.SetMaxReceiveMessageSize(16 << 20);
  return std::make_unique<Endpoint>(
      transport.Open(endpoint, security::AMapSource(), std::move(arguments)));
}

// The memory of `message` is free afterwards.
absl::StatusOr<discovery::WatchUpdate> Read(grpc::ByteBuffer& message) {
  PageString bytes;
  bytes.reserve(message.Length());
  {
    grpc::ProtoBufferReader reader(&message);
    if (!reader.status().ok()) return absl::InvalidArgumentError("it cannot be unpacked");
    const void* data = nullptr;
    for (int size = 0; reader.Next(&data, &size);) {
      bytes.append(static_cast<const char*>(data), static_cast<size_t>(size));
    }
  }
  message.Clear();
  return discovery::WatchUpdate::Parse(std::move(bytes));
}

}  // namespace

class DiscoveryClient::Impl {
 public:
  class Stream;
  class Watch;

  explicit Impl(DiscoveryClientOptions given)
      : options(WithDefaults(std::move(given))), executor("sm-discovery") {
    SM_CHECK(!options.endpoints.empty(), "a discovery client has an endpoint");
    SM_CHECK(options.transport != nullptr, "it is said how publishers are connected to");
    for (const std::string& endpoint : options.endpoints) {
      endpoints.push_back(Connect(*options.transport, endpoint));
    }
  }
  ~Impl() { calls.AwaitNone(); }

  const DiscoveryClientOptions options;
  std::vector<std::unique_ptr<Endpoint>> endpoints;  // as in the options
  std::atomic<uint64_t> watches{0};
  CallsUnderWay calls;      // streams and reports
  SerialExecutor executor;  // the first to go: its tasks use the rest
};

using Impl = DiscoveryClient::Impl;

// One attempt at one endpoint. gRPC's threads call the On... methods, which only hand
// over to the executor; the next read starts when the last message was dealt with.
class Impl::Stream final : public grpc::ClientBidiReactor<v1::WatchRequest, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<Stream> {
 public:
  Stream(Impl& impl, std::weak_ptr<Watch> watch) : impl_(impl), watch_(std::move(watch)) {}

  void Begin(WatchStub& stub, v1::WatchRequest request) {
    self_ = shared_from_this();
    request_ = std::move(request);
    impl_.calls.Begin();
    context_.set_initial_metadata_corked(true);  // they go out together with the request
    stub.PrepareBidiStreamingCall(&context_, kWatchMethod, {}, this);
    AddHold();  // reads start outside of gRPC's calls
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&response_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  Impl& impl_;
  const std::weak_ptr<Watch> watch_;
  std::shared_ptr<Stream> self_;  // until OnDone
  grpc::ClientContext context_;
  v1::WatchRequest request_;
  grpc::ByteBuffer response_;
};

// Everything here runs on the executor's thread.
class Impl::Watch final : public std::enable_shared_from_this<Watch> {
 public:
  Watch(Impl& impl, AppName app, std::optional<MapVersion> known, MapSink& sink, uint64_t seed)
      : impl_(impl),
        app_(std::move(app)),
        sink_(sink),
        receiver_(known),
        policy_(impl.options.endpoints.size(),
                {impl.options.shortest_backoff, impl.options.longest_backoff,
                 impl.options.longest_backoff_with_map},
                seed),
        outlook_(impl.options.endpoints, impl.options.cell),
        reports_(std::make_shared<ReportSender>(
            ReportSender::Context{.executor = impl.executor,
                                  .calls = impl.calls,
                                  .interval = impl.options.report_interval,
                                  .again = impl.options.report_again,
                                  .seed = seed},
            app_, [&sink] { return sink.Report(); })) {}

  void Begin() {
    heard_at_ = MonotonicNow();
    ListenForAnybody();
    reports_->Begin(
        [this]() -> v1::Discovery::Stub& { return *impl_.endpoints[policy_.endpoint()]->rest; });
    Open();
  }

  void Open() {
    if (closed_) return;
    v1::WatchRequest request;
    request.set_app(app_.value());
    request.set_subscriber(impl_.options.subscriber);
    request.set_kind(impl_.options.kind);
    request.set_cell(impl_.options.cell);
    if (const auto known = receiver_.known()) *request.mutable_known() = known->ToProto();
    receiver_.StreamOpened();
    silent_since_ = MonotonicNow();
    delivered_ = false;
    problem_.clear();
    outlook_.OnStreamOpened(policy_.endpoint());
    stream_ = std::make_shared<Stream>(impl_, weak_from_this());
    stream_->Begin(impl_.endpoints[policy_.endpoint()]->watch, std::move(request));
    WatchSilence(stream_, impl_.options.first_message);
  }

  void Close() {
    closed_ = true;
    reports_->Close();
    if (stream_ != nullptr) stream_->Cancel();
  }

  // False: this stream is of no more use.
  bool OnMessage(Stream& stream, grpc::ByteBuffer& message) {
    if (closed_ || stream_.get() != &stream) return false;
    silent_since_ = heard_at_ = MonotonicNow();
    if (std::exchange(unheard_, false)) ListenForAnybody();
    auto update = Read(message);
    if (!update.ok()) {
      problem_ = absl::StrCat("what it sent is refused: ", std::string(update.status().message()));
      return false;
    }
    if (!outlook_.OnCell(update->cell())) return false;
    discovery::Received received = receiver_.Receive(*std::move(update));
    if (!std::exchange(delivered_, true)) {
      if (!receiver_.stale()) policy_.OnUseful();
      sink_.OnStreamState(absl::OkStatus());
    }
    TakeSuspects(receiver_.suspects());
    TakeNoSuchApp(receiver_.no_such_app_in());
    if (!Deliver(std::move(received)) || !TakeStale(receiver_.stale())) return false;
    outlook_.OnDelivered(receiver_.is_newest());
    TellFreshness();
    return true;
  }

  void OnEnd(Stream& stream, const grpc::Status& status) {
    if (stream_.get() != &stream) return;
    stream_.reset();
    if (closed_) return;
    const absl::Status lost = outlook_.OnStreamEnded(WhyEnded(status));
    // Nothing will change soon where all are of other cells.
    const bool patient = receiver_.known().has_value() || absl::IsFailedPrecondition(lost);
    const auto next = policy_.OnFailure(patient);
    TakeNoSuchApp("");
    sink_.OnStreamState(lost);
    TellFreshness();
    impl_.executor.PostAt(MonotonicNow() + next.delay,
                          [watch = shared_from_this()] { watch->Open(); });
  }

 private:
  // Of the stream that just ended.
  std::string WhyEnded(const grpc::Status& status) const {
    if (!problem_.empty()) return problem_;
    return status.error_message().empty() ? "the stream ended" : status.error_message();
  }

  bool Deliver(discovery::Received received) {
    return std::visit(Overloaded{[](discovery::Nothing&) { return true; },
                                 [this](WholeMap& whole) {
                                   sink_.OnSnapshot(std::move(whole));
                                   return true;
                                 },
                                 [this](v1::MapDelta& delta) {
                                   if (sink_.OnDelta(std::move(delta))) return true;
                                   receiver_.Distrust(sink_.Held());
                                   problem_ = "it sent a delta that does not fit the map";
                                   return false;
                                 },
                                 [this](discovery::Broken& broken) {
                                   problem_ = broken.reason;
                                   return false;
                                 }},
                      received);
  }

  void TakeSuspects(const std::optional<std::vector<std::string>>& suspects) {
    if (!suspects || *suspects == suspects_) return;
    suspects_ = *suspects;
    sink_.OnSuspects(suspects_);
  }

  void TakeNoSuchApp(const std::string& cell) {
    if (no_such_app_in_ == cell) return;
    no_such_app_in_ = cell;
    sink_.OnNoSuchApp(cell);
  }

  // False: another publisher may know more.
  bool TakeStale(bool stale) {
    TellStale(stale);
    if (!stale) return true;
    outlook_.OnUnsure();
    if (!policy_.OnStale()) return true;
    problem_ = "it says that a newer map may exist";
    return false;
  }

  void TellFreshness() {
    if (const auto changed = outlook_.TakeChange()) sink_.OnFreshness(*changed);
  }

  void TellStale(bool stale) {
    if (std::exchange(told_stale_, stale) != stale) sink_.OnStale(stale);
  }

  // A silent stream is given up, then another endpoint has the time for its first message. If none
  // says anything, nobody here can tell whether the map is the newest. Over with the next message.
  void ListenForAnybody() {
    const Duration limit = impl_.options.silence + impl_.options.first_message;
    impl_.executor.PostAt(heard_at_ + limit, [weak = weak_from_this(), limit] {
      const auto watch = weak.lock();
      if (watch == nullptr || watch->closed_) return;
      if (MonotonicNow() < watch->heard_at_ + limit) return watch->ListenForAnybody();
      watch->unheard_ = true;
      watch->TellStale(true);
    });
  }

  void WatchSilence(const std::shared_ptr<Stream>& stream, Duration limit) {
    const std::weak_ptr<Stream> weak = stream;
    impl_.executor.PostAt(silent_since_ + limit, [watch = shared_from_this(), weak, limit] {
      const auto stream = weak.lock();
      if (stream == nullptr || watch->stream_ != stream || watch->closed_) return;
      const Duration allowed = watch->delivered_ ? watch->impl_.options.silence : limit;
      if (MonotonicNow() < watch->silent_since_ + allowed) {
        watch->WatchSilence(stream, allowed);
        return;
      }
      watch->problem_ = absl::StrCat("nothing heard for ", allowed / Milliseconds(1), " ms");
      stream->Cancel();
    });
  }

  Impl& impl_;
  const AppName app_;
  MapSink& sink_;
  discovery::MapReceiver receiver_;
  discovery::ReconnectPolicy policy_;
  discovery::PublisherOutlook outlook_;
  const std::shared_ptr<ReportSender> reports_;
  std::shared_ptr<Stream> stream_;
  std::vector<std::string> suspects_;  // as the sink knows them
  TimePoint silent_since_;
  TimePoint heard_at_;              // the last message of any stream
  bool unheard_ = false;            // that is too long ago
  bool delivered_ = false;          // this stream said something
  std::optional<bool> told_stale_;  // the sink
  std::string problem_;             // why we cancelled this stream
  std::string no_such_app_in_;      // as the sink knows it
  bool closed_ = false;
};

void Impl::Stream::OnReadDone(bool ok) {
  if (!ok) {
    RemoveHold();  // OnDone follows
    return;
  }
  impl_.executor.Post([stream = shared_from_this()] {
    const auto watch = stream->watch_.lock();
    if (watch != nullptr && watch->OnMessage(*stream, stream->response_)) {
      stream->StartRead(&stream->response_);
    } else {
      stream->Cancel();
      stream->RemoveHold();
    }
  });
}

void Impl::Stream::OnDone(const grpc::Status& status) {
  Impl& impl = impl_;
  // This reference must not be the last on gRPC's thread: with it could go the last one
  // to the channel, and gRPC would have the thread join itself.
  impl.executor.Post([stream = std::move(self_), status] {
    if (auto watch = stream->watch_.lock()) watch->OnEnd(*stream, status);
  });
  impl.calls.End();
}

namespace {

// The caller's end: closes the watch and waits until its last call is over.
class Handle final : public MapWatch {
 public:
  Handle(Impl& impl, std::shared_ptr<Impl::Watch> watch) : impl_(impl), watch_(std::move(watch)) {}
  ~Handle() override {
    SM_CHECK(!impl_.executor.OnThread(), "a watch is not destroyed inside its sink");
    std::promise<void> closed;
    impl_.executor.Post([&] {
      watch_->Close();
      closed.set_value();
    });
    closed.get_future().wait();
  }

 private:
  Impl& impl_;
  std::shared_ptr<Impl::Watch> watch_;
};

}  // namespace

DiscoveryClient::DiscoveryClient(DiscoveryClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}
DiscoveryClient::~DiscoveryClient() = default;

std::unique_ptr<MapWatch> DiscoveryClient::Watch(const AppName& app,
                                                 std::optional<MapVersion> known, MapSink& sink) {
  auto watch = std::make_shared<Impl::Watch>(*impl_, app, known, sink,
                                             impl_->options.seed + ++impl_->watches);
  impl_->executor.Post([watch] { watch->Begin(); });
  return std::make_unique<Handle>(*impl_, std::move(watch));
}

}  // namespace shardmanager::wire
