// Publishers of another cell than the subscriber's, and apps that the cell does not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/discovery/discovery_server.h"
#include "wire/discovery_relay.h"

namespace shardmanager::discovery {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using wire::DiscoveryClient;
using wire::DiscoveryClientOptions;
using wire::DiscoveryRelay;
using Freshness = wire::MapSink::Freshness;

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }
const AppName kApp("kv");

v1::MapSnapshot MapOf(const std::string& cell, MapVersion version) {
  v1::MapSnapshot whole = MakeSnapshot(version, {{0}, {1}});
  whole.set_cell(cell);
  return whole;
}

DiscoveryClientOptions ForCell(const std::string& cell, std::vector<std::string> endpoints) {
  DiscoveryClientOptions options = QuickClient(std::move(endpoints));
  options.cell = cell;
  return options;
}

TEST(OtherCellTest, APublisherOfAnotherCellIsLeftForTheNextOne) {
  Hub other, ours;
  other.Publish(kApp, MapOf("test@1", V(9)));
  ours.Publish(kApp, MapOf("prod@1", V(1)));
  DiscoveryServer first(other), second(ours);
  DiscoveryClient client(ForCell("prod", {first.endpoint(), second.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  EXPECT_EQ(sink.snapshots(), 1);
}

TEST(OtherCellTest, WhereAllAreOfOtherCellsTheSinkIsToldAndAskedAgainEverMoreSeldom) {
  Hub hub;
  hub.Publish(kApp, MapOf("test@1", V(1)));
  DiscoveryServer server(hub);
  DiscoveryClientOptions options = ForCell("prod", {server.endpoint()});
  options.shortest_backoff = Milliseconds(1);
  options.longest_backoff = Milliseconds(2);
  options.longest_backoff_with_map = Seconds(3'600);
  DiscoveryClient client(options);
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitLost(5));
  EXPECT_THAT(sink.last_loss(), AllOf(HasSubstr(server.endpoint()),
                                      HasSubstr("has maps of cell test@1, not of prod")));
  EXPECT_EQ(sink.loss_code(), absl::StatusCode::kFailedPrecondition);
  // 1, 2, 4 ... ms, less up to a half: a change of the other cell's map brings nobody back sooner.
  // In the second after the first five come at most five more.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (uint64_t v = 1; std::chrono::steady_clock::now() < end; ++v) {
    hub.Publish(kApp, MakeDelta(V(v), V(v + 1), 0, {static_cast<uint32_t>(v % 5)}));
    std::this_thread::yield();
  }
  EXPECT_LE(sink.losses(), 11);
  EXPECT_EQ(sink.snapshots(), 0);
}

TEST(OtherCellTest, WhoHoldsAMapKeepsItWhateverAPublisherOfAnotherCellHas) {
  Hub hub;
  hub.Publish(kApp, MapOf("test@1", V(9)));
  DiscoveryServer server(hub);
  DiscoveryClient client(ForCell("prod", {server.endpoint()}));
  for (const uint64_t known : {5, 9, 20}) {  // behind, as far as, and ahead of the other cell's
    RecordingSink sink;
    const auto watch = client.Watch(kApp, V(known), sink);
    ASSERT_TRUE(sink.AwaitLost());
    EXPECT_EQ(sink.loss_code(), absl::StatusCode::kFailedPrecondition) << known;
    EXPECT_EQ(sink.snapshots() + sink.deltas(), 0);
  }
}

TEST(NoSuchAppTest, ARelayPassesOnWhatItsUpstreamIsSureOf) {
  Hub hub;
  hub.SetApps(Hub::Apps{"prod@1", {"mail"}});
  auto server = std::make_unique<DiscoveryServer>(hub);
  const int port = server->port();
  DiscoveryRelay relay(QuickClient({server->endpoint()}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitNoSuchApp("prod@1"));
  // A relay that hears nothing is not sure of anything.
  server.reset();
  ASSERT_TRUE(sink.AwaitNoSuchApp(""));
  server = std::make_unique<DiscoveryServer>(hub, port);
  ASSERT_TRUE(sink.AwaitNoSuchApp("prod@1"));
  // The app may be made later.
  hub.SetApps(Hub::Apps{"prod@1", {"mail", "kv"}});
  ASSERT_TRUE(sink.AwaitNoSuchApp(""));
  hub.Publish(kApp, MapOf("prod@1", V(1)));
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
}

TEST(NoSuchAppTest, ARelayThatNeverHeardAnythingSaysNothing) {
  DiscoveryRelay relay(QuickClient({"127.0.0.1:1"}));
  DiscoveryServer relay_server(relay.hub());
  DiscoveryClient client(QuickClient({relay_server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitConnected());
  EXPECT_EQ(sink.no_such_app_in(), "");
}

TEST(FreshnessTest, TheSinkKnowsWhetherItsMapIsTheNewest) {
  Hub hub;
  hub.Publish(kApp, MapOf("prod@1", V(1)));
  auto server = std::make_unique<DiscoveryServer>(hub);
  const int port = server->port();
  DiscoveryClient client(QuickClient({server->endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNewest));
  for (const bool again : {false, true}) {
    hub.SetStale(true);
    ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNobodySure)) << again;
    hub.SetStale(false);
    ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNewest)) << again;
  }
  server.reset();
  ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNobodySure)) << "there is one endpoint only";
  server = std::make_unique<DiscoveryServer>(hub, port);
  ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNewest)) << "it was still the newest";
  EXPECT_EQ(sink.snapshots(), 1);
}

TEST(FreshnessTest, NobodyIsSureOnlyWhenEachEndpointWasTried) {
  Hub hub;
  hub.Publish(kApp, MapOf("prod@1", V(1)));
  DiscoveryServer server(hub);
  DiscoveryClient client(QuickClient({"127.0.0.1:1", "127.0.0.1:2", server.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, V(1), sink);
  ASSERT_TRUE(sink.AwaitFreshness(Freshness::kNewest));
  EXPECT_FALSE(sink.nobody_was_sure());
}

}  // namespace
}  // namespace shardmanager::discovery
