#include "coordination/paths.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace shardmanager {
namespace {

const AppName kApp("kv");
const ServerName kServer("kv-3");

TEST(PathsTest, FollowTheTreeDrawnInStoredProto) {
  const Paths paths("cell");
  EXPECT_EQ(paths.root(), "/cell");
  EXPECT_EQ(paths.config(), "/cell/config");
  EXPECT_EQ(paths.leader_epoch(), "/cell/leader/epoch");
  EXPECT_EQ(paths.leader_holder(), "/cell/leader/holder");
  EXPECT_EQ(paths.spec(kApp), "/cell/apps/kv/spec");
  EXPECT_EQ(Paths::bucket(paths.live(kApp), 7), "/cell/apps/kv/live/007");
}

TEST(PathsTest, RecordsOfOneServerShareABucket) {
  const Paths paths("cell");
  const uint32_t bucket = BucketOf(kServer.value(), 64);
  EXPECT_EQ(paths.server(kApp, kServer, 64), Paths::bucket(paths.servers(kApp), bucket) + "/kv-3");
  EXPECT_EQ(paths.assignment(kApp, kServer, 64),
            Paths::bucket(paths.assignments(kApp), bucket) + "/kv-3");
  EXPECT_EQ(paths.live(kApp, kServer, Incarnation(9), 64),
            Paths::bucket(paths.live(kApp), bucket) + "/kv-3@9");
}

// The bucket of a name is part of the stored format: it must never change.
TEST(PathsTest, BucketOfANameNeverChanges) {
  EXPECT_EQ(BucketOf("kv-1", 1u << 31), 375328951u);
  EXPECT_EQ(BucketOf("kv-1", 64), 55u);                   // as stored.proto says
  EXPECT_EQ(BucketOf("", 64), 0xef46db3751d8e999u % 64);  // XXH64 of nothing
}

TEST(PathsTest, NamesSpreadOverAllBuckets) {
  std::set<uint32_t> used;
  for (int i = 0; i < 1'000; ++i) used.insert(BucketOf("server-" + std::to_string(i), 64));
  EXPECT_EQ(used.size(), 64u);
}

TEST(PathsTest, LiveNameIsTakenApartAtItsLastAt) {
  const auto plain = ParseLiveName("kv-3@12");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->server, kServer);
  EXPECT_EQ(plain->incarnation, Incarnation(12));
  const auto odd = ParseLiveName("kv@eu@18446744073709551615");
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->server, ServerName("kv@eu"));
  EXPECT_EQ(odd->incarnation.value(), UINT64_MAX);
}

TEST(PathsTest, LiveNamesMayHaveAProof) {
  const LiveName name{kServer, Incarnation(12), "0af3"};
  const std::string path = Paths("prod").live(kApp, name, 64);
  EXPECT_EQ(path.substr(path.rfind('/')), "/kv-3@12.0af3");
  EXPECT_EQ(ParseLiveName("kv-3@12.0af3"), name);
  EXPECT_EQ(ParseLiveName("kv-3@12"), (LiveName{kServer, Incarnation(12)}));
}

TEST(PathsTest, RefusesLiveNamesThatAreNone) {
  for (const char* name : {"", "kv-3", "@1", "kv-3@", "kv-3@x", "kv-3@1x", "kv-3@1.", "kv-3@-1",
                           "kv-3@ 1", "kv-3@18446744073709551616"}) {
    EXPECT_FALSE(ParseLiveName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace shardmanager
