#include "base/time.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "base/state_machine.h"

namespace shardmanager {
namespace {

template <typename T>
concept HasNow = requires {
  T::now();
};

TEST(TimeTest, CoresHaveNoWayToAskForTheTime) { static_assert(!HasNow<CoreClock>); }

TEST(TimeTest, CountsMicroseconds) {
  EXPECT_EQ(Milliseconds(3).count(), 3'000);
  EXPECT_EQ(Seconds(3), Milliseconds(3'000));
}

TEST(TimeTest, NeverIsLaterThanAnyTime) { EXPECT_GT(kNever, TimePoint(Seconds(1'000'000'000))); }

TEST(OutputTest, AsksForNothingByDefault) {
  const Output<int> output;
  EXPECT_TRUE(output.actions.empty());
  EXPECT_EQ(output.next_wake, kNever);
}

}  // namespace
}  // namespace shardmanager
