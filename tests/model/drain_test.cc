#include "model/drain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardmanager {
namespace {

v1::DrainScope Domain(const std::string& region, const std::string& datacenter = "",
                      const std::string& rack = "") {
  v1::DrainScope scope;
  scope.mutable_domain()->set_region(region);
  scope.mutable_domain()->set_datacenter(datacenter);
  scope.mutable_domain()->set_rack(rack);
  return scope;
}

v1::DrainScope Server(const std::string& name) {
  v1::DrainScope scope;
  scope.set_server(name);
  return scope;
}

// Each name at each level may occur elsewhere, too.
TEST(DrainScopeTest, CoversExactlyWhatIsInsideOfIt) {
  const FaultDomain here{"r1", "d1", "k1"};
  EXPECT_TRUE(Covers(Domain("r1"), "kv-0", here));
  EXPECT_TRUE(Covers(Domain("r1", "d1"), "kv-0", here));
  EXPECT_TRUE(Covers(Domain("r1", "d1", "k1"), "kv-0", here));

  EXPECT_FALSE(Covers(Domain("r2"), "kv-0", here));
  EXPECT_FALSE(Covers(Domain("r2", "d1"), "kv-0", here)) << "d1 of another region";
  EXPECT_FALSE(Covers(Domain("r1", "d2"), "kv-0", here));
  EXPECT_FALSE(Covers(Domain("r2", "d1", "k1"), "kv-0", here)) << "k1 of another region";
  EXPECT_FALSE(Covers(Domain("r1", "d2", "k1"), "kv-0", here)) << "k1 of another datacenter";
  EXPECT_FALSE(Covers(Domain("r1", "d1", "k2"), "kv-0", here));
}

TEST(DrainScopeTest, OfAServerGoesByItsName) {
  EXPECT_TRUE(Covers(Server("kv-0"), "kv-0", {"r1", "d1", "k1"}));
  EXPECT_FALSE(Covers(Server("kv-0"), "kv-1", {"r1", "d1", "k1"}));
}

TEST(DrainScopeTest, IsTheSameOnlyAtTheSameLevel) {
  const std::vector<v1::DrainScope> all = {Server("r1"),
                                           Domain("r1"),
                                           Domain("r1", "d1"),
                                           Domain("r1", "d1", "k1"),
                                           Domain("r1", "d1", "k2"),
                                           Domain("r1", "d2", "k1"),
                                           Domain("r2", "d1", "k1")};
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = 0; b < all.size(); ++b) {
      EXPECT_EQ(SameScope(all[a], all[b]), a == b) << ToString(all[a]) << ", " << ToString(all[b]);
    }
  }
}

TEST(DrainScopeTest, NamesWhatIsAroundARack) {
  EXPECT_TRUE(ValidateScope(Domain("r1", "d1", "k1")).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateScope(Domain("r1", "", "k1"))));
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateScope(Domain("", "d1"))));
}

}  // namespace
}  // namespace shardmanager
