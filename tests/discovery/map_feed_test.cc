#include "discovery/map_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "base/random.h"
#include "tests/discovery/test_maps.h"

namespace shardmanager::discovery {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MapVersion V(uint64_t sequence, uint64_t epoch = 1) { return {epoch, sequence}; }

v1::WatchResponse Parse(const Message& message) {
  v1::WatchResponse response;
  EXPECT_TRUE(response.ParseFromString(*message));
  return response;
}

TEST(MapFeedTest, RefusesDeltaBeforeAnySnapshotAndSaysWhy) {
  MapFeed feed;
  const Verdict verdict = feed.Publish(MakeDelta(V(1), V(2), 0, {1}));
  EXPECT_EQ(verdict.kind, Verdict::kGap);
  EXPECT_THAT(verdict.reason, HasSubstr("not known yet"));
  EXPECT_FALSE(feed.version().has_value());
}

TEST(MapFeedTest, RefusesDeltaFromAnotherVersionAndSaysWhich) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(5), {{0}, {1}}));
  const Verdict verdict = feed.Publish(MakeDelta(V(6), V(7), 0, {1}));
  EXPECT_EQ(verdict.kind, Verdict::kGap);
  EXPECT_THAT(verdict.reason, HasSubstr("from 1.6 to 1.7, but the map is at 1.5"));
  EXPECT_EQ(feed.version(), V(5));
}

// F11: a stale heartbeat reply overwrote newer state.
TEST(MapFeedTest, F11NothingOlderReplacesTheMap) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(3, /*epoch=*/2), {{0}}));
  EXPECT_EQ(feed.Publish(MakeSnapshot(V(2, 2), {{1}})).kind, Verdict::kStale);
  EXPECT_EQ(feed.Publish(MakeSnapshot(V(3, 2), {{1}})).kind, Verdict::kStale);
  // An earlier leader's maps are older, whatever their sequence.
  EXPECT_EQ(feed.Publish(MakeSnapshot(V(99, 1), {{1}})).kind, Verdict::kStale);
  EXPECT_EQ(feed.Publish(MakeDelta(V(98, 1), V(99, 1), 0, {1})).kind, Verdict::kStale);
  PlainSubscriber subscriber;
  for (const Message& message : feed.CatchUpFrom(std::nullopt).messages) subscriber.Take(message);
  EXPECT_THAT(subscriber.map().Shards(), testing::ElementsAre("0 s0 [,) kv-0@127.0.0.1:7000/1"));
}

TEST(MapFeedTest, ALaterLeaderStartsItsSequenceAgain) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(99, 1), {{0}}));
  EXPECT_EQ(feed.Publish(MakeSnapshot(V(1, 2), {{1}})).kind, Verdict::kApplied);
  EXPECT_EQ(feed.version(), V(1, 2));
}

// Seed 12047 of the simulation: who came to a version by a delta still knew servers that it lacks,
// and told others of that version nothing about them, when it led the next time.
TEST(MapFeedTest, WhoeverHasAVersionHasTheSameMapHoweverTheyCameToIt) {
  MapFeed leader;
  leader.Publish(MakeSnapshot(V(1, 1), {{0}, {1}}, /*servers=*/2));
  PlainSubscriber by_delta;
  for (const Message& message : leader.CatchUpFrom(std::nullopt).messages) by_delta.Take(message);
  leader.Publish(MakeSnapshot(V(1, 2), {{0}, {0}}, /*servers=*/1));
  MapFeed follower;
  follower.Publish(MakeSnapshot(V(1, 1), {{0}, {1}}, /*servers=*/2));
  for (const Message& message : leader.CatchUpFrom(V(1, 1)).messages) {
    EXPECT_EQ(by_delta.Take(message), "");
    EXPECT_EQ(follower.Publish(Parse(message).delta()).kind, Verdict::kApplied);
  }
  PlainSubscriber by_snapshot;
  for (const Message& message : leader.CatchUpFrom(std::nullopt).messages) {
    by_snapshot.Take(message);
  }
  EXPECT_EQ(by_delta.snapshots(), 1);
  EXPECT_EQ(by_delta.map().ToSnapshot().SerializeAsString(),
            by_snapshot.map().ToSnapshot().SerializeAsString());
  // The follower leads, and all that have the version can use what it says.
  follower.Publish(MakeSnapshot(V(1, 3), {{0}, {1}}, /*servers=*/2));
  for (const Message& message : follower.CatchUpFrom(V(1, 2)).messages) {
    EXPECT_EQ(leader.Publish(Parse(message).delta()).kind, Verdict::kApplied);
  }
}

