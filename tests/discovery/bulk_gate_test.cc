// When all subscribers of a publisher come back, they get their maps in order, a few at a time.
#include "wire/bulk_gate.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "discovery/map_receiver.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/discovery/discovery_server.h"

namespace shardmanager::discovery {
namespace {

using ::testing::ElementsAre;
using wire::BulkGate;

class BulkGateTest : public testing::Test {
 protected:
  bool Enter(size_t who) {
    return gate_.Enter(&keys_[who], now_, [this, who] { ready_.push_back(who); });
  }
  void Leave(size_t who) { gate_.Leave(&keys_[who]); }

  char keys_[10] = {};
  std::vector<size_t> ready_;
  TimePoint now_{};
  BulkGate gate_{{.message_bytes = 100, .streams = 2, .stall = Seconds(2)},
                 [](const std::function<void()>& task) { task(); }};
};

TEST_F(BulkGateTest, OnlyLargeMessagesAreHeldUp) {
  EXPECT_FALSE(gate_.IsLarge(100));
  EXPECT_TRUE(gate_.IsLarge(101));
}

TEST_F(BulkGateTest, AdmitsAFewAndTheOthersInOrder) {
  EXPECT_TRUE(Enter(0));
  EXPECT_TRUE(Enter(1));
  for (size_t who : {2, 3, 4}) EXPECT_FALSE(Enter(who));
  EXPECT_FALSE(Enter(2)) << "who asks again keeps its place";
  EXPECT_EQ(gate_.waiting(), 3u);
  Leave(1);
  EXPECT_THAT(ready_, ElementsAre(2));
  EXPECT_TRUE(Enter(2));
  Leave(0);
  Leave(2);
  EXPECT_THAT(ready_, ElementsAre(2, 3, 4));
  EXPECT_EQ(gate_.sending(), 2u);
  EXPECT_EQ(gate_.waiting(), 0u);
}

TEST_F(BulkGateTest, WhoIsAdmittedStaysUntilItLeaves) {
  EXPECT_TRUE(Enter(0));
  EXPECT_TRUE(Enter(1));
  EXPECT_FALSE(Enter(2));
  EXPECT_TRUE(Enter(0)) << "the next part of its map";
}

TEST_F(BulkGateTest, WhoeverGoesWhileItWaitsIsForgotten) {
  for (size_t who : {0, 1, 2, 3}) Enter(who);
  Leave(2);
  Leave(0);
  EXPECT_THAT(ready_, ElementsAre(3));
  Leave(7);  // has never entered
  EXPECT_EQ(gate_.sending(), 2u);
}

TEST_F(BulkGateTest, WhoTakesNothingMakesRoom) {
  for (size_t who : {0, 1, 2}) Enter(who);
  now_ += Seconds(1);
  Enter(1);  // it took a part
  now_ += Seconds(1);
  gate_.ExpelStalled(now_);
  EXPECT_THAT(ready_, ElementsAre(2));
  EXPECT_FALSE(Enter(0)) << "it is the last one now";
}

TEST_F(BulkGateTest, NobodyIsExpelledForNobody) {
  Enter(0);
  now_ += Seconds(60);
  gate_.ExpelStalled(now_);
  EXPECT_EQ(gate_.sending(), 1u);
}

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }
const AppName kApp("kv");
constexpr size_t kShards = 100'000;  // its map takes several messages

wire::DiscoveryService::Options OneAtATime() {
  return {.heartbeat = Milliseconds(50),
          .bulk = {.streams = 1, .stall = Milliseconds(500)},
          .gate = wire::Gate::OfAnOpenCell()};
}

TEST(BulkStreamsTest, ManyGetTheWholeMapThoughOneIsServedAtATime) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), Owners(kShards, {1, 2, 3})));
  DiscoveryServer server(hub, 0, OneAtATime());
  wire::DiscoveryClient client(QuickClient({server.endpoint()}));
  std::vector<std::unique_ptr<RecordingSink>> sinks;
  std::vector<std::unique_ptr<wire::MapWatch>> watches;
  for (int i = 0; i < 8; ++i) {
    sinks.push_back(std::make_unique<RecordingSink>());
    watches.push_back(client.Watch(kApp, std::nullopt, *sinks.back()));
  }
  for (const auto& sink : sinks) {
    ASSERT_TRUE(sink->AwaitVersion(V(1)));
    EXPECT_EQ(sink->snapshots(), 1);
  }
  EXPECT_EQ(server.service().waiting(), 0u);
}

