#include "shardmanager/types.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <type_traits>

#include "absl/hash/hash_testing.h"

namespace shardmanager {
namespace {

TEST(NameTest, ConvertsNeitherToNorFromAnythingByAccident) {
  static_assert(!std::is_convertible_v<ShardId, ServerName>);
  static_assert(!std::is_convertible_v<std::string, ShardId>);
  static_assert(!std::is_convertible_v<const char*, ShardId>);
  static_assert(!std::is_constructible_v<ShardId, ServerName>);
}

TEST(NameTest, OrdersByUnsignedBytes) {
  EXPECT_LT(ShardId("a"), ShardId("b"));
  EXPECT_LT(ShardId("z"), ShardId("\xff"));
  EXPECT_EQ(ShardId("a"), ShardId(std::string("a")));
  EXPECT_TRUE(ShardId().empty());
}

TEST(NameTest, PrintsItsValue) {
  std::ostringstream out;
  out << ServerName("kv-3") << " " << ShardEpoch(7);
  EXPECT_EQ(out.str(), "kv-3 7");
}

TEST(NameTest, HashesAsItCompares) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly({ShardId(), ShardId("a"), ShardId("b")}));
}

TEST(NumberTest, KeepsEpochsOfShardsAndLeadersApart) {
  static_assert(!std::is_convertible_v<LeaderEpoch, ShardEpoch>);
  static_assert(!std::is_convertible_v<uint64_t, ShardEpoch>);
  static_assert(!std::is_convertible_v<ShardEpoch, uint64_t>);
}

TEST(NumberTest, ComparesAsUnsigned) {
  EXPECT_LT(ShardEpoch(1), ShardEpoch(uint64_t{1} << 63));
  EXPECT_EQ(ShardEpoch().value(), 0u);
}

TEST(RoleTest, HasAName) {
  EXPECT_EQ(ToString(Role::kPrimary), "primary");
  EXPECT_EQ(ToString(Role::kSecondary), "secondary");
}

TEST(FaultDomainTest, OrdersWidestFirst) {
  EXPECT_LT((FaultDomain{"eu", "z", "z"}), (FaultDomain{"us", "a", "a"}));
  EXPECT_LT((FaultDomain{"eu", "a", "z"}), (FaultDomain{"eu", "b", "a"}));
  EXPECT_EQ((FaultDomain{"eu", "a", "r"}), (FaultDomain{"eu", "a", "r"}));
}

}  // namespace
}  // namespace shardmanager