TEST(MapFeedTest, AServerThatIsGoneIsRefusedInTheSameDelta) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}}, /*servers=*/2));
  v1::MapDelta delta = MakeDelta(V(1), V(2), 0, {1});
  delta.add_servers()->set_index(1);
  EXPECT_EQ(feed.Publish(delta).kind, Verdict::kMalformed);
}

// Finding 10 of the attack: a relay kept the map of a cell that was gone.
TEST(MapFeedTest, ACellMadeAnewIsNewerWhateverItsLeaderEpoch) {
  MapFeed feed;
  v1::MapSnapshot old_cell = MakeSnapshot({9, 99, /*cell_made_ms=*/1'000}, {{0}, {1}});
  old_cell.set_cell("c@1000");
  v1::MapSnapshot new_cell = MakeSnapshot({1, 1, /*cell_made_ms=*/2'000}, {{0}, {2}});
  new_cell.set_cell("c@2000");
  feed.Publish(old_cell);
  EXPECT_EQ(feed.Publish(new_cell).kind, Verdict::kApplied);
  EXPECT_EQ(feed.Publish(old_cell).kind, Verdict::kStale);
  // The identity is not in deltas.
  const v1::WatchResponse response =
      Parse(feed.CatchUpFrom(MapVersion{9, 99, 1'000}).messages.at(0));
  ASSERT_TRUE(response.has_snapshot());
  EXPECT_EQ(response.snapshot().cell(), "c@2000");
  EXPECT_EQ(MapVersion::From(response.snapshot().version()), (MapVersion{1, 1, 2'000}));
}

// F12: a new subscriber got deltas but no initial state.
TEST(MapFeedTest, F12NewSubscriberGetsTheWholeStateFirst) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}, {2}}));
  feed.CatchUpFrom(std::nullopt);  // encodes the snapshot of version 1
  feed.Publish(MakeDelta(V(1), V(2), 1, {7}));
  const MapFeed::CatchUp catch_up = feed.CatchUpFrom(std::nullopt);
  ASSERT_FALSE(catch_up.messages.empty());
  EXPECT_TRUE(Parse(catch_up.messages[0]).has_snapshot());
  PlainSubscriber subscriber;
  for (const Message& message : catch_up.messages) EXPECT_EQ(subscriber.Take(message), "");
  EXPECT_EQ(subscriber.map().version(), V(2));
  EXPECT_THAT(subscriber.map().Shards()[1], HasSubstr("kv-7"));
}

// Finding 15 of the attack: an old snapshot looked like the newest one.
TEST(MapFeedTest, AnOldSnapshotSaysThatMoreFollows) {
  constexpr size_t kSmall = 100;
  MapFeed feed({.message_bytes = kSmall});
  feed.Publish(MakeSnapshot(V(1), Owners(10, {1})));
  const auto newest = feed.CatchUpFrom(std::nullopt).messages;
  ASSERT_GT(newest.size(), 2u);
  for (const Message& part : newest) EXPECT_FALSE(Parse(part).more());

  feed.Publish(MakeDelta(V(1), V(2), 1, {7}));
  for (int subscriber = 0; subscriber < 2; ++subscriber) {
    const auto old = feed.CatchUpFrom(std::nullopt).messages;
    ASSERT_EQ(old.size(), newest.size() + 1);
    EXPECT_TRUE(Parse(old[newest.size() - 1]).more());
    EXPECT_TRUE(Parse(old[newest.size() - 1]).snapshot().last());
    EXPECT_FALSE(Parse(old.back()).more());
    EXPECT_TRUE(Parse(old.back()).has_delta());
  }
}

TEST(MapFeedTest, ResumesByVersionWithOneMergedDelta) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}, {2}}));
  feed.Publish(MakeDelta(V(1), V(2), 0, {5}));
  feed.Publish(MakeDelta(V(2), V(3), 2, {6}));
  feed.Publish(MakeDelta(V(3), V(4), 0, {7}));
  const MapFeed::CatchUp catch_up = feed.CatchUpFrom(V(2));
  ASSERT_EQ(catch_up.messages.size(), 1u);
  const v1::WatchResponse response = Parse(catch_up.messages[0]);
  ASSERT_TRUE(response.has_delta());
  EXPECT_EQ(MapVersion::From(response.delta().from()), V(2));
  EXPECT_EQ(MapVersion::From(response.delta().version()), V(4));
  EXPECT_EQ(response.delta().shards_size(), 2);
  EXPECT_EQ(catch_up.version, V(4));
}

