// A whole client library against hand-published maps and a small service: no control plane, no
// coordination store.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/child_process.h"
#include "shardmanager/router.h"
#include "tests/discovery/discovery_server.h"
#include "tests/router/echo_server.h"
#include "tests/router/test_maps.h"

namespace shardmanager::router {

using namespace std::chrono_literals;
using discovery::DiscoveryServer;
using discovery::Hub;
using ::echo::Echo;
using ::echo::EchoRequest;
using ::echo::EchoResponse;

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }
inline const AppName kApp("kv");

// How a test calls: all must behave alike.
enum class Way { kBlocking, kBlockingOnCallbacks, kCallback, kFuture };
inline std::string ToString(Way way) {
  switch (way) {
    case Way::kBlocking:
      return "Blocking";
    case Way::kBlockingOnCallbacks:
      return "BlockingOnCallbacks";
    case Way::kCallback:
      return "Callback";
    case Way::kFuture:
      return "Future";
  }
  return "";
}

struct Result {
  grpc::Status status;
  EchoResponse response;
  std::chrono::steady_clock::duration took;
};

// For what nobody announces. False: it did not come true in a long time.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline Result SayTo(Client<Echo> client, const CallOptions& options, Way way = Way::kBlocking) {
  Result result;
  EchoRequest request;
  request.set_text("hello");
  const auto begin = std::chrono::steady_clock::now();
  switch (way) {
    case Way::kBlocking:
      result.status = client.Call(&Echo::Stub::Say, request, &result.response, options);
      break;
    case Way::kBlockingOnCallbacks:
      result.status = client.Call(&Echo::Stub::async::Say, request, &result.response, options);
      break;
    case Way::kCallback: {
      std::promise<grpc::Status> done;
      client.CallAsync(&Echo::Stub::async::Say, request, &result.response, options,
                       [&done](grpc::Status status) { done.set_value(std::move(status)); });
      result.status = done.get_future().get();
      break;
    }
    case Way::kFuture: {
      auto answer = client.CallFuture(&Echo::Stub::async::Say, request, options).get();
      result.status = answer.status;
      result.response = answer.response;
      break;
    }
  }
  result.took = std::chrono::steady_clock::now() - begin;
  return result;
}

// One shard map source, two servers, one router.
class RouterFixture : public ::testing::Test {
 protected:
  explicit RouterFixture(Way way = Way::kBlocking) : way_(way) {}

  // Shard a holds keys below "m", shard b the others.
  void Publish(MapVersion version, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
               v1::Role role = v1::PRIMARY) {
    hub_.Publish(kApp, MakeSnapshot(version,
                                    {{one_.name(), one_.endpoint(), "eu"},
                                     {two_.name(), two_.endpoint(), "us"},
                                     {"dead", "127.0.0.1:" + std::to_string(dead_port_), "us"}},
                                    {{"a", "", a}, {"b", "m", b}}, role));
  }
  // And the router has it.
  void PublishAndAwait(MapVersion version, const std::vector<uint32_t>& a,
                       const std::vector<uint32_t>& b, v1::Role role = v1::PRIMARY) {
    router_->GetClient<Echo>("kv", "");  // subscribes
    const uint64_t updates = router_->stats().map_updates;
    Publish(version, a, b, role);
    ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates > updates; }));
  }

  Result Say(const std::string& key, const CallOptions& options = {}) {
    return SayTo(router_->GetClient<Echo>("kv", key), options, way_);
  }
  // The first call that comes to the near server. (One in 128 looks how the far one does.)
  Result SayToTheNearOne(const std::string& key, const CallOptions& options) {
    Result result;
    do {
      result = Say(key, options);
    } while (one_.requests() == 0);
    return result;
  }
  std::future<Result> SayLater(const std::string& key, const CallOptions& options = {}) {
    return std::async(std::launch::async, [=, this] { return Say(key, options); });
  }

  const Way way_;
  const int dead_port_ = FreePort();
  EchoServer one_{"kv-1"};
  EchoServer two_{"kv-2"};
  Hub hub_;
  std::optional<DiscoveryServer> discovery_{std::in_place, hub_};
  std::optional<Router> router_{std::in_place, RouterOptions{.discovery = {discovery_->endpoint()},
                                                             .security = {.insecure = true},
                                                             .subscriber = "test",
                                                             .location = {"eu"}}};
};

// Runs with each way to call.
class EveryWayTest : public RouterFixture, public ::testing::WithParamInterface<Way> {
 protected:
  EveryWayTest() : RouterFixture(GetParam()) {}
};

inline auto WaysOnCallbacks() {
  return ::testing::Values(Way::kBlockingOnCallbacks, Way::kCallback, Way::kFuture);
}
inline auto EveryWay() {
  return ::testing::Values(Way::kBlocking, Way::kBlockingOnCallbacks, Way::kCallback, Way::kFuture);
}
inline std::string NameOfWay(const ::testing::TestParamInfo<Way>& way) {
  return ToString(way.param);
}

}  // namespace shardmanager::router
