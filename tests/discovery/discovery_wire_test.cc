// Publisher, relays and subscribers over loopback.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/child_process.h"
#include "runtime/clock.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/discovery/discovery_server.h"
#include "wire/discovery_relay.h"

namespace shardmanager::discovery {
namespace {

using ::testing::HasSubstr;
using wire::DiscoveryClient;
using wire::DiscoveryRelay;

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }
const AppName kApp("kv");

std::string Endpoint(int port) { return "127.0.0.1:" + std::to_string(port); }

TEST(DiscoveryWireTest, ASubscriberThatCameBeforeTheAppGetsItsMapWhenItComes) {
  Hub hub;
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitConnected());
  EXPECT_EQ(sink.snapshots(), 0);
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  ASSERT_TRUE(sink.AwaitVersion(V(2)));
  EXPECT_THAT(sink.Shards()[0], HasSubstr("kv-5"));
  EXPECT_EQ(sink.snapshots(), 1);
}

TEST(DiscoveryWireTest, AMapOfManyMessagesArrivesWhole) {
  constexpr size_t kShards = 100'000;
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), Owners(kShards, {1, 2, 3})));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  EXPECT_EQ(sink.Shards().size(), kShards);
}

TEST(DiscoveryWireTest, ResumesByVersionAfterThePublisherWasCutOff) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  auto server = std::make_unique<DiscoveryServer>(hub);
  const int port = server->port();
  DiscoveryClient client(QuickClient({Endpoint(port)}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  server.reset();
  ASSERT_TRUE(sink.AwaitLost());
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  hub.Publish(kApp, MakeDelta(V(2), V(3), 1, {6}));
  server = std::make_unique<DiscoveryServer>(hub, port);
  ASSERT_TRUE(sink.AwaitVersion(V(3)));
  EXPECT_EQ(sink.snapshots(), 1);
  EXPECT_EQ(sink.deltas(), 1);
}

TEST(DiscoveryWireTest, AfterADeltaThatDoesNotFitTheWholeMapComes) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  sink.RefuseNextDelta();
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  ASSERT_TRUE(sink.AwaitVersion(V(2)));
  EXPECT_EQ(sink.snapshots(), 2);
  EXPECT_EQ(sink.deltas(), 0);
  EXPECT_EQ(sink.last_loss(), server.endpoint() + ": it sent a delta that does not fit the map");
}

