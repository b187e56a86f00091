// The herd of scripts/bench discovery: a publisher comes back, and all subscribers ask for the
// whole map at the same time, while one of them, which has the map, hears changes. Over loopback;
// both ends are in this process. The subscribers read, and do not parse.
#include "discovery_herd.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "shardmanager/v1/discovery.pb.h"
#include "wire/discovery_client.h"
#include "wire/discovery_service.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;
using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

constexpr int kStreamsPerConnection = 40;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Highest resident memory since the last call of ResetPeak().
double PeakMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Reads until it has had as many bytes as the map takes.
class Reader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Reader(Stub& stub, const AppName& app, size_t bytes, std::atomic<uint64_t>& whole)
      : left_(bytes), whole_(whole) {
    v1::WatchRequest request;
    request.set_app(app.value());
    const grpc::Slice slice(request.SerializeAsString());
    request_ = grpc::ByteBuffer(&slice, 1);
    stub.PrepareBidiStreamingCall(&context_, "/shardmanager.v1.Discovery/Watch", {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  ~Reader() override {
    context_.TryCancel();
    done_.wait(false);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    const size_t size = response_.Length();
    if (left_ > 0 && size >= left_) {
      ++whole_;
      whole_.notify_all();
    }
    left_ -= std::min(left_, size);
    response_.Clear();
    StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override {
    done_ = true;
    done_.notify_all();
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  size_t left_;
  std::atomic<uint64_t>& whole_;
  std::atomic<bool> done_{false};
};

class ChangeSink final : public wire::MapSink {
 public:
  void OnSnapshot(WholeMap) override {}
  bool OnDelta(v1::MapDelta delta) override {
    sequence_ = delta.version().sequence();
    return true;
  }
  uint64_t sequence() const { return sequence_; }

 private:
  std::atomic<uint64_t> sequence_{1};
};

size_t MapBytes(discovery::Hub& hub, const AppName& app) {
  size_t bytes = 0;
  const auto subscription = hub.Subscribe(app, std::nullopt, [] {});
  while (const discovery::Message message = subscription->Pull()) bytes += message->size();
  return bytes;
}

}  // namespace

Herd MeasureHerd(const HerdOptions& options) {
  discovery::Hub hub;
  hub.Publish(options.app, options.whole);
  const size_t bytes = MapBytes(hub, options.app);
  wire::DiscoveryService service(
      hub, {.bulk = {.streams = options.streams}, .gate = wire::Gate::OfAnOpenCell()});
  int port = 0;
  grpc::ServerBuilder builder;
  wire::PrepareForSubscribers(builder);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service.service());
  const auto server = builder.BuildAndStart();
  const std::string endpoint = absl::StrFormat("127.0.0.1:%d", port);
  Herd herd{.map_mb = static_cast<double>(bytes) / 1e6};
  {
    ChangeSink sink;
    wire::DiscoveryClient client(
        {.endpoints = {endpoint}, .transport = wire::Transport::Insecure()});
    const auto watch = client.Watch(options.app, MapVersion{1, 1}, sink);
    while (hub.subscribers() == 0) std::this_thread::yield();
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    own_connection.SetMaxReceiveMessageSize(16 << 20);
    std::vector<std::unique_ptr<Stub>> stubs;
    for (uint64_t i = 0; i < options.subscribers; i += kStreamsPerConnection) {
      stubs.push_back(std::make_unique<Stub>(
          grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), own_connection)));
    }
    std::atomic<uint64_t> whole{0};
    std::vector<std::unique_ptr<Reader>> readers;
    ResetPeak();
    const double before_mb = PeakMegabytes();
    const auto start = Clock::now();
    for (uint64_t i = 0; i < options.subscribers; ++i) {
      readers.push_back(
          std::make_unique<Reader>(*stubs[i / kStreamsPerConnection], options.app, bytes, whole));
    }
    for (uint64_t sequence = 1; whole < options.subscribers; ++sequence) {
      const auto published = Clock::now();
      hub.Publish(options.app, options.change(sequence));
      while (sink.sequence() <= sequence) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      herd.change_ms = std::max(herd.change_ms, MillisecondsSince(published));
      if (herd.half_ms == 0 && whole >= options.subscribers / 2) {
        herd.half_ms = MillisecondsSince(start);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    herd.all_ms = MillisecondsSince(start);
    herd.peak_mb = PeakMegabytes() - before_mb;
  }
  service.EndStreams();
  server->Shutdown(std::chrono::system_clock::now());
  return herd;
}

}  // namespace shardmanager
