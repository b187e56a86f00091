#include "allocator/move_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace shardmanager::allocator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kNew = UINT32_MAX;  // a replica that is made

Move From(uint32_t from, uint32_t to, MoveReason reason = MoveReason::kBalance) {
  return {ShardIndex(7), from == kNew ? ServerIndex() : ServerIndex(from), ServerIndex(to),
          Role::kSecondary, reason};
}

std::vector<std::string> Joined(std::vector<Move> moves, size_t first = 0) {
  JoinChains(moves, first);
  std::vector<std::string> out;
  for (const Move& move : moves) {
    out.push_back(absl::StrCat(move.from.valid() ? absl::StrCat(move.from.index()) : "new", "-",
                               move.to.index(), " ", std::string(ToString(move.reason))));
  }
  return out;
}

TEST(MoveChainsTest, OfAChainTheEndsAreLeftWithTheReasonOfItsBeginning) {
  EXPECT_THAT(Joined({From(5, 3, MoveReason::kConstraint), From(1, 5, MoveReason::kMaintenance)}),
              ElementsAre("1-3 its server is to be emptied"));
  EXPECT_THAT(Joined({From(1, 5, MoveReason::kMaintenance), From(5, 3, MoveReason::kConstraint)}),
              ElementsAre("1-3 its server is to be emptied"));
  EXPECT_THAT(Joined({From(2, 3), From(3, 4), From(1, 2, MoveReason::kSpread)}),
              ElementsAre("1-4 spread"));
  EXPECT_THAT(Joined({From(kNew, 2), From(2, 3)}), ElementsAre("new-3 balance"));
}

TEST(MoveChainsTest, OfARoundNothingIsLeft) {
  EXPECT_THAT(Joined({From(1, 2), From(2, 1)}), IsEmpty());
  EXPECT_THAT(Joined({From(1, 2), From(2, 3), From(3, 1), From(4, 5)}), ElementsAre("4-5 balance"));
}

TEST(MoveChainsTest, MovesThatDoNotFollowOneAnotherAreLeftAsTheyAre) {
  EXPECT_THAT(Joined({From(1, 2), From(3, 4)}), ElementsAre("1-2 balance", "3-4 balance"));
  EXPECT_THAT(Joined({From(1, 2), From(2, 3), From(4, 1)}, 1),
              ElementsAre("1-2 balance", "2-3 balance", "4-1 balance"))
      << "the first one is of another shard";
}

}  // namespace
}  // namespace shardmanager::allocator
