// What a model knows of its problem.
#include "allocator/solver/model.h"

#include <gtest/gtest.h>

#include "tests/allocator/solver/small_fleet.h"

namespace shardmanager::solver {
namespace {

TEST(ModelTest, TotalLoadIsThatOfAllObjectsAndOfWhatTheProblemLeavesOut) {
  Problem p = SmallFleet({"cpu", "memory"})
                  .Server(100)
                  .Server(100)
                  .Objects({{{1, 10}, 0}, {{2, 20}}})
                  .Make();
  p.base_usage = {4, 40, 8, 80};
  const Model model(p);
  EXPECT_EQ(model.TotalLoad(MetricId(0)), 1 + 2 + 4 + 8);
  EXPECT_EQ(model.TotalLoad(MetricId(1)), 10 + 20 + 40 + 80);
}

}  // namespace
}  // namespace shardmanager::solver
