#include "history/folding.h"

#include <gtest/gtest.h>

#include "tests/history/events.h"

namespace shardmanager::history {
namespace {

TEST(FoldingTest, TheFirstFewAreKeptOneByOneAndThoseAfterThemInOneRow) {
  Folding folding;
  for (uint64_t i = 1; i <= 4; ++i) {
    EXPECT_EQ(folding.RowFor(Event(1, i, "CommandFailed")), std::nullopt) << i;
  }
  EXPECT_EQ(folding.RowFor(Event(1, 5, "CommandFailed")), (Position{1, 4}));
  EXPECT_EQ(folding.RowFor(Event(1, 6, "CommandFailed", "kv", "kv-1")), std::nullopt)
      << "of a server, of which there was none yet";
  EXPECT_EQ(folding.RowFor(Event(1, 7, "CommandFailed")), (Position{1, 4}));
}

TEST(FoldingTest, BeginsAnewAfterAPauseAndEveryHour) {
  Folding folding;
  v1::ControlEvent event = Event(1, 0, "CommandFailed");
  const auto next = [&](int64_t later_ms) {
    event.mutable_position()->set_sequence(event.position().sequence() + 1);
    event.set_time_ms(event.time_ms() + later_ms);
    return folding.RowFor(event);
  };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(next(1), std::nullopt);
  EXPECT_EQ(next(1), (Position{1, 4}));
  EXPECT_EQ(next(Folding::kPauseMs), std::nullopt) << "it paused";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(next(1), std::nullopt);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(next(Folding::kPauseMs - 1), (Position{1, 9}));
  EXPECT_EQ(next(Folding::kPauseMs - 1), std::nullopt) << "the row is an hour long";
  EXPECT_EQ(next(1), (Position{1, 16}));
}

TEST(FoldingTest, ChangesThatPeopleAskedForAreNeverFolded) {
  Folding folding;
  for (uint64_t i = 1; i <= 20; ++i) {
    EXPECT_EQ(folding.RowFor(Event(1, i, std::string(kChangeKind))), std::nullopt);
  }
}

TEST(FoldingTest, GoesOnWithARowThatWasHeard) {
  Folding folding;
  v1::ControlEvent row = Event(3, 10, "CommandFailed");
  row.set_count(5);
  row.set_last_sequence(20);
  row.set_last_ms(row.time_ms() + 10);
  folding.Heard(row);
  EXPECT_EQ(folding.RowFor(Event(3, 21, "CommandFailed")), (Position{3, 10}));
  EXPECT_EQ(folding.RowFor(Event(4, 1, "CommandFailed")), std::nullopt) << "of another leader";
}

}  // namespace
}  // namespace shardmanager::history
