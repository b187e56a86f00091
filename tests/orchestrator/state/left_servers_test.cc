#include "orchestrator/state/left_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TimePoint kBegin{Seconds(100)};
const ShardIndex kShard(7);

TEST(LeftServersTest, RemembersForAnHour) {
  LeftServers left;
  left.Left(kShard, ServerIndex(1), kBegin);
  left.Left(kShard, ServerIndex(2), kBegin + Seconds(10));
  EXPECT_THAT(left.Of(kShard), ElementsAre(ServerIndex(1), ServerIndex(2)));
  EXPECT_THAT(left.Of(ShardIndex(8)), IsEmpty());
  EXPECT_FALSE(left.Forget(kBegin + Seconds(3'599)));
  EXPECT_THAT(left.Of(kShard), ElementsAre(ServerIndex(1), ServerIndex(2)));
  EXPECT_TRUE(left.Forget(kBegin + Seconds(3'600)));
  EXPECT_THAT(left.Of(kShard), ElementsAre(ServerIndex(2)));
  EXPECT_TRUE(left.Forget(kBegin + Seconds(3'610)));
  EXPECT_THAT(left.Of(kShard), IsEmpty());
  EXPECT_FALSE(left.Forget(kBegin + Seconds(9'999)));
}

TEST(LeftServersTest, TheLastTimeCountsWhenAServerIsLeftTwice) {
  LeftServers left;
  left.Left(kShard, ServerIndex(1), kBegin);
  left.Left(kShard, ServerIndex(1), kBegin + Seconds(60));
  EXPECT_TRUE(left.Forget(kBegin + Seconds(3'600)));
  EXPECT_THAT(left.Of(kShard), ElementsAre(ServerIndex(1)));
}

TEST(LeftServersTest, ForgetsTheFirstOnesWhereVeryManyMove) {
  LeftServers left;
  for (uint32_t i = 0; i <= LeftServers::kMost; ++i)
    left.Left(ShardIndex(i), ServerIndex(1), kBegin);
  EXPECT_THAT(left.Of(ShardIndex(0)), IsEmpty());
  EXPECT_THAT(left.Of(ShardIndex(1)), ElementsAre(ServerIndex(1)));
  EXPECT_THAT(left.Of(ShardIndex(LeftServers::kMost)), ElementsAre(ServerIndex(1)));
}

}  // namespace
}  // namespace shardmanager::orchestrator
