// A relay that hears nothing from upstream cannot tell whether its map is the newest, and says so.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/discovery/discovery_server.h"
#include "wire/discovery_relay.h"

namespace shardmanager::discovery {
namespace {

using wire::DiscoveryClient;
using wire::DiscoveryRelay;

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }
const AppName kApp("kv");

// A relay and its own way to the source of maps, which can be cut.
class CutRelay {
 public:
  explicit CutRelay(Hub& source)
      : source_(source),
        upstream_(std::make_unique<DiscoveryServer>(source)),
        port_(upstream_->port()),
        relay_(Impatient(upstream_->endpoint())),
        server_(relay_.hub()) {}

  void Cut() { upstream_.reset(); }
  void Mend() { upstream_ = std::make_unique<DiscoveryServer>(source_, port_); }
  std::string endpoint() const { return server_.endpoint(); }
  DiscoveryRelay::Stats stats() const { return relay_.stats(); }

 private:
  static wire::DiscoveryClientOptions Impatient(std::string upstream) {
    wire::DiscoveryClientOptions options = QuickClient({std::move(upstream)});
    options.silence = Milliseconds(500);
    options.first_message = Milliseconds(250);
    return options;
  }

  Hub& source_;
  std::unique_ptr<DiscoveryServer> upstream_;
  const int port_;
  DiscoveryRelay relay_;
  DiscoveryServer server_;
};

class UnheardTest : public testing::Test {
 protected:
  UnheardTest() { source_.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}})); }

  Hub source_;
  CutRelay one_{source_};
  CutRelay other_{source_};
};

TEST_F(UnheardTest, SubscribersOfARelayThatIsCutOffTurnToOneThatIsNot) {
  DiscoveryClient client(QuickClient({one_.endpoint(), other_.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  one_.Cut();
  source_.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  ASSERT_TRUE(sink.AwaitVersion(V(2)));
  EXPECT_TRUE(sink.AwaitStale(false));
}

// It may have started while it was cut off. Who has no map must not wait there for ever.
TEST_F(UnheardTest, NewSubscribersOfARelayWithoutAMapTurnToOneThatHasIt) {
  one_.Cut();
  DiscoveryClient client(QuickClient({one_.endpoint(), other_.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
}

TEST_F(UnheardTest, ARelayIsNotStaleAnyMoreWhenItHearsFromUpstreamAgain) {
  DiscoveryClient client(QuickClient({one_.endpoint()}));
  RecordingSink sink;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  EXPECT_EQ(one_.stats().apps_stale, 0u);
  one_.Cut();
  ASSERT_TRUE(sink.AwaitStale(true));
  EXPECT_EQ(one_.stats().apps_stale, 1u);
  one_.Mend();
  ASSERT_TRUE(sink.AwaitStale(false));
  EXPECT_EQ(one_.stats().apps_stale, 0u);
  source_.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  ASSERT_TRUE(sink.AwaitVersion(V(2)));
  // Again: what was over may come back.
  one_.Cut();
  ASSERT_TRUE(sink.AwaitStale(true));
}

// The whole control plane is down. Off the request path everything serves on.
TEST_F(UnheardTest, WhereEveryRelayIsCutOffTheLastMapIsServedAndMarkedUntilAnyHearsAgain) {
  DiscoveryClient client(QuickClient({one_.endpoint(), other_.endpoint()}));
  RecordingSink sink, at_other, later;
  const auto watch = client.Watch(kApp, std::nullopt, sink);
  DiscoveryClient other_client(QuickClient({other_.endpoint()}));
  const auto other_watch = other_client.Watch(kApp, std::nullopt, at_other);
  ASSERT_TRUE(sink.AwaitVersion(V(1)));
  ASSERT_TRUE(at_other.AwaitVersion(V(1)));
  one_.Cut();
  other_.Cut();
  ASSERT_TRUE(sink.AwaitStale(true));
  ASSERT_TRUE(at_other.AwaitStale(true));
  const auto later_watch = client.Watch(kApp, std::nullopt, later);
  ASSERT_TRUE(later.AwaitVersion(V(1)));
  ASSERT_TRUE(later.AwaitStale(true));
  source_.Publish(kApp, MakeDelta(V(1), V(2), 0, {5}));
  other_.Mend();
  ASSERT_TRUE(sink.AwaitVersion(V(2)));
  ASSERT_TRUE(later.AwaitVersion(V(2)));
}

}  // namespace
}  // namespace shardmanager::discovery
