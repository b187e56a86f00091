#include "discovery/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/discovery/test_maps.h"

namespace shardmanager::discovery {
namespace {

using ::testing::ElementsAre;

constexpr MapVersion V(uint64_t sequence) { return {1, sequence}; }
const AppName kApp("kv");

// A subscriber that pulls when its thread says so.
class Puller {
 public:
  explicit Puller(Hub& hub, std::optional<MapVersion> known = std::nullopt)
      : subscription_(hub.Subscribe(kApp, known, [bell = bell_] { bell->Ring(); })) {}

  void PullAll() {
    while (Message message = subscription_->Pull()) EXPECT_EQ(plain_.Take(message), "");
  }
  void AwaitWake(int wakes) { ASSERT_TRUE(bell_->Await(wakes)); }
  // Pulls, woken by wakes, until the map has this version.
  void AwaitVersion(MapVersion version) {
    for (int wakes = 1;; ++wakes) {
      PullAll();
      if (plain_.held() == version) return;
      ASSERT_TRUE(bell_->Await(wakes));
    }
  }
  const PlainSubscriber& plain() const { return plain_; }

 private:
  // May ring when the puller is gone already.
  class Bell {
   public:
    void Ring() {
      std::lock_guard lock(mutex_);
      ++rings_;
      rang_.notify_all();
    }
    bool Await(int rings) {
      std::unique_lock lock(mutex_);
      return rang_.wait_for(lock, std::chrono::seconds(20), [&] { return rings_ >= rings; });
    }

   private:
    std::mutex mutex_;
    std::condition_variable rang_;
    int rings_ = 0;
  };

  PlainSubscriber plain_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  const std::shared_ptr<Subscription> subscription_;
};

TEST(HubTest, WakesASubscriberThatCameBeforeTheApp) {
  Hub hub;
  Puller puller(hub);
  puller.PullAll();
  EXPECT_EQ(puller.plain().held(), std::nullopt);
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  puller.AwaitWake(1);
  puller.PullAll();
  EXPECT_EQ(puller.plain().held(), V(1));
}

TEST(HubTest, ASubscriberThatDoesNotPullGetsOneMergedDelta) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}, {1}}));
  Puller slow(hub);
  slow.PullAll();
  for (uint64_t v = 1; v < 100; ++v) hub.Publish(kApp, MakeDelta(V(v), V(v + 1), v % 2, {3}));
  slow.AwaitWake(1);
  slow.PullAll();
  EXPECT_EQ(slow.plain().held(), V(100));
  EXPECT_EQ(slow.plain().deltas(), 1);
}

bool IsStale(const Message& message) {
  v1::WatchResponse response;
  return message != nullptr && response.ParseFromString(*message) && response.heartbeat().stale();
}

// Finding 9 of the attack: a leader that was cut off went on as if its map were the newest.
TEST(HubTest, SubscribersAreToldOnceThatTheMapMayBeOld) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  const auto early = hub.Subscribe(kApp, V(1), [] {});
  EXPECT_EQ(early->Pull(), nullptr);
  hub.SetStale(true);
  EXPECT_TRUE(IsStale(early->Pull()));
  EXPECT_EQ(early->Pull(), nullptr);
  EXPECT_TRUE(IsStale(early->Heartbeat()));

  const auto late = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_FALSE(IsStale(late->Pull())) << "first what there is";
  EXPECT_TRUE(IsStale(late->Pull()));
  EXPECT_EQ(late->Pull(), nullptr);

  hub.SetStale(false);
  const Message fresh = early->Pull();
  ASSERT_NE(fresh, nullptr);
  EXPECT_FALSE(IsStale(fresh));
  EXPECT_EQ(early->Pull(), nullptr);
}

// "": it does not say that there is no such app.
std::string NoSuchAppIn(const Message& message) {
  v1::WatchResponse response;
  if (message == nullptr || !response.ParseFromString(*message)) return "no message";
  return response.heartbeat().no_such_app() ? response.heartbeat().cell() : "";
}

TEST(HubTest, SubscribersAreToldThatThereIsNoSuchAppAndWhenThatIsOver) {
  Hub hub;
  const auto early = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_EQ(early->Pull(), nullptr);
  EXPECT_EQ(NoSuchAppIn(early->Heartbeat()), "") << "it is not known yet which apps there are";
  hub.SetApps(Hub::Apps{"prod@7", {"mail"}});
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "prod@7");
  EXPECT_EQ(early->Pull(), nullptr);
  EXPECT_EQ(NoSuchAppIn(early->Heartbeat()), "prod@7");
  hub.SetApps(Hub::Apps{"prod@7", {"mail", "news"}});
  EXPECT_EQ(early->Pull(), nullptr) << "that is nothing new to it";

  const auto late = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_EQ(NoSuchAppIn(late->Pull()), "prod@7");
  EXPECT_EQ(hub.Subscribe(AppName("mail"), std::nullopt, [] {})->Pull(), nullptr)
      << "an app whose map has not come yet";

  hub.SetApps(Hub::Apps{"prod@7", {"mail", "kv"}});
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "");
  hub.SetApps(Hub::Apps{"prod@7", {"mail"}});
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "prod@7");
  hub.SetApps(std::nullopt);
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "");
}

