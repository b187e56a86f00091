// Thousands of small worlds: never a lost and never a phantom row, whoever crashes when.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "tests/transfer/transfer_world.h"

namespace shardmanager::transfer {
namespace {

constexpr int kSteps = 5'000;

TEST(SimulatedTransferTest, NeverServesALostOrPhantomRowAndServesInTheEnd) {
  uint64_t moves = 0, crashes = 0, writes = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    TransferWorld world(seed);
    ASSERT_EQ(world.Run(kSteps), "") << "seed " << seed;
    moves += world.moves();
    crashes += world.crashes();
    writes += world.writes();
  }
  // It was worth the name.
  EXPECT_GT(moves, 1'000u);
  EXPECT_GT(crashes, 1'000u);
  EXPECT_GT(writes, 10'000u);
}

TEST(SimulatedTransferTest, SameSeedSameWorld) {
  TransferWorld first(7), second(7);
  EXPECT_EQ(first.Run(kSteps), second.Run(kSteps));
  EXPECT_EQ(first.writes(), second.writes());
  EXPECT_EQ(first.moves(), second.moves());
}

}  // namespace
}  // namespace shardmanager::transfer
