#include "base/interner.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "base/dense_id.h"

namespace shardmanager {
namespace {

TEST(InternerTest, GivesIdsFromZeroInOrderOfFirstSight) {
  Interner<ShardIndex> interner;
  EXPECT_EQ(interner.Intern("b").index(), 0u);
  EXPECT_EQ(interner.Intern("a").index(), 1u);
  EXPECT_EQ(interner.Intern("b").index(), 0u);
  EXPECT_EQ(interner.size(), 2u);
}

TEST(InternerTest, FindsOnlyWhatItHasSeen) {
  Interner<ShardIndex> interner;
  const ShardIndex id = interner.Intern("seen");
  EXPECT_EQ(interner.Find("seen"), id);
  EXPECT_FALSE(interner.Find("unseen").valid());
  EXPECT_EQ(interner.size(), 1u) << "Find must not add";
}

TEST(InternerTest, KeepsNamesAtStableAddresses) {
  Interner<ServerIndex> interner;
  const ServerIndex first = interner.Intern("first");
  const std::string* address = &interner.name(first);
  for (int i = 0; i < 10'000; ++i) interner.Intern("server-" + std::to_string(i));
  EXPECT_EQ(&interner.name(first), address);
  EXPECT_EQ(interner.Find("first"), first);
  EXPECT_EQ(interner.name(interner.Find("server-9999")), "server-9999");
}

TEST(InternerTest, CopiesTheName) {
  Interner<ShardIndex> interner;
  std::string name = "users-1";
  const ShardIndex id = interner.Intern(name);
  name = "users-2";
  EXPECT_EQ(interner.name(id), "users-1");
  EXPECT_EQ(interner.Find("users-1"), id);
}

TEST(DenseIdTest, IsInvalidUntilGiven) {
  EXPECT_FALSE(ShardIndex().valid());
  EXPECT_TRUE(ShardIndex(0).valid());
  EXPECT_LT(ShardIndex(1), ShardIndex(2));
}

TEST(DenseIdTest, KeepsShardsAndServersApart) {
  static_assert(!std::is_convertible_v<ShardIndex, ServerIndex>);
  static_assert(!std::is_convertible_v<size_t, ShardIndex>);
  static_assert(sizeof(ShardIndex) == 4);
}

}  // namespace
}  // namespace shardmanager
