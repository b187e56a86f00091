// Where a search looks for room.
#include "allocator/solver/target_index.h"

#include <gtest/gtest.h>

#include "allocator/solver/specs/all.h"
#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

// Places worth a look in an empty fleet of five servers a rack.
size_t OffersWith(uint32_t racks) {
  SmallFleet fleet;
  for (uint32_t s = 0; s < 5 * racks; ++s) fleet.Server(9, s / 5);
  const Problem p = fleet.Objects({{{1}}}).Make();
  Model model(p);
  EXPECT_TRUE(model.AddGoal(SpreadSpec{.scope = "rack"}, {}).ok());
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

}  // namespace
}  // namespace shardmanager::solver