TEST(MapFeedTest, SendsSnapshotWhenTheLogDoesNotReachBack) {
  MapFeed feed({.log = {.changes = 2}});
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}}));
  for (uint64_t v = 1; v < 5; ++v) feed.Publish(MakeDelta(V(v), V(v + 1), 0, {1}));
  EXPECT_TRUE(Parse(feed.CatchUpFrom(V(1)).messages.at(0)).has_snapshot());
  EXPECT_TRUE(Parse(feed.CatchUpFrom(V(3)).messages.at(0)).has_delta());
}

TEST(MapFeedTest, SubscribersAtOneVersionShareTheBytes) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}}));
  EXPECT_EQ(feed.CatchUpFrom(std::nullopt).messages[0], feed.CatchUpFrom(std::nullopt).messages[0]);
  feed.Publish(MakeDelta(V(1), V(2), 0, {1}));
  EXPECT_EQ(feed.CatchUpFrom(V(1)).messages[0], feed.CatchUpFrom(V(1)).messages[0]);
}

TEST(MapFeedTest, SubscriberAheadOfUsGetsNothingUntilWeCatchUp) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(5), {{0}}));
  EXPECT_THAT(feed.CatchUpFrom(V(6)).messages, IsEmpty());
  feed.Publish(MakeDelta(V(5), V(6), 0, {1}));
  feed.Publish(MakeDelta(V(6), V(7), 0, {2}));
  EXPECT_TRUE(Parse(feed.CatchUpFrom(V(6)).messages.at(0)).has_delta());
}

TEST(MapFeedTest, SnapshotOfTheSameLayoutReachesSubscribersAsDifference) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}, {2}}));
  feed.Publish(MakeSnapshot(V(1, 2), {{0}, {4}, {2}}));
  const v1::WatchResponse response = Parse(feed.CatchUpFrom(V(1)).messages.at(0));
  ASSERT_TRUE(response.has_delta());
  EXPECT_EQ(response.delta().shards_size(), 1);
  EXPECT_EQ(response.delta().servers_size(), 0);
}

TEST(MapFeedTest, AnotherLayoutReachesSubscribersAsSnapshot) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}}));
  feed.Publish(MakeSnapshot(V(2), {{0}, {1}, {2}}));
  EXPECT_TRUE(Parse(feed.CatchUpFrom(V(1)).messages.at(0)).has_snapshot());
}

TEST(MapFeedTest, DeletedAppIsASnapshotWithoutShards) {
  MapFeed feed;
  feed.Publish(MakeSnapshot(V(1), {{0}, {1}}));
  feed.Publish(MakeSnapshot(V(2), {}, /*servers=*/0));
  const v1::WatchResponse response = Parse(feed.CatchUpFrom(V(1)).messages.at(0));
  ASSERT_TRUE(response.has_snapshot());
  EXPECT_TRUE(response.snapshot().last());
  EXPECT_EQ(response.snapshot().shards_size(), 0);
}