TEST(HubTest, WhereThereIsAMapNobodyIsToldThatThereIsNoSuchApp) {
  Hub hub;
  hub.SetApps(Hub::Apps{"prod@7", {}});
  const auto early = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "prod@7");
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  EXPECT_EQ(NoSuchAppIn(early->Pull()), "") << "the map";
  EXPECT_EQ(early->Pull(), nullptr);
  EXPECT_EQ(NoSuchAppIn(early->Heartbeat()), "");
}

TEST(HubTest, WhoMayNotHaveTheNewestMapsDoesNotSayThatThereIsNoSuchApp) {
  Hub hub;
  hub.SetStale(true);
  hub.SetApps(Hub::Apps{"prod@7", {}});
  const auto subscription = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_EQ(NoSuchAppIn(subscription->Pull()), "");
  EXPECT_EQ(subscription->Pull(), nullptr);
  hub.SetStale(false);
  EXPECT_EQ(NoSuchAppIn(subscription->Pull()), "prod@7");
  hub.SetStale(kApp, true);
  EXPECT_EQ(NoSuchAppIn(subscription->Pull()), "");
}

TEST(HubTest, WhatAnUpstreamSaysOfOneAppIsPassedOn) {
  Hub hub;
  hub.SetNoSuchApp(kApp, "prod@7");
  const auto subscription = hub.Subscribe(kApp, std::nullopt, [] {});
  EXPECT_EQ(subscription->Pull(), nullptr) << "nobody had asked for it";
  hub.SetNoSuchApp(kApp, "prod@7");
  EXPECT_EQ(NoSuchAppIn(subscription->Pull()), "prod@7");
  hub.SetNoSuchApp(kApp, "");
  EXPECT_EQ(NoSuchAppIn(subscription->Pull()), "");
}

TEST(HubTest, WakesThoseWhoWaitWhenItIsKnownThatThereIsNoSuchApp) {
  Hub hub;
  Puller puller(hub);
  puller.PullAll();
  hub.SetApps(Hub::Apps{"prod@7", {}});
  puller.AwaitWake(1);
}

TEST(HubTest, ASubscriberForAnotherCellGetsHeartbeatsThatNameTheCellAndNoMap) {
  Hub hub;
  v1::MapSnapshot whole = MakeSnapshot(V(1), {{0}});
  whole.set_cell("test@1");
  hub.Publish(kApp, whole);
  const auto subscription =
      hub.Subscribe(kApp, {.known = std::nullopt, .wake = [] {}, .cell = "prod"});
  v1::WatchResponse response;
  ASSERT_TRUE(response.ParseFromString(*subscription->Pull()));
  EXPECT_EQ(response.heartbeat().cell(), "test@1");
  EXPECT_EQ(subscription->Pull(), nullptr);
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {1}));
  EXPECT_EQ(subscription->Pull(), nullptr);
  whole.set_cell("prod@1");
  *whole.mutable_version() = V(3).ToProto();
  hub.Publish(kApp, whole);
  ASSERT_TRUE(response.ParseFromString(*subscription->Pull()));
  EXPECT_EQ(response.snapshot().cell(), "prod@1");
}

std::vector<std::string> SuspectsIn(const Message& message) {
  v1::WatchResponse response;
  if (message == nullptr || !response.ParseFromString(*message)) return {"no message"};
  const auto& suspects = response.heartbeat().suspects();
  return {suspects.begin(), suspects.end()};
}

TEST(HubTest, SubscribersAreToldOnceOfSuspectsAndWhoComesLaterToo) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  const auto early = hub.Subscribe(kApp, V(1), [] {});
  EXPECT_EQ(early->Pull(), nullptr);
  hub.SetSuspects(kApp, {"kv-1", "kv-3"});
  EXPECT_THAT(SuspectsIn(early->Pull()), ElementsAre("kv-1", "kv-3"));
  EXPECT_EQ(early->Pull(), nullptr);
  hub.SetSuspects(kApp, {"kv-1", "kv-3"});
  EXPECT_EQ(early->Pull(), nullptr) << "that is nothing new";

  const auto late = hub.Subscribe(kApp, V(1), [] {});
  EXPECT_THAT(SuspectsIn(late->Pull()), ElementsAre("kv-1", "kv-3"));
  hub.SetSuspects(kApp, {});
  EXPECT_THAT(SuspectsIn(late->Pull()), ElementsAre());
  EXPECT_EQ(late->Pull(), nullptr);
}