// The first subscriber takes nothing of its map, and keeps its turn.
TEST(BulkStreamsTest, WhoWaitsForItsTurnHearsThatItIsServedAndGetsNoPartOfTheMap) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), Owners(kShards, {1, 2, 3})));
  const wire::DiscoveryService::Options patient = {.heartbeat = Seconds(600),
                                                   .bulk = {.streams = 1, .stall = Seconds(600)},
                                                   .gate = wire::Gate::OfAnOpenCell()};
  DiscoveryServer server(hub, 0, patient);
  const auto stub = v1::Discovery::NewStub(
      grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));
  v1::WatchRequest request;
  request.set_app(kApp.value());
  grpc::ClientContext first_context, second_context;
  const auto first = stub->Watch(&first_context, request);
  first->WaitForInitialMetadata();  // a part of its map is under way
  const auto second = stub->Watch(&second_context, request);
  v1::WatchResponse response;
  ASSERT_TRUE(second->Read(&response));
  EXPECT_TRUE(response.has_heartbeat());
  first_context.TryCancel();
  while (!response.has_snapshot()) ASSERT_TRUE(second->Read(&response));
  second_context.TryCancel();
}

// A new subscriber shares an old, small snapshot. The large delta that follows it waits for its
// turn while another subscriber takes nothing of its map; heartbeats come meanwhile.
TEST(BulkStreamsTest, AnOldSnapshotIsNotTakenForTheNewestWhileItsDeltaWaits) {
  const AppName large("large");
  Hub hub;
  hub.Publish(large, MakeSnapshot(V(1), Owners(kShards, {1, 2, 3})));
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  DiscoveryServer server(hub, 0,
                         {.heartbeat = Milliseconds(20),
                          .bulk = {.message_bytes = 4'000, .streams = 1, .stall = Seconds(600)},
                          .gate = wire::Gate::OfAnOpenCell()});
  wire::DiscoveryClient client(QuickClient({server.endpoint()}));
  RecordingSink earlier;
  const auto has_map = client.Watch(kApp, std::nullopt, earlier);
  ASSERT_TRUE(earlier.AwaitVersion(V(1)));

  const auto stub = v1::Discovery::NewStub(
      grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));
  v1::WatchRequest request;
  request.set_app(large.value());
  grpc::ClientContext stopped_context;
  const auto stopped = stub->Watch(&stopped_context, request);
  stopped->WaitForInitialMetadata();  // a part of its map is under way
  v1::MapDelta many_servers = MakeDelta(V(1), V(2), 0, {500});
  for (uint32_t i = 10; i < 1'000; ++i) {
    v1::MapServer* server = many_servers.add_servers();
    server->set_index(i);
    server->set_name("kv-" + std::to_string(i));
  }
  ASSERT_EQ(hub.Publish(kApp, many_servers).kind, Verdict::kApplied);

  MapReceiver receiver;
  request.set_app(kApp.value());
  grpc::ClientContext context;
  const auto stream = stub->Watch(&context, request);
  v1::WatchResponse response;
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_TRUE(response.more());
  EXPECT_TRUE(std::holds_alternative<Nothing>(receiver.Receive(response)));
  ASSERT_TRUE(stream->Read(&response));
  ASSERT_TRUE(response.has_heartbeat());
  EXPECT_TRUE(std::holds_alternative<Nothing>(receiver.Receive(response)));
  stopped_context.TryCancel();
  while (!response.has_delta()) ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(std::holds_alternative<WholeMap>(receiver.Receive(response)));
  EXPECT_EQ(receiver.held(), V(2));
  context.TryCancel();
}

// A subscriber that is stopped takes nothing of its map. The others get theirs, and changes at
// once.
TEST(BulkStreamsTest, AStoppedSubscriberDoesNotHoldUpOthers) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), Owners(kShards, {1, 2, 3})));
  DiscoveryServer server(hub, 0, OneAtATime());
  wire::DiscoveryClient client(QuickClient({server.endpoint()}));
  RecordingSink whole, change;
  const auto has_map = client.Watch(kApp, std::nullopt, change);
  ASSERT_TRUE(change.AwaitVersion(V(1)));
  const auto stub = v1::Discovery::NewStub(
      grpc::CreateChannel(server.endpoint(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_app(kApp.value());
  const auto stopped = stub->Watch(&context, request);
  stopped->WaitForInitialMetadata();  // its first message is under way

  const auto wants_whole = client.Watch(kApp, std::nullopt, whole);
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  ASSERT_TRUE(change.AwaitVersion(V(2)));
  ASSERT_TRUE(whole.AwaitVersion(V(2)));
  context.TryCancel();
}

}  // namespace
}  // namespace shardmanager::discovery
