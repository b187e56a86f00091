// What a server tells of its requests: by shard, and the keys that are asked for most.
#include "server/traffic/traffic_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "runtime/clock.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

class TrafficReportTest : public ::testing::Test {
 protected:
  TrafficReportTest() {
    table_.SetLease(MonotonicNow() + Seconds(3'600));
    for (const char* shard : {"a", "b"}) {
      table_.Open(ShardId(shard), Role::kPrimary, ShardEpoch(5));
    }
  }

  ShardCounts& Counts(const std::string& shard) { return table_.Find(shard)->counts(); }
  // The answer to a collection so long after the start, of both shards.
  v1::CollectLoadResponse Tell(Duration at) {
    v1::CollectLoadResponse response;
    response.add_shards()->set_shard("a");
    response.add_shards()->set_shard("b");
    response.add_shards()->set_shard("never-here");
    report_.Tell(TimePoint(at), response);
    return response;
  }

  AdmissionTable table_{[](const ShardId&) {}};
  TrafficReport report_{table_, TimePoint(Duration(0))};
};

TEST_F(TrafficReportTest, CountsRequestsErrorsAndTimesSinceTheLastAnswer) {
  for (int i = 0; i < 40; ++i) Counts("a").Admitted();
  Counts("a").Failed();
  Counts("a").Took(Duration(100));
  Counts("a").Took(Duration(100));
  const v1::CollectLoadResponse first = Tell(Seconds(30));
  EXPECT_EQ(first.counted_ms(), 30'000U);
  EXPECT_EQ(first.requests(), 40U);
  ASSERT_EQ(first.traffic_size(), 1);
  EXPECT_EQ(first.traffic(0).shard(), "a");
  EXPECT_EQ(first.traffic(0).requests(), 40U);
  EXPECT_EQ(first.traffic(0).errors(), 1U);
  EXPECT_THAT(first.traffic(0).times(), ElementsAre(0, 2));
  EXPECT_FALSE(first.has_keys());
  const v1::CollectLoadResponse second = Tell(Seconds(40));
  EXPECT_EQ(second.counted_ms(), 10'000U);
  EXPECT_EQ(second.requests(), 0U);
  EXPECT_EQ(second.traffic_size(), 0);
}

TEST_F(TrafficReportTest, TellsOfTheBusiestShardsAndOfThoseWithTheMostErrors) {
  v1::CollectLoadResponse response;
  for (int i = 0; i < 100; ++i) {
    const std::string shard = absl::StrCat("s-", i);
    table_.Open(ShardId(shard), Role::kPrimary, ShardEpoch(5));
    response.add_shards()->set_shard(shard);
    for (int n = 0; n <= i; ++n) Counts(shard).Admitted();
    for (int n = 0; i < 10 && n <= i; ++n) Counts(shard).Failed();
  }
  report_.Tell(TimePoint(Seconds(30)), response);
  EXPECT_EQ(response.requests(), 5'050U);
  std::vector<std::string> told;
  for (const v1::ShardTraffic& shard : response.traffic()) told.push_back(shard.shard());
  std::vector<std::string> expected;
  for (int i = 94; i < 100; ++i) expected.push_back(absl::StrCat("s-", i));
  for (int i = 8; i < 10; ++i) expected.push_back(absl::StrCat("s-", i));
  EXPECT_THAT(told, UnorderedElementsAreArray(expected));
}

TEST_F(TrafficReportTest, OneRequestInSixteenIsTimed) {
  int timed = 0;
  for (int i = 0; i < 160; ++i) timed += Counts("a").Admitted();
  EXPECT_EQ(timed, 10);
}

TEST_F(TrafficReportTest, NamesTheMostFrequentKeys) {
  for (int i = 0; i < 1'000; ++i) {
    report_.Count(absl::StrCat("rare:", i), "b");
    if (i % 4 == 0) report_.Count("hot", "a");
  }
  report_.Count("", "a");
  report_.Count(std::string(request_metadata::kLongestNamedKey + 1, 'x'), "a");
  const v1::KeySample keys = Tell(Seconds(30)).keys();
  EXPECT_EQ(keys.requests(), 1'250U);
  EXPECT_EQ(keys.one_in(), 64U);
  ASSERT_EQ(keys.top_size(), static_cast<int>(TrafficReport::kKeysTold));
  EXPECT_EQ(keys.top(0).key(), "hot");
  EXPECT_EQ(keys.top(0).shard(), "a");
  EXPECT_GE(keys.top(0).count(), 250U);
  EXPECT_LE(keys.top(0).count() - keys.top(0).error(), 250U);
  uint64_t all = 0;
  for (const uint32_t part : keys.by_hash()) all += part;
  EXPECT_EQ(keys.by_hash_size(), static_cast<int>(kHashParts));
  EXPECT_EQ(all, 1'250U);
  EXPECT_FALSE(Tell(Seconds(60)).has_keys()) << "it begins anew";
}

TEST_F(TrafficReportTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 4;
  constexpr int kEach = 4'000;
  std::vector<std::thread> threads;
  uint64_t told = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        Counts("a").Admitted();
        report_.Count("key", "a");
      }
    });
  }
  uint64_t keys = 0;
  const auto add = [&](const v1::CollectLoadResponse& response) {
    for (const v1::ShardTraffic& shard : response.traffic()) told += shard.requests();
    EXPECT_EQ(response.requests(),
              response.traffic_size() == 0 ? 0 : response.traffic(0).requests());
    keys += response.keys().requests();
  };
  for (int i = 0; i < 20; ++i) add(Tell(Seconds(i)));
  for (std::thread& thread : threads) thread.join();
  add(Tell(Seconds(60)));
  EXPECT_EQ(told, static_cast<uint64_t>(kThreads) * kEach);
  EXPECT_EQ(keys, static_cast<uint64_t>(kThreads) * kEach);
}

}  // namespace
}  // namespace shardmanager::server
