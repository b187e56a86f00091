// Router::Resolve and Scan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "tests/router/router_fixture.h"

namespace shardmanager::router {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlacesTest : public RouterFixture {
 protected:
  // Shards "0" below g, "1" from g, "2" from n to t, and "3" from x: what is between has none.
  void SetUp() override {
    v1::MapSnapshot whole =
        MakeSnapshot(V(1), {{"kv-1", "one:1", ""}, {"kv-2", "two:2", ""}},
                     {{"0", "", {0}}, {"1", "g", {1}}, {"2", "n", {}}, {"3", "x", {0, 1}}});
    whole.mutable_shards(2)->mutable_range()->set_end("t");
    whole.mutable_shards(3)->mutable_replicas(0)->set_role(v1::SECONDARY);
    hub_.Publish(kApp, whole);
  }
  std::vector<std::string> Scan(const std::string& start, const std::string& end) {
    std::vector<std::string> shards;
    const auto places = router_->Scan("kv", start, end, 20s);
    EXPECT_TRUE(places.ok());
    for (const ShardPlace& place : *places) shards.push_back(place.shard.value());
    return shards;
  }
};

TEST_F(PlacesTest, AKeyIsWhereItsPrimaryIs) {
  const auto middle = router_->Resolve("kv", "hello", 20s);
  ASSERT_TRUE(middle.ok()) << middle.status();
  EXPECT_EQ(middle->shard, ShardId("1"));
  EXPECT_EQ(middle->start, "g");
  EXPECT_EQ(middle->end, "n");
  EXPECT_EQ(middle->server, "kv-2");
  EXPECT_EQ(middle->endpoint, "two:2");
  EXPECT_EQ(router_->Resolve("kv", "zebra", 20s)->server, "kv-2") << "the primary, not the first";
  EXPECT_EQ(router_->Resolve("kv", "orange", 20s)->server, "") << "nobody serves it";
}

TEST_F(PlacesTest, HashedKeysAreResolvedAndNotScanned) {
  v1::MapSnapshot whole = MakeSnapshot(V(2), {{"kv-1", "one:1", ""}, {"kv-2", "two:2", ""}},
                                       {{"low", "", {0}}, {"high", "8", {1}}});
  for (v1::MapShard& shard : *whole.mutable_shards()) {
    *shard.mutable_hash_range() = shard.range();
    shard.clear_range();
  }
  hub_.Publish(kApp, whole);
  ASSERT_TRUE(router_->WaitReady("kv", 20s).ok())
      << "not the first map, which has an unserved shard";
  // The hash of "abc" begins with 4, that of "user:4711" with b.
  EXPECT_EQ(router_->Resolve("kv", "abc", 20s)->shard, ShardId("low"));
  const auto high = router_->Resolve("kv", "user:4711", 20s);
  ASSERT_TRUE(high.ok()) << high.status();
  EXPECT_EQ(high->shard, ShardId("high"));
  EXPECT_EQ(high->endpoint, "two:2");
  EXPECT_EQ(high->start + high->end, "") << "its keys stand everywhere";

  EXPECT_THAT(Scan("", ""), ElementsAre("low", "high"));
  for (const auto& [start, end] : {std::pair("a", ""), std::pair("", "b"), std::pair("a", "b")}) {
    const absl::Status refused = router_->Scan("kv", start, end, 20s).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("kv hashes its keys"));
  }
}

TEST_F(PlacesTest, WithoutPrimariesItIsAtOneOfItsServers) {
  PublishAndAwait(V(2), {1, 0}, {1}, v1::SECONDARY);
  EXPECT_EQ(router_->Resolve("kv", "apple", 20s)->server, "kv-2");
}

TEST_F(PlacesTest, TheLongestTimeoutIsNotOverBeforeItBegins) {
  constexpr auto kLongest = std::chrono::milliseconds::max();
  auto place = std::async(std::launch::async,
                          [&] { return router_->Resolve("mail", "hello", kLongest).status(); });
  auto places = std::async(std::launch::async,
                           [&] { return router_->Scan("mail", "", "", kLongest).status(); });
  auto ready = std::async(std::launch::async, [&] { return router_->WaitReady("mail", kLongest); });
  ASSERT_TRUE(Eventually([&] { return hub_.subscribers() == 1; }));
  hub_.Publish(AppName("mail"), MakeSnapshot(V(1), {{"mail-1", "one:1", ""}}, {{"0", "", {0}}}));
  EXPECT_EQ(place.get(), absl::OkStatus());
  EXPECT_EQ(places.get(), absl::OkStatus());
  EXPECT_EQ(ready.get(), absl::OkStatus());
  constexpr auto kShortest = std::chrono::milliseconds::min();
  EXPECT_EQ(router_->Resolve("news", "hello", kShortest).status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(router_->WaitReady("news", kShortest).code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(PlacesTest, WhereThereIsNoneItSaysWhy) {
  const absl::Status gap = router_->Resolve("kv", "uvw", 20s).status();
  EXPECT_EQ(gap.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(gap.message()),
              HasSubstr("kv: no shard holds the key \"uvw\" in map 1.1"));
  const absl::Status none = router_->Resolve("mail", "apple", 20ms).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(none.message()), HasSubstr("mail: no shard map has come within 20 ms"));
  Router without({});
  EXPECT_EQ(without.Resolve("kv", "apple", 60s).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(without.Scan("kv", "", "", 60s).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PlacesTest, AScanHasTheShardsOfARangeInKeyOrder) {
  EXPECT_THAT(Scan("", ""), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(Scan("h", "o"), ElementsAre("1", "2"));
  EXPECT_THAT(Scan("g", "n"), ElementsAre("1")) << "the end is not in it";
  EXPECT_THAT(Scan("g", std::string("n\0", 2)), ElementsAre("1", "2"));
  EXPECT_THAT(Scan("s", ""), ElementsAre("2", "3"));
  EXPECT_THAT(Scan("t", "x"), IsEmpty()) << "no shard has these keys";
  EXPECT_THAT(Scan("u", "xx"), ElementsAre("3"));
  EXPECT_THAT(Scan("k", "k"), IsEmpty());
  EXPECT_THAT(Scan("n", "g"), IsEmpty());
}

TEST_F(PlacesTest, KeyOrderIsNotTheOrderOfTheMap) {
  v1::MapSnapshot whole = MakeSnapshot(V(2), {}, {{"low", "", {}}, {"high", "m", {}}});
  whole.mutable_shards(0)->mutable_range()->set_start("m");
  whole.mutable_shards(0)->mutable_range()->set_end("");
  whole.mutable_shards(1)->mutable_range()->set_start("");
  whole.mutable_shards(1)->mutable_range()->set_end("m");
  ASSERT_TRUE(router_->Scan("kv", "", "", 20s).ok());
  hub_.Publish(kApp, whole);
  ASSERT_TRUE(Eventually([&] { return router_->stats().map_updates >= 2; }));
  EXPECT_THAT(Scan("", ""), ElementsAre("high", "low"));
}

}  // namespace
}  // namespace shardmanager::router
