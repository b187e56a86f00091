// What a change of a shard map costs its publisher, and how long it takes to reach
// thousands of subscribers.
//
//   scripts/bench discovery [SUBSCRIBERS]
//   scripts/bench discovery --herd [SUBSCRIBERS]     all of them ask for the whole map at once
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "discovery/hub.h"
#include "discovery_herd.h"
#include "wire/discovery_client.h"
#include "wire/discovery_service.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr uint32_t kShards = 100'000;
constexpr uint32_t kServers = 500;
constexpr uint64_t kUpdates = 100;
const AppName kApp("kv");

void Figure(const char* name, double value, const char* unit) {
  std::printf("FIGURE %s %.1f %s\n", name, value, unit);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void SetPrimary(uint32_t server, v1::MapShard& shard) {
  v1::MapReplica* replica = shard.add_replicas();
  replica->set_server(server);
  replica->set_role(v1::PRIMARY);
}

v1::MapSnapshot Whole() {
  v1::MapSnapshot whole;
  *whole.mutable_version() = MapVersion{1, 1}.ToProto();
  for (uint32_t i = 0; i < kServers; ++i) {
    v1::MapServer* server = whole.add_servers();
    server->set_index(i);
    server->set_name(absl::StrFormat("kv-%d", i));
    server->set_endpoint(absl::StrFormat("10.0.%d.%d:7000", i / 250, i % 250));
  }
  for (uint32_t i = 0; i < kShards; ++i) {
    v1::MapShard* shard = whole.add_shards();
    shard->set_index(i);
    shard->set_id(absl::StrFormat("shard-%06d", i));
    if (i > 0) shard->mutable_range()->set_start(absl::StrFormat("user:%08d", i * 100));
    if (i + 1 < kShards)
      shard->mutable_range()->set_end(absl::StrFormat("user:%08d", (i + 1) * 100));
    SetPrimary(i % kServers, *shard);
  }
  return whole;
}

// Ten shards move.
v1::MapDelta Change(uint64_t from) {
  v1::MapDelta delta;
  *delta.mutable_from() = MapVersion{1, from}.ToProto();
  *delta.mutable_version() = MapVersion{1, from + 1}.ToProto();
  for (uint32_t i = 0; i < 10; ++i) {
    v1::MapShard* shard = delta.add_shards();
    shard->set_index(static_cast<uint32_t>((from * 7'919 + i * 10'007) % kShards));
    SetPrimary(static_cast<uint32_t>(from % kServers), *shard);
  }
  return delta;
}

// Counts deliveries of each version.
class Arrivals {
 public:
  void One() {
    ++count_;
    count_.notify_all();
  }
  void Await(uint64_t count) {
    for (uint64_t now = count_; now < count; now = count_) count_.wait(now);
  }
  uint64_t count() const { return count_; }

 private:
  std::atomic<uint64_t> count_{0};
};

struct Times {
  double publish_us;
  double fan_out_us;
};

// Publishes one change after the other, each when the last reached everybody.
Times Measure(discovery::Hub& hub, Arrivals& arrivals, uint64_t subscribers) {
  std::vector<double> publish;
  std::vector<double> fan_out;
  uint64_t expected = arrivals.count();
  for (uint64_t update = 1; update <= kUpdates; ++update) {
    const v1::MapDelta delta = Change(update);
    const auto begin = Clock::now();
    SM_CHECK(hub.Publish(kApp, delta).kind == discovery::Verdict::kApplied, "it fits");
    publish.push_back(Microseconds(Clock::now() - begin).count());
    arrivals.Await(expected += subscribers);
    fan_out.push_back(Microseconds(Clock::now() - begin).count());
  }
  return {Median(publish), Median(fan_out)};
}

// Subscribers in the process: the hub alone.
Times HubAlone(uint64_t subscribers) {
  discovery::Hub hub;
  hub.Publish(kApp, Whole());
  Arrivals arrivals;
  std::vector<std::shared_ptr<discovery::Subscription>> all(subscribers);
  for (auto& subscription : all) {
    subscription = hub.Subscribe(kApp, MapVersion{1, 1}, [&arrivals, &subscription] {
      while (subscription->Pull() != nullptr) arrivals.One();
    });
    SM_CHECK(subscription->Pull() == nullptr, "it is up to date");
  }
  return Measure(hub, arrivals, subscribers);
}

class CountingSink final : public wire::MapSink {
 public:
  explicit CountingSink(Arrivals& arrivals) : arrivals_(arrivals) {}
  void OnSnapshot(WholeMap) override { arrivals_.One(); }
  bool OnDelta(v1::MapDelta) override {
    arrivals_.One();
    return true;
  }

 private:
  Arrivals& arrivals_;
};

// Streams over loopback; both ends are in this process and share its cores.
Times OverGrpc(uint64_t subscribers) {
  discovery::Hub hub;
  hub.Publish(kApp, Whole());
  wire::DiscoveryService service(hub, {.gate = wire::Gate::OfAnOpenCell()});
  int port = 0;
  grpc::ServerBuilder builder;
  wire::PrepareForSubscribers(builder);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(service.service());
  const auto server = builder.BuildAndStart();
  Times times;
  {
    Arrivals arrivals;
    CountingSink sink(arrivals);
    wire::DiscoveryClient client({.endpoints = {absl::StrFormat("127.0.0.1:%d", port)},
                                  .transport = wire::Transport::Insecure()});
    // The whole map once, then all resume.
    std::vector<std::unique_ptr<wire::MapWatch>> watches;
    watches.push_back(client.Watch(kApp, std::nullopt, sink));
    arrivals.Await(1);
    while (watches.size() < subscribers) {
      watches.push_back(client.Watch(kApp, MapVersion{1, 1}, sink));
    }
    while (hub.subscribers() < subscribers) std::this_thread::yield();
    times = Measure(hub, arrivals, subscribers);
  }
  service.EndStreams();
  server->Shutdown(std::chrono::system_clock::now());
  return times;
}

void Main(uint64_t subscribers) {
  std::printf("%u shards; each change moves 10 and goes to %lu subscribers; medians of %lu\n",
              kShards, subscribers, kUpdates);
  const Times hub = HubAlone(subscribers);
  const Times streams = OverGrpc(subscribers);
  Figure("discovery_publish_us", hub.publish_us, "us");
  Figure("discovery_hub_fan_out_ns_per_subscriber",
         hub.fan_out_us * 1'000 / static_cast<double>(subscribers), "ns");
  Figure("discovery_stream_fan_out_ms", streams.fan_out_us / 1'000, "ms");
  Figure("discovery_stream_fan_out_us_per_subscriber",
         streams.fan_out_us / static_cast<double>(subscribers), "us");
}

// With the limit of streams that are sent whole maps at the same time, and without.
void MainHerd(uint64_t subscribers) {
  for (const auto& [suffix, streams] :
       {std::pair("", wire::BulkLimits{}.streams), std::pair("_unlimited", size_t{1'000'000})}) {
    const Herd herd = MeasureHerd({kApp, Whole(), Change, subscribers, streams});
    std::printf("%lu subscribers ask for a map of %.1f MB, %zu at a time\n", subscribers,
                herd.map_mb, streams);
    Figure(absl::StrCat("discovery_herd_half_ms", suffix).c_str(), herd.half_ms, "ms");
    Figure(absl::StrCat("discovery_herd_all_ms", suffix).c_str(), herd.all_ms, "ms");
    Figure(absl::StrCat("discovery_herd_change_ms", suffix).c_str(), herd.change_ms, "ms");
    Figure(absl::StrCat("discovery_herd_peak_mb", suffix).c_str(), herd.peak_mb, "MB");
  }
}

}  // namespace
}  // namespace shardmanager

int main(int argc, char** argv) {
  const bool herd = argc > 1 && std::string_view(argv[1]) == "--herd";
  const char* subscribers = argc > (herd ? 2 : 1) ? argv[herd ? 2 : 1] : "2000";
  (herd ? shardmanager::MainHerd : shardmanager::Main)(std::strtoull(subscribers, nullptr, 10));
}