// A leader that was cut off from the store still hears from servers that they serve no more.
TEST(HubTest, AChangeOfAStaleMapIsFollowedByTheWordThatItIsStale) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  hub.SetStale(true);
  const auto subscription = hub.Subscribe(kApp, V(1), [] {});
  EXPECT_TRUE(IsStale(subscription->Pull()));
  EXPECT_EQ(subscription->Pull(), nullptr);
  hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {1}));
  const Message change = subscription->Pull();
  ASSERT_NE(change, nullptr);
  EXPECT_FALSE(IsStale(change));
  EXPECT_TRUE(IsStale(subscription->Pull()));
  EXPECT_EQ(subscription->Pull(), nullptr);
}

TEST(HubTest, AnAppIsStaleWhenItsOwnPublisherOrAllAre) {
  Hub hub;
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  const auto subscription = hub.Subscribe(kApp, V(1), [] {});
  hub.SetStale(kApp, true);
  EXPECT_TRUE(IsStale(subscription->Pull()));
  hub.SetStale(true);
  hub.SetStale(kApp, false);
  EXPECT_EQ(subscription->Pull(), nullptr);
  EXPECT_TRUE(IsStale(subscription->Heartbeat()));
  // An app that comes later, too.
  EXPECT_TRUE(IsStale(hub.Subscribe(AppName("later"), std::nullopt, [] {})->Pull()));
}

TEST(HubTest, WakesThoseWhoWaitWhenTheMapMayBeOld) {
  Hub hub;
  Puller puller(hub);
  puller.PullAll();
  hub.SetStale(true);
  puller.AwaitWake(1);
}

TEST(HubTest, TellsWhichAppsAreWantedAndWhichNoMore) {
  std::vector<std::string> calls;  // under the hub's lock
  Hub hub({.limits = {},
           .wanted = [&](const AppName& app) { calls.push_back("+" + app.value()); },
           .unwanted = [&](const AppName& app) { calls.push_back("-" + app.value()); }});
  {
    const auto one = hub.Subscribe(AppName("never-published"), std::nullopt, [] {});
    const auto two = hub.Subscribe(AppName("never-published"), std::nullopt, [] {});
  }
  {
    const auto again = hub.Subscribe(AppName("never-published"), std::nullopt, [] {});
  }
  {
    const auto known = hub.Subscribe(kApp, std::nullopt, [] {});
    hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  }
  {
    const auto known = hub.Subscribe(kApp, std::nullopt, [] {});
  }
  EXPECT_THAT(calls, ElementsAre("+never-published", "-never-published", "+never-published",
                                 "-never-published", "+kv"));
}

constexpr MapVersion Of(uint64_t epoch, uint64_t sequence, int64_t cell = 1'000) {
  return {.leader_epoch = epoch, .sequence = sequence, .cell_made_ms = cell};
}

// A cell that was restored from a backup, seen by subscribers only.
TEST(HubTest, TellsOnceOfASubscriberThatHoldsAMapByALaterLeaderOfTheCell) {
  std::vector<MapVersion> ahead;
  Hub hub;
  hub.on_ahead = [&](const AppName& app, MapVersion known) {
    EXPECT_EQ(app.value(), kApp.value());
    ahead.push_back(known);
  };
  Puller early(hub, Of(8, 1));
  early.PullAll();
  EXPECT_THAT(ahead, ElementsAre()) << "nothing was published here yet";
  hub.Publish(kApp, MakeSnapshot(Of(6, 5), {{0}}));
  early.AwaitWake(1);
  early.PullAll();
  EXPECT_THAT(ahead, ElementsAre(Of(8, 1)));

  Puller(hub, Of(8, 7)).PullAll();
  Puller(hub, Of(7, 9)).PullAll();
  EXPECT_THAT(ahead, ElementsAre(Of(8, 1))) << "that was told";
  Puller(hub, Of(9, 2)).PullAll();
  EXPECT_THAT(ahead, ElementsAre(Of(8, 1), Of(9, 2)));
  hub.Publish(kApp, MakeSnapshot(Of(7, 1), {{1}}));
  Puller(hub, Of(8, 7)).PullAll();
  EXPECT_THAT(ahead, ElementsAre(Of(8, 1), Of(9, 2), Of(8, 7))) << "another leader publishes";
}

