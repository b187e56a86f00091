// Shards and keys that ask for too much are told of, before the server that has them fails.
#include "orchestrator/decide/load/skew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::HasSubstr;

// Four servers, eight shards, collections every ten seconds. Shards get `rates_` requests a second.
class SkewTest : public ::testing::Test {
 protected:
  static v1::AppSpec Spec() {
    v1::AppSpec spec = TestSpec(8, v1::PRIMARY_ONLY, 1);
    spec.mutable_moves()->set_collect_interval_ms(10'000);
    return spec;
  }

  void Start(v1::AppSpec spec = Spec()) {
    world_.emplace(std::move(spec));
    world_->says.traffic = [this](const std::string&, ServerReport& report) { Count(report); };
    world_->load = [this](const std::string& shard, const std::string&) {
      std::vector<MetricAmount> loads;
      if (loads_.contains(shard)) loads.push_back({"cpu", loads_[shard]});
      return loads;
    };
    world_->Start();
    for (int i = 0; i < 4; ++i) world_->Join(absl::StrCat("kv-", i), "a");
    world_->Advance(Seconds(30));
  }

  void AllAlike(double rate) {
    for (int i = 0; i < 8; ++i) rates_[absl::StrCat("s-", i)] = rate;
  }
  v1::AppSkew SkewNow() { return DescribeApp(state(), state().now).skew(); }
  v1::ShardTrafficStatus TrafficNow(size_t shard) {
    return DescribeShard(state(), shard).traffic();
  }
  const PartitionState& state() { return world_->partition().state(); }
  size_t Notes(NoteKind kind) { return world_->NoteCount(kind); }
  World& world() { return *world_; }

  std::map<std::string, double> rates_;   // requests per second, by shard
  std::map<std::string, double> errors_;  // likewise
  std::map<std::string, double> loads_;   // of the metric cpu
  std::map<std::string, double> keys_;    // requests per second, of keys of s-0
  bool old_library_ = false;

 private:
  void Count(ServerReport& report) {
    if (old_library_) return;
    constexpr double kSeconds = 10;
    CountedTraffic& counted = report.traffic;
    counted.counted_for = Seconds(10);
    counted.keys.one_in = 64;
    counted.keys.by_hash.assign(kHashParts, 0);
    for (const HeldReplica& held : report.held) {
      const auto requests = static_cast<uint64_t>(rates_[held.shard] * kSeconds);
      counted.requests += requests;
      for (uint32_t& part : counted.keys.by_hash) part += requests / 64 / kHashParts;
      if (requests > 0) {
        counted.shards.push_back({.shard = held.shard,
                                  .requests = requests,
                                  .errors = static_cast<uint64_t>(errors_[held.shard] * kSeconds),
                                  .times = {0, 0, 98, 0, 0, 2}});
      }
      if (held.shard == "s-0") CountKeys(counted.keys);
    }
  }

  void CountKeys(SampledKeys& keys) {
    for (const auto& [key, rate] : keys_) {
      const auto count = static_cast<uint64_t>(rate * 10 / 64);
      keys.top.push_back({key, "s-0", count, 0});
      keys.by_hash[HashPartOf(key)] += static_cast<uint32_t>(count);
      keys.requests += count;
    }
  }

  std::optional<World> world_;
};

TEST_F(SkewTest, RatesErrorsAndTimesAreKnownByShard) {
  AllAlike(100);
  errors_["s-3"] = 20;
  Start();
  world().Advance(Seconds(60));
  EXPECT_NEAR(SkewNow().requests_per_s(), 800, 1);
  EXPECT_NEAR(SkewNow().server_requests_per_s(), 200, 1);
  const v1::ShardTrafficStatus traffic = TrafficNow(3);
  EXPECT_NEAR(traffic.requests_per_s(), 100, 1);
  EXPECT_NEAR(traffic.errors_per_s(), 20, 1);
  EXPECT_NEAR(traffic.share(), 1.0 / 8, 0.01);
  EXPECT_NEAR(traffic.of_server(), 0.5, 0.01);
  EXPECT_NEAR(traffic.p50_ms(), 0.256, 0.001);
  EXPECT_NEAR(traffic.p99_ms(), 2.048, 0.001);
  EXPECT_FALSE(traffic.hot());
  EXPECT_EQ(Notes(NoteKind::kShardHot), 0U);
}

TEST_F(SkewTest, TheFirstReportCountsInFull) {
  Start();
  AllAlike(100);
  world().Advance(Seconds(11));
  EXPECT_NEAR(SkewNow().requests_per_s(), 800, 1);
}

TEST_F(SkewTest, ServersThatCountNothingCostNothing) {
  old_library_ = true;
  AllAlike(100);
  Start();
  world().Advance(Seconds(60));
  EXPECT_TRUE(state().skew.servers.empty());
  EXPECT_FALSE(DescribeApp(state(), state().now).has_skew());
  EXPECT_FALSE(DescribeShard(state(), 0).has_traffic());
}

TEST_F(SkewTest, AShardThatIsAsMuchAsAServerHasIsToldOfOnce) {
  AllAlike(100);
  Start();
  world().Advance(Seconds(60));
  rates_["s-5"] = 400;  // of 1,100: a server has 275 on average
  world().Advance(Seconds(60));
  EXPECT_EQ(Notes(NoteKind::kShardHot), 1U);
  EXPECT_TRUE(TrafficNow(5).hot());
  EXPECT_NEAR(world().traffic.requests_per_s, 1'100, 10);
  EXPECT_NEAR(world().traffic.hottest_shard, 400.0 / 275, 0.05);
  EXPECT_EQ(world().traffic.shards_hot, 1U);
  EXPECT_THAT(TrafficNow(5).reason(), HasSubstr("what a server of the app has on average"));
  EXPECT_THAT(TrafficNow(5).reason(), HasSubstr("moves do not help"));
  EXPECT_EQ(SkewNow().shards_hot(), 1U);
  rates_["s-5"] = 100;
  world().Advance(Seconds(120));
  EXPECT_EQ(Notes(NoteKind::kShardCooled), 1U);
  EXPECT_FALSE(TrafficNow(5).hot());
  EXPECT_EQ(Notes(NoteKind::kShardHot), 1U);
}

TEST_F(SkewTest, WhatStandsAtTheLimitIsNotToldOfAgainAndAgain) {
  AllAlike(100);
  Start();
  for (int i = 0; i < 40; ++i) {
    rates_["s-5"] = i % 6 < 3 ? 270 : 180;  // 2.2 and 1.6 times what a shard has on average
    world().Advance(Seconds(10));
  }
  EXPECT_EQ(Notes(NoteKind::kShardHot), 1U);
  EXPECT_EQ(Notes(NoteKind::kShardCooled), 0U);
}

TEST_F(SkewTest, ShardsAsManyAsServersAreNotHotForThat) {
  v1::AppSpec spec = TestSpec(4, v1::PRIMARY_ONLY, 1);
  spec.mutable_moves()->set_collect_interval_ms(10'000);
  for (int i = 0; i < 4; ++i) rates_[absl::StrCat("s-", i)] = 100;
  Start(spec);
  world().Advance(Seconds(60));
  EXPECT_NEAR(TrafficNow(0).of_server(), 1, 0.01);
  EXPECT_EQ(Notes(NoteKind::kShardHot), 0U);
}

TEST_F(SkewTest, FewRequestsAreNotJudged) {
  AllAlike(1);
  rates_["s-5"] = 50;  // 570 requests in ten seconds
  Start();
  world().Advance(Seconds(120));
  EXPECT_EQ(Notes(NoteKind::kShardHot), 0U);
}

TEST_F(SkewTest, AShardThatCarriesHalfOfItsServersCapacityIsHot) {
  v1::AppSpec spec = Spec();
  v1::Metric& cpu = *spec.add_metrics();
  cpu.set_name("cpu");
  cpu.set_capacity(10);
  AllAlike(100);
  loads_ = {{"s-2", 6}, {"s-4", 4}};
  Start(spec);
  world().Advance(Seconds(60));
  EXPECT_TRUE(TrafficNow(2).hot());
  EXPECT_NEAR(TrafficNow(2).of_capacity(), 0.6, 0.01);
  EXPECT_EQ(TrafficNow(2).metric(), "cpu");
  EXPECT_THAT(TrafficNow(2).reason(), HasSubstr("it carries 60% of the cpu that kv-"));
  EXPECT_FALSE(TrafficNow(4).hot());
}

TEST_F(SkewTest, AHotKeyIsNamed) {
  AllAlike(200);
  rates_["s-0"] = 600;
  keys_ = {{"cart:1", 480}, {"cart:2", 6.5}};
  Start();
  world().Advance(Seconds(60));
  EXPECT_EQ(Notes(NoteKind::kKeyHot), 1U);
  const v1::AppSkew skew = SkewNow();
  ASSERT_EQ(skew.keys_size(), 2);
  EXPECT_EQ(skew.keys(0).key(), "cart:1");
  EXPECT_EQ(skew.keys(0).shard(), "s-0");
  EXPECT_NEAR(skew.keys(0).requests_per_s(), 480, 10);
  EXPECT_NEAR(skew.keys(0).share(), 0.24, 0.01);
  EXPECT_TRUE(skew.keys(0).hot());
  EXPECT_EQ(world().traffic.keys_hot, 1U);
  EXPECT_NEAR(world().traffic.hottest_key, 480.0 / 500, 0.05);
  EXPECT_FALSE(skew.keys(1).hot());
  keys_["cart:1"] = 6.5;
  world().Advance(Seconds(120));
  EXPECT_EQ(Notes(NoteKind::kKeyCooled), 1U);
  EXPECT_FALSE(SkewNow().keys(0).hot());
}

TEST_F(SkewTest, EntropyFallsWithAHotKeyAndItsLowestIsKept) {
  AllAlike(900);
  Start();
  world().Advance(Seconds(60));
  ASSERT_TRUE(SkewNow().has_entropy_bits());
  EXPECT_NEAR(SkewNow().entropy_bits(), kMostEntropyBits, 0.05);
  keys_ = {{"cart:1", 5'000}};
  world().Advance(Seconds(60));
  const double low = SkewNow().entropy_bits();
  EXPECT_LT(low, 5);
  keys_.clear();
  world().Advance(Seconds(120));
  EXPECT_GT(SkewNow().entropy_bits(), 5.9);
  EXPECT_LE(SkewNow().entropy_lowest_bits(), low);
  EXPECT_NEAR(SkewNow().entropy_highest_bits(), kMostEntropyBits, 0.05);
  world().Advance(Seconds(3'700));
  EXPECT_GT(SkewNow().entropy_lowest_bits(), 5.9) << "an hour is kept";
}

TEST_F(SkewTest, WhatAServerCountedGoesWithItsShardsAndWithTheServer) {
  AllAlike(100);
  Start();
  world().Advance(Seconds(60));
  world().Die("kv-0");
  world().Advance(Seconds(120));
  EXPECT_EQ(state().skew.servers.size(), 3U);
  EXPECT_NEAR(SkewNow().requests_per_s(), 800, 1) << "nothing is counted twice";
  EXPECT_NEAR(SkewNow().server_requests_per_s(), 800.0 / 3, 1);
}

TEST_F(SkewTest, WhatServersSayOfShardsThatAreNotThereOrTwiceCountsForNothing) {
  AllAlike(100);
  Start();
  world().says.traffic = [](const std::string&, ServerReport& report) {
    report.traffic = {.counted_for = Seconds(10), .requests = 1'000};
    report.traffic.shards = {{.shard = "none", .requests = 5'000},
                             {.shard = "s-1", .requests = 500},
                             {.shard = "s-1", .requests = 500}};
    report.traffic.keys.top = {{"key", "none", 500, 0}};
  };
  world().Advance(Seconds(120));
  EXPECT_EQ(SkewNow().keys_size(), 0);
  EXPECT_NEAR(TrafficNow(1).requests_per_s(), 50, 1);
}

TEST_F(SkewTest, ManyHotShardsAreOneEvent) {
  AllAlike(10);
  rates_["s-1"] = rates_["s-2"] = 400;
  Start();
  world().Advance(Seconds(60));
  EXPECT_EQ(SkewNow().shards_hot(), 2U);
  EXPECT_EQ(Notes(NoteKind::kShardHot), 1U);
}

}  // namespace
}  // namespace shardmanager::orchestrator
