// Where a search looks for room.
#include "allocator/solver/target_index.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

// Places worth a look in an empty fleet of five servers a rack; of an object that is to be in one
// of the racks, if `wishes`.
size_t OffersWith(uint32_t racks, bool wishes = false) {
  SmallFleet fleet;
  for (uint32_t s = 0; s < 5 * racks; ++s) fleet.Server(9, s / 5);
  const Problem p = fleet.Objects({{{1}}}).Make();
  Model model(p);
  EXPECT_TRUE(model.AddGoal(SpreadSpec{.scope = "rack"}, {}).ok());
  AffinitySpec first{.scope = "rack", .domain = {}, .objects_of_group = {}};
  first.domain.push_back(wishes ? DomainId(0) : DomainId());
  EXPECT_TRUE(model.AddGoal(first, {}).ok());
  const State state(model);
  TargetIndex targets(state, /*grouped=*/true, /*seed=*/1);
  std::vector<TargetIndex::Target> offers;
  targets.Sample(ObjectId(0), ContainerId(), offers);
  return offers.size();
}

TEST(TargetIndexTest, LooksAtNoFewerPlacesAndNoMoreWhereThereAreManyRacks) {
  EXPECT_EQ(OffersWith(9), OffersWith(8));
  EXPECT_EQ(OffersWith(50), OffersWith(8));
}

// Where all racks are looked at, the one that is wished for is among them.
TEST(TargetIndexTest, AWishIsLookedForWhereOnlySomeOfManyRacksAre) {
  EXPECT_EQ(OffersWith(8, /*wishes=*/true), OffersWith(8));
  EXPECT_GT(OffersWith(50, /*wishes=*/true), OffersWith(50));
}

}  // namespace
}  // namespace shardmanager::solver