TEST(HubTest, ASubscriberThatProvesNoLaterLeaderOfTheCellIsNotToldOf) {
  Hub hub;
  hub.on_ahead = [](const AppName&, MapVersion known) { FAIL() << known.ToString(); };
  hub.Publish(kApp, MakeSnapshot(Of(6, 5), {{0}}));
  for (MapVersion known : {Of(6, 9), Of(5, 9), Of(8, 1, 2'000), Of(8, 1, 999), Of(8, 1, 0)}) {
    Puller(hub, known).PullAll();
  }
  hub.Publish(AppName("other"), MakeSnapshot({.leader_epoch = 1, .sequence = 1}, {{0}}));
  hub.Subscribe(AppName("other"), Of(8, 1, 0), [] {})->Pull();
}

// The few of one source hear of two changes, the second of which comes when they have the first,
// before all of the many of another source have heard of one.
TEST(HubTest, ManyOfOneSourceDoNotMakeThoseOfOthersWait) {
  constexpr int kMany = 5'000;
  Hub hub;
  std::shared_ptr<Subscription> few;
  std::atomic<int> many_woken = 0;
  std::atomic<int> few_woken = 0;
  std::array<std::atomic<int>, 2> many_before = {0, 0};
  std::latch over(kMany + 2);
  std::vector<std::shared_ptr<Subscription>> many;
  for (int i = 0; i < kMany; ++i) {
    const auto wake = [&] {
      if (++many_woken <= kMany) over.count_down();
    };
    many.push_back(
        hub.Subscribe(kApp, {.known = std::nullopt, .wake = wake, .source = "client/kv/all"}));
    EXPECT_EQ(many.back()->Pull(), nullptr);
  }
  const auto wake = [&] {
    const size_t change = static_cast<size_t>(few_woken++);
    if (change >= many_before.size()) return;
    many_before[change] = many_woken.load();
    while (few->Pull() != nullptr) continue;
    if (change == 0) hub.Publish(kApp, MakeDelta(V(1), V(2), 0, {1}));
    over.count_down();
  };
  few = hub.Subscribe(kApp, {.known = std::nullopt, .wake = wake, .source = "client/kv/few"});
  EXPECT_EQ(few->Pull(), nullptr);
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  over.wait();
  EXPECT_LT(many_before[0], kMany / 2);
  EXPECT_LT(many_before[1], kMany / 2);
}

TEST(HubTest, WhoEndsWhileWokenOnesAreManyIsNotWokenAndOthersAre) {
  constexpr int kMany = 3'000;
  Hub hub;
  std::latch woken(kMany / 2);
  std::vector<std::shared_ptr<Subscription>> stay;
  std::vector<std::shared_ptr<Subscription>> go;
  for (int i = 0; i < kMany; ++i) {
    auto& those = i % 2 == 0 ? stay : go;
    const auto once = std::make_shared<std::atomic<bool>>(false);
    const auto wake = [&woken, once, stays = i % 2 == 0] {
      if (stays && !once->exchange(true)) woken.count_down();
    };
    those.push_back(hub.Subscribe(kApp, {.known = std::nullopt, .wake = wake, .source = "same"}));
    EXPECT_EQ(those.back()->Pull(), nullptr);
  }
  hub.Publish(kApp, MakeSnapshot(V(1), {{0}}));
  go.clear();
  woken.wait();
  EXPECT_EQ(hub.subscribers(), stay.size());
}

TEST(HubTest, SubscribersOfManyThreadsEndWithTheSameMap) {
  constexpr uint64_t kVersions = 300;
  Hub hub;
  PlainMap truth;
  const v1::MapSnapshot first = MakeSnapshot(V(1), Owners(20, {0}));
  truth.Apply(first);
  constexpr int kThreads = 4;
  std::latch subscribed(kThreads + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Puller one(hub);
      subscribed.arrive_and_wait();
      one.AwaitVersion(V(kVersions));
      EXPECT_EQ(one.plain().snapshots(), 1);
    });
  }
  Puller last(hub);
  subscribed.arrive_and_wait();
  hub.Publish(kApp, first);
  Random random(7);
  for (uint64_t v = 1; v < kVersions; ++v) {
    const auto delta = MakeDelta(V(v), V(v + 1), static_cast<uint32_t>(random.Below(20)),
                                 {static_cast<uint32_t>(random.Below(10))});
    truth.Apply(delta);
    ASSERT_EQ(hub.Publish(kApp, delta).kind, Verdict::kApplied);
  }
  for (std::thread& thread : threads) thread.join();
  last.AwaitVersion(V(kVersions));
  EXPECT_EQ(last.plain().map().Shards(), truth.Shards());
}

}  // namespace
}  // namespace shardmanager::discovery
