#include "wire/channel_pool.h"

#include <gtest/gtest.h>

namespace shardmanager::wire {
namespace {

// Nothing listens there, and nothing is sent there.
constexpr char kOne[] = "127.0.0.1:1";
constexpr char kTwo[] = "127.0.0.1:2";
constexpr char kThree[] = "127.0.0.1:3";

TEST(ChannelPoolTest, KeepsAConnectionForEachServerUntilThereAreTooMany) {
  ChannelPool pool(2);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_EQ(pool.Get(kTwo), two);
  EXPECT_EQ(pool.size(), 2u);
}

TEST(ChannelPoolTest, DropsTheOneThatWasNotUsedForLongest) {
  ChannelPool pool(2);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  pool.Get(kOne);
  pool.Get(kThree);
  EXPECT_EQ(pool.size(), 2u);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_NE(pool.Get(kTwo), two);
}

TEST(ChannelPoolTest, DropsServersThatNoMapNames) {
  ChannelPool pool(2);
  const auto one = pool.Get(kOne);
  const auto two = pool.Get(kTwo);
  pool.Drop({kTwo, kThree});
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.Get(kOne), one);
  EXPECT_NE(pool.Get(kTwo), two);
}

}  // namespace
}  // namespace shardmanager::wire