TEST(MapFeedTest, CutsSnapshotsIntoPartsBelowTheLimit) {
  constexpr size_t kLimit = 2'000;
  MapFeed feed({.message_bytes = kLimit});
  feed.Publish(MakeSnapshot(V(1), Owners(500, {1, 2, 3}), /*servers=*/200));
  const MapFeed::CatchUp catch_up = feed.CatchUpFrom(std::nullopt);
  EXPECT_GT(catch_up.messages.size(), 5u);
  PlainSubscriber subscriber;
  for (const Message& message : catch_up.messages) {
    EXPECT_LE(message->size(), kLimit + 100);
    EXPECT_EQ(subscriber.Take(message), "");
  }
  EXPECT_EQ(subscriber.snapshots(), 1);
  EXPECT_EQ(subscriber.map().Shards().size(), 500u);
}

TEST(MapFeedTest, DeltaAboveTheLimitBecomesASnapshot) {
  MapFeed feed({.message_bytes = 1'000});
  feed.Publish(MakeSnapshot(V(1), Owners(300, {1})));
  feed.Publish(MakeSnapshot(V(2), Owners(300, {2})));
  EXPECT_TRUE(Parse(feed.CatchUpFrom(V(1)).messages.at(0)).has_snapshot());
}

TEST(MapFeedTest, RefusesMapsThatContradictThemselves) {
  MapFeed feed;
  v1::MapSnapshot torn = MakeSnapshot(V(1), {{0}, {1}});
  torn.mutable_shards(1)->set_index(5);
  EXPECT_EQ(feed.Publish(torn).kind, Verdict::kMalformed);
  EXPECT_EQ(feed.Publish(MakeSnapshot(V(1), {{42}})).kind, Verdict::kMalformed);
  feed.Publish(MakeSnapshot(V(1), {{0}}));
  EXPECT_EQ(feed.Publish(MakeDelta(V(1), V(2), 1, {0})).kind, Verdict::kMalformed);
  EXPECT_EQ(feed.Publish(MakeDelta(V(1), V(2), 0, {42})).kind, Verdict::kMalformed);
  EXPECT_EQ(feed.version(), V(1));
}

TEST(MapFeedTest, PassesOnFieldsOfNewerBuilds) {
  MapFeed feed;
  v1::MapSnapshot whole = MakeSnapshot(V(1), {{0}});
  whole.mutable_shards(0)
      ->GetReflection()
      ->MutableUnknownFields(whole.mutable_shards(0))
      ->AddVarint(1'000, 7);
  feed.Publish(whole);
  const v1::WatchResponse response = Parse(feed.CatchUpFrom(std::nullopt).messages.at(0));
  const v1::MapShard& shard = response.snapshot().shards(0);
  EXPECT_EQ(shard.GetReflection()->GetUnknownFields(shard).field_count(), 1);
}

// ---- Whoever pulls whenever, ends with the same map.

class Publisher {
 public:
  explicit Publisher(uint64_t seed) : random_(seed) {}

  // Publishes something newer, to the feed and to the plain map.
  void Step(MapFeed& feed, PlainMap& truth) {
    const MapVersion next{version_.leader_epoch + (random_.Below(20) == 0 ? 1 : 0),
                          version_.sequence + 1 + random_.Below(3)};
    if (owners_.empty() || random_.Below(10) == 0) {
      if (random_.Below(3) == 0) owners_.resize(random_.Below(30));
      for (auto& owners : owners_) owners = AnyOwners();
      const v1::MapSnapshot whole = MakeSnapshot(next, owners_);
      EXPECT_EQ(feed.Publish(whole).kind, Verdict::kApplied);
      truth.Apply(whole);
    } else {
      const auto shard = static_cast<uint32_t>(random_.Below(owners_.size()));
      owners_[shard] = AnyOwners();
      v1::MapDelta delta = MakeDelta(version_, next, shard, owners_[shard]);
      if (random_.Below(4) == 0) MoveServer(delta);
      const Verdict verdict = feed.Publish(delta);
      EXPECT_EQ(verdict.kind, Verdict::kApplied) << verdict.reason;
      truth.Apply(delta);
    }
    version_ = next;
  }

 private:
  std::vector<uint32_t> AnyOwners() {
    std::vector<uint32_t> owners(random_.Below(4));
    for (uint32_t& owner : owners) owner = static_cast<uint32_t>(random_.Below(10));
    return owners;
  }
  void MoveServer(v1::MapDelta& delta) {
    v1::MapServer* server = delta.add_servers();
    server->set_index(static_cast<uint32_t>(random_.Below(10)));
    server->set_name("moved");
    server->set_endpoint("127.0.0.1:" + std::to_string(random_.Below(9'999)));
  }

  Random random_;
  MapVersion version_{1, 0};
  Owners owners_;
};

TEST(MapFeedPropertyTest, SubscribersThatPullAtAnyTimesEndWithTheSameMap) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    MapFeed feed({.message_bytes = 150 + random.Below(2'000),
                  .log = {.changes = 1 + random.Below(20), .bytes = 500 + random.Below(4'000)}});
    Publisher publisher(seed);
    PlainMap truth;
    std::vector<PlainSubscriber> subscribers(5);
    const auto pull = [&](PlainSubscriber& subscriber) {
      for (const Message& message : feed.CatchUpFrom(subscriber.held()).messages) {
        ASSERT_EQ(subscriber.Take(message), "") << "seed " << seed;
      }
    };
    for (int step = 0; step < 100; ++step) {
      publisher.Step(feed, truth);
      for (size_t i = 0; i < subscribers.size(); ++i) {
        if (random.Below(1 << i) == 0) pull(subscribers[i]);
      }
    }
    for (PlainSubscriber& subscriber : subscribers) {
      pull(subscriber);
      ASSERT_EQ(subscriber.map().version(), truth.version()) << "seed " << seed;
      ASSERT_EQ(subscriber.map().Shards(), truth.Shards()) << "seed " << seed;
    }
  }
}

// Publisher, and relays that hear of it now and then and merge what they missed.
TEST(MapFeedPropertyTest, SubscribersThatSwitchBetweenLaggingRelaysEndWithTheSameMap) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const FeedLimits limits{.message_bytes = 300 + random.Below(2'000),
                            .log = {.changes = 1 + random.Below(20)}};
    std::vector<MapFeed> feeds(4, MapFeed(limits));  // the first is the source
    std::vector<PlainSubscriber> relays(4);
    Publisher publisher(seed);
    PlainMap truth;
    PlainSubscriber subscriber;
    // One stream from feed to subscriber; a stream that breaks is opened once more.
    const auto pull = [&](MapFeed& from, PlainSubscriber& to) {
      for (int attempt = 0; attempt < 2; ++attempt) {
        to.OpenStream();
        std::string broken;
        for (const Message& message : from.CatchUpFrom(to.known()).messages) {
          broken = to.Take(message);
          if (!broken.empty()) break;
        }
        if (broken.empty()) return;
        ASSERT_EQ(attempt, 0) << "seed " << seed << ": " << broken;
      }
    };
    const auto relay = [&](size_t to) {
      pull(feeds[random.Below(to)], relays[to]);
      const auto& map = relays[to].map();
      if (relays[to].held() != feeds[to].version()) feeds[to].Publish(map.ToSnapshot());
    };
    for (int step = 0; step < 150; ++step) {
      publisher.Step(feeds[0], truth);
      for (size_t to = 1; to < feeds.size(); ++to) {
        if (random.Below(1 + to) == 0) relay(to);
      }
      pull(feeds[random.Below(feeds.size())], subscriber);
      if (testing::Test::HasFatalFailure()) return;
    }
    pull(feeds[0], subscriber);
    ASSERT_EQ(subscriber.map().version(), truth.version()) << "seed " << seed;
    ASSERT_EQ(subscriber.map().Shards(), truth.Shards()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shardmanager::discovery