TEST(DiscoveryWireTest, TakesTheNextEndpointWhenOneIsDead) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({Endpoint(FreePort()), server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
}

// The last reference to a channel must not go on gRPC's own callback thread, which
// gRPC would have join itself, and abort. No other gRPC object keeps its threads here.
TEST(DiscoveryWireTest, AClientMayGoAtAnyMomentOfAStream) {
  const std::string nobody = Endpoint(FreePort());
  for (int i = 0; i < 2'000; ++i) {
    DiscoveryClient client(QuickClient({nobody}));
    RecordingSink sink;
    const auto watch = client.Watch(kApp, std::nullopt, sink);
    if (i % 2 == 0) {
      ASSERT_TRUE(sink.AwaitLost());
    }
  }
}

// F11: a stale heartbeat reply overwrote newer state.
TEST(DiscoveryWireTest, F11APublisherThatIsBehindDoesNotBringTheMapBack) {
  Hub ahead;
  ahead.Publish(kApp, MakeSnapshot(V(7), {{0}}));
  Hub behind;
  behind.Publish(kApp, MakeSnapshot(V(5), {{1}}));
  auto server = std::make_unique<DiscoveryServer>(ahead);
  const int port = server->port();
  DiscoveryClient client(QuickClient({Endpoint(port)}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(7)));
  server.reset();
  ASSERT_TRUE(sink.AwaitLost());
  server = std::make_unique<DiscoveryServer>(behind, port);
  ASSERT_TRUE(sink.AwaitConnected());
  behind.Publish(kApp, MakeDelta(V(5), V(6), 0, {2}));
  behind.Publish(kApp, MakeSnapshot(V(1, 2), {{3}}));
  ASSERT_TRUE(sink.AwaitVersion(V(1, 2)));
  EXPECT_EQ(sink.snapshots(), 2) << "neither version 5 nor 6 was delivered";
  EXPECT_EQ(sink.deltas(), 0);
}

// Finding 9 of the attack: a leader that was cut off from ZooKeeper kept its subscribers.
TEST(DiscoveryWireTest, ARelayTurnsToAnotherUpstreamWhenItsOwnMayBeStale) {
  Hub old_leader;
  old_leader.Publish(kApp, MakeSnapshot(V(5), {{1}}));
  Hub new_leader;
  new_leader.Publish(kApp, MakeSnapshot(V(1, 2), {{3}}));
  DiscoveryServer old_server(old_leader);
  DiscoveryServer new_server(new_leader);
  DiscoveryRelay relay(QuickClient({old_server.endpoint(), new_server.endpoint()}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(5)));
  old_leader.SetStale(true);
  ASSERT_TRUE(sink.AwaitVersion(V(1, 2)));
  EXPECT_TRUE(sink.AwaitStale(false));
}

// Off the request path everything serves on: an old map is better than none.
TEST(DiscoveryWireTest, WhereAllPublishersAreStaleTheMapIsPassedOnAndMarked) {
  Hub one;
  one.Publish(kApp, MakeSnapshot(V(5), {{1}}));
  one.SetStale(true);
  Hub other;
  other.SetStale(true);
  DiscoveryServer one_server(one);
  DiscoveryServer other_server(other);
  DiscoveryRelay relay(QuickClient({one_server.endpoint(), other_server.endpoint()}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(5)));
  ASSERT_TRUE(sink.AwaitStale(true));
  one.SetStale(false);
  ASSERT_TRUE(sink.AwaitStale(false));
}

// Finding 10 of the attack: after a cell was made anew, relays and clients kept the dead map.
TEST(DiscoveryWireTest, ACellMadeAnewUnderTheSameNameReachesClientsOfARelay) {
  const MapVersion before{.leader_epoch = 9, .sequence = 99, .cell_made_ms = 1'000};
  const MapVersion after{.leader_epoch = 1, .sequence = 1, .cell_made_ms = 2'000};
  auto hub = std::make_unique<Hub>();
  hub->Publish(kApp, MakeSnapshot(before, {{1}, {2}}));
  auto server = std::make_unique<DiscoveryServer>(*hub);
  const int port = server->port();
  DiscoveryRelay relay(QuickClient({Endpoint(port)}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(before));
  server.reset();
  hub = std::make_unique<Hub>();
  server = std::make_unique<DiscoveryServer>(*hub, port);
  hub->Publish(kApp, MakeSnapshot(after, {{3}, {4}}));
  ASSERT_TRUE(sink.AwaitVersion(after));
  EXPECT_THAT(sink.Shards()[0], HasSubstr("kv-3"));
  hub->Publish(kApp, MakeDelta(after, {1, 2, 2'000}, 0, {5}));
  ASSERT_TRUE(sink.AwaitVersion({1, 2, 2'000}));
}

// Accepts subscribers and never says anything, or not after its first message.
class SilentService final : public v1::Discovery::CallbackService {
 public:
  explicit SilentService(bool beats_once) : beats_once_(beats_once) {}

 private:
  class Silence final : public grpc::ServerWriteReactor<v1::WatchResponse> {
   public:
    explicit Silence(bool beats_once) {
      beat_.mutable_heartbeat();
      if (beats_once) StartWrite(&beat_);
    }

   private:
    void OnCancel() override { Finish(grpc::Status::CANCELLED); }
    void OnDone() override { delete this; }
    v1::WatchResponse beat_;
  };
  grpc::ServerWriteReactor<v1::WatchResponse>* Watch(grpc::CallbackServerContext*,
                                                     const v1::WatchRequest*) override {
    return new Silence(beats_once_);
  }

  const bool beats_once_;
};

class SilentServer {
 public:
  explicit SilentServer(bool beats_once) : service_(beats_once) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~SilentServer() { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string endpoint() const { return Endpoint(port_); }

 private:
  SilentService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

class SilentStreamTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(FromTheBeginningOrAfterOneMessage, SilentStreamTest, ::testing::Bool());

TEST_P(SilentStreamTest, IsGivenUp) {
  const SilentServer silent(/*beats_once=*/GetParam());
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({silent.endpoint(), server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  const std::string allowed = GetParam() ? "2000" : "500";  // as QuickClient() has them
  EXPECT_THAT(sink.last_loss(), HasSubstr("nothing heard for " + allowed + " ms"));
}

TEST(DiscoveryWireTest, WhoHearsNothingFromAnyPublisherIsToldThatItsMapMayBeOld) {
  const SilentServer silent(/*beats_once=*/false);
  const wire::DiscoveryClientOptions options = QuickClient({silent.endpoint()});
  DiscoveryClient client(options);
  RecordingSink sink;
  const TimePoint begun = MonotonicNow();
  const auto watch = client.Watch(kApp, V(1), sink);
  EXPECT_TRUE(sink.AwaitStale(true));
  EXPECT_GE(MonotonicNow() - begun, options.silence + options.first_message);
}

TEST(DiscoveryWireTest, SaysAtOnceThatItListensAndBeatsWhileNothingChanges) {
  Hub hub;
  DiscoveryServer server(hub);
  const auto stub = v1::Discovery::NewStub(
      grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_app("kv");
  const auto stream = stub->Watch(&context, request);
  v1::WatchResponse response;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_TRUE(response.has_heartbeat());
    EXPECT_FALSE(response.heartbeat().has_version());
  }
  hub.Publish(kApp, MakeSnapshot(V(4), {{0}}));
  while (stream->Read(&response) && !response.has_snapshot()) {
  }
  while (stream->Read(&response) && !response.has_heartbeat()) {
  }
  EXPECT_EQ(MapVersion::From(response.heartbeat().version()), V(4));
  context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST(DiscoveryWireTest, RefusesRequestsWithoutAnApp) {
  Hub hub;
  DiscoveryServer server(hub);
  const auto stub = v1::Discovery::NewStub(
      grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));
  for (const std::string& app : {std::string(), std::string(64, 'x')}) {
    grpc::ClientContext context;
    v1::WatchRequest request;
    request.set_app(app);
    const auto stream = stub->Watch(&context, request);
    v1::WatchResponse response;
    EXPECT_FALSE(stream->Read(&response));
    const grpc::Status status = stream->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("allowed: 1 to 63 characters"));
  }
  EXPECT_EQ(hub.subscribers(), 0u);
}

TEST(DiscoveryWireTest, ManySubscribersOfOneServerGetEveryVersion) {
  constexpr int kSubscribers = 300;
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), Owners(100, {0})));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({server.endpoint()}));
  std::vector<std::unique_ptr<RecordingSink>> sinks;
  std::vector<std::unique_ptr<wire::MapWatch>> watches;
  for (int i = 0; i < kSubscribers; ++i) {
    sinks.push_back(std::make_unique<RecordingSink>());
    watches.push_back(client.Watch(kApp, std::nullopt, *sinks.back()));
  }
  for (uint64_t v = 1; v < 50; ++v) hub.Publish(kApp, MakeDelta(V(v), V(v + 1), v % 100, {3}));
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->AwaitVersion(V(50)));
    ASSERT_EQ(sink->Shards(), sinks[0]->Shards());
  }
}

// ---- Relays

TEST(DiscoveryRelayTest, RelaysStackTwoDeep) {
  Hub source;
  source.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  DiscoveryServer source_server(source);
  DiscoveryRelay upper(QuickClient({source_server.endpoint()}));
  DiscoveryServer upper_server(upper.hub());
  DiscoveryRelay lower(QuickClient({upper_server.endpoint()}));
  DiscoveryServer lower_server(lower.hub());
  DiscoveryClient client(QuickClient({lower_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  for (uint64_t v = 1; v < 20; ++v) {
    source.Publish(kApp, MakeDelta(V(v), V(v + 1), v % 2, {static_cast<uint32_t>(v % 10)}));
  }
  ASSERT_TRUE(sink.AwaitVersion(V(20)));
  EXPECT_EQ(sink.snapshots(), 1);
  source.Publish(kApp, MakeSnapshot(V(21), {}));
  ASSERT_TRUE(sink.AwaitVersion(V(21)));
  EXPECT_EQ(sink.Shards().size(), 0u) << "the app was deleted";
}

TEST(DiscoveryRelayTest, ServesTheLastMapWhenTheUpstreamIsGoneAndGoesOnWhenItIsBack) {
  auto source = std::make_unique<Hub>();
  source->Publish(kApp, MakeSnapshot(V(1), {{0}}));
  auto source_server = std::make_unique<DiscoveryServer>(*source);
  const int port = source_server->port();
  DiscoveryRelay relay(QuickClient({Endpoint(port)}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink first;
  const auto first_watch = client.Watch(kApp, std::nullopt, first);
  ASSERT_TRUE(first.AwaitVersion(V(1)));

  source_server.reset();
  source.reset();
  RecordingSink second;
  const auto second_watch = client.Watch(kApp, std::nullopt, second);
  ASSERT_TRUE(second.AwaitVersion(V(1)));

  // It comes back with nothing but its own, newer look at the world.
  source = std::make_unique<Hub>();
  source->Publish(kApp, MakeSnapshot(V(1, 2), {{4}}));
  source_server = std::make_unique<DiscoveryServer>(*source, port);
  ASSERT_TRUE(first.AwaitVersion(V(1, 2)));
  ASSERT_TRUE(second.AwaitVersion(V(1, 2)));
  EXPECT_THAT(second.Shards()[0], HasSubstr("kv-4"));
}

// What shardmanagerd does: relay while another leads, publish while it leads itself.
TEST(DiscoveryRelayTest, SubscribersOfAStandbyFollowTheLeaderWhoeverItIs) {
  auto old_leader = std::make_unique<Hub>();
  old_leader->Publish(kApp, MakeSnapshot(V(1, 1), {{1}}));
  auto old_server = std::make_unique<DiscoveryServer>(*old_leader);
  DiscoveryRelay standby(QuickClient({}));
  DiscoveryServer standby_server(standby.hub());
  DiscoveryClient client(QuickClient({standby_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitConnected());
  standby.SetUpstream({old_server->endpoint()});
  ASSERT_TRUE(sink.AwaitVersion(V(1, 1)));

  old_server.reset();
  standby.SetUpstream({});  // it leads now
  standby.hub().Publish(kApp, MakeSnapshot(V(1, 2), {{2}}));
  ASSERT_TRUE(sink.AwaitVersion(V(1, 2)));

  // Deposed; a third one leads.
  Hub new_leader;
  new_leader.Publish(kApp, MakeSnapshot(V(1, 3), {{3}}));
  DiscoveryServer new_server(new_leader);
  standby.SetUpstream({new_server.endpoint()});
  ASSERT_TRUE(sink.AwaitVersion(V(1, 3)));
  EXPECT_EQ(standby.hub().Publish(kApp, MakeDelta(V(1, 2), V(2, 2), 0, {4})).kind, Verdict::kStale)
      << "what the deposed one still had to say";
  EXPECT_EQ(sink.snapshots(), 1) << "the rest came as differences";
  EXPECT_THAT(sink.last_loss(), ::testing::IsEmpty()) << "the stream was never interrupted";
}

TEST(DiscoveryRelayTest, ForgetsAnAppThatNobodyAsksForAndThatDoesNotExist) {
  Hub source;
  DiscoveryServer source_server(source);
  DiscoveryRelay relay(QuickClient({source_server.endpoint()}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  {
    const auto watch = client.Watch(AppName("typo"), std::nullopt, sink);
    ASSERT_TRUE(sink.AwaitConnected());
  }
  // The end of the stream travels; nobody announces its arrival.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (relay.stats().apps > 0 || source.subscribers() > 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
  }
}

}  // namespace
}  // namespace shardmanager::discovery
