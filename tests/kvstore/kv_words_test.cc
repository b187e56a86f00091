// What `kv` says and computes; its calls are tried in tests/integration/operating.
#include <chrono>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "latencies.h"
#include "load.h"
#include "words.h"

namespace kvstore {
namespace {

using shardmanager::ShardId;
using shardmanager::ShardPlace;
using std::chrono::microseconds;
using ::testing::HasSubstr;

TEST(KvWordsTest, KeysInHexadecimalAreBytesOrRefused) {
  EXPECT_EQ(*FromHex("75F0"), "\x75\xf0");
  EXPECT_EQ(*FromHex(""), "");
  for (const char* bad : {"7", "75f", "zz", "0x75"}) {
    EXPECT_THAT(std::string(FromHex(bad).status().message()),
                HasSubstr("is not a key in hexadecimal"))
        << bad;
  }
}

TEST(KvWordsTest, EndpointsHaveAHostAndAPort) {
  EXPECT_EQ(EndpointError("127.0.0.1:7400"), "");
  EXPECT_EQ(EndpointError("[::1]:65535"), "");
  for (const char* bad : {"", "host", ":7400", "host:", "host:0", "host:65536", "host:x"}) {
    EXPECT_THAT(EndpointError(bad), HasSubstr("allowed: HOST:PORT")) << bad;
  }
}

TEST(KvWordsTest, ExitCodesTellWhatToDoNext) {
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("")), 4);
  EXPECT_EQ(ExitCodeOf(absl::DeadlineExceededError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("")), 3);
  EXPECT_EQ(ExitCodeOf(absl::FailedPreconditionError("")), 1);
}

TEST(KvWordsTest, LatenciesAreExactToOnePercent) {
  Latencies latencies, others;
  for (int us = 1; us <= 5'000; ++us) latencies.Add(microseconds(us));
  for (int us = 5'001; us <= 10'000; ++us) others.Add(microseconds(us));
  latencies.Add(others);
  EXPECT_EQ(latencies.count(), 10'000u);
  for (const double part : {0.1, 0.5, 0.9, 0.99, 0.999}) {
    const double wanted = part * 10'000;
    EXPECT_NEAR(static_cast<double>(latencies.At(part).count()), wanted, wanted / 100 + 1) << part;
  }
  EXPECT_EQ(latencies.At(1), microseconds(10'000));
  EXPECT_EQ(latencies.longest(), microseconds(10'000));
  EXPECT_EQ(Latencies().At(0.5), microseconds(0));
}

TEST(KvWordsTest, KeysOfALoadAreSpreadEquallyOverTheShardsThatTakeThem) {
  const std::vector<ShardPlace> shards = {{.shard = ShardId("first"), .end = "g"},
                                          {.shard = ShardId("narrow"), .start = "g", .end = "g!"},
                                          {.shard = ShardId("last"), .start = "g!"}};
  const auto keys = LoadKeys(shards, {.clients = 2, .keys = 10, .name = "load"});
  ASSERT_TRUE(keys.ok()) << keys.status();
  std::map<std::string, int> of;
  for (const std::string& key : *keys) {
    for (const ShardPlace& shard : shards) {
      if (key >= shard.start && (shard.end.empty() || key < shard.end)) ++of[shard.shard.value()];
    }
  }
  EXPECT_THAT(of, ::testing::ElementsAre(std::pair("first", 5), std::pair("last", 5)));
  EXPECT_EQ(LoadKeys({}, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST(KvWordsTest, ReportSaysWhatFailedAndWhatWasLost) {
  LoadReport report, other;
  report.puts = 2;
  report.failures[absl::StatusCode::kUnavailable] = {1, "the connection broke"};
  other.gets = 6;
  other.failures[absl::StatusCode::kUnavailable] = {1, "it broke again"};
  other.lost = 1;
  other.lost_key = "b.load-1";
  other.latencies.Add(microseconds(1'500));
  report.Add(other);
  report.seconds = 2;
  EXPECT_FALSE(report.good());
  EXPECT_EQ(ReportText(report),
            "10 calls in 2.0 s, 5 a second: 2 puts, 6 gets, 2 failed\n"
            "latency: 50% 1.50 ms, 90% 1.50 ms, 99% 1.50 ms, 99.9% 1.50 ms, longest 1.50 ms\n"
            "failed with UNAVAILABLE: 2, the first: the connection broke\n"
            "acknowledged puts that a get did not find: 1, one of them of the key b.load-1\n");
}

}  // namespace
}  // namespace kvstore
