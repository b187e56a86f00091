// From which regions requests come, as a server counts it.
#include "server/shards/request_regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(RequestRegionsTest, CountsSinceTheLastLookByShardAndRegion) {
  RequestRegions requests;
  requests.Count("a", "eu");
  requests.Count("a", "us");
  requests.Count("a", "eu");
  requests.Count("b", "us");
  EXPECT_THAT(requests.Take("a"), ElementsAre(Pair("eu", 2), Pair("us", 1)));
  EXPECT_THAT(requests.Take("a"), IsEmpty());
  EXPECT_THAT(requests.Take("b"), ElementsAre(Pair("us", 1)));
}

TEST(RequestRegionsTest, NamesThatAreTooManyTooLongOrEmptyCountForNothing) {
  RequestRegions requests;
  for (int i = 0; i < 1'000; ++i) requests.Count("a", absl::StrCat("r", i));
  requests.Count("a", "");
  EXPECT_EQ(requests.Take("a").size(), RequestRegions::kMostRegions);
  requests.Count("a", std::string(64, 'x'));
  EXPECT_THAT(requests.Take("a"), IsEmpty());
  requests.Count("a", std::string(63, 'x'));
  EXPECT_EQ(requests.Take("a").size(), 1U);
}

TEST(RequestRegionsTest, ThreadsLoseNoCount) {
  constexpr int kThreads = 4;
  constexpr int kEach = 4'000;
  RequestRegions requests;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) requests.Count("a", absl::StrCat("r", i % 8));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto taken = requests.Take("a");
  EXPECT_EQ(taken.size(), 8U);
  for (const auto& [region, count] : taken) {
    EXPECT_EQ(count, static_cast<uint64_t>(kThreads) * kEach / 8) << region;
  }
}

}  // namespace
}  // namespace shardmanager::server
