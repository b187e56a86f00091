#include "server/handler_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <vector>

#include "server/lanes.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;

// Each method that may take long waits for nobody but its own kind.
TEST(LanesTest, WhatMayWaitForASilentMemberHoldsUpNothingElse) {
  const auto lane = [](CommandKind method, bool adds_member) {
    return LaneOf(HandlerCall{.method = method, .adds_member = adds_member});
  };
  EXPECT_EQ(lane(CommandKind::kSetMembers, true), Lane::kAddMembers);
  EXPECT_EQ(lane(CommandKind::kSetMembers, false), Lane::kRemoveMembers);
  EXPECT_EQ(lane(CommandKind::kChangeRole, false), Lane::kChangeRole);
  EXPECT_EQ(lane(CommandKind::kDrop, false), Lane::kDrop);
}

TEST(LanesTest, AShardThatIsTakenOverDoesNotWaitForOnesThatAreLoaded) {
  EXPECT_EQ(LaneOf({.method = CommandKind::kAdd, .prepared = true}), Lane::kTakeOver);
  EXPECT_EQ(LaneOf({.method = CommandKind::kAdd}), Lane::kAdd);
  EXPECT_EQ(LaneOf({.method = CommandKind::kPrepareAdd}), Lane::kPrepareAdd);
  EXPECT_EQ(LaneOf({.method = CommandKind::kPrepareDrop}), Lane::kPrepareDrop);
}

TEST(HandlerPoolTest, RunsAsManyAtATimeAsItMay) {
  std::latch all_run(3);  // each waits for the others
  HandlerPool pool(3);
  for (int i = 0; i < 3; ++i) pool.Run([&] { all_run.arrive_and_wait(); });
  all_run.wait();
}

TEST(HandlerPoolTest, TheOthersWaitAndRunInOrder) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::latch ended(3);
  std::vector<int> order;  // of the pool's only thread
  HandlerPool pool(1);
  pool.Run([&, released] {
    released.wait();
    order.push_back(0);
  });
  for (int i = 1; i <= 3; ++i) {
    pool.Run([&, i] {
      order.push_back(i);
      ended.count_down();
    });
  }
  release.set_value();
  ended.wait();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

TEST(HandlerPoolTest, StopWaitsForWhatRunsAndLaterTasksAreDropped) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::latch began(1);
  std::atomic<bool> ran = false;
  HandlerPool pool(1);
  pool.Run([&, released] {
    began.count_down();
    released.wait();
    ran = true;
  });
  began.wait();
  std::future<void> stopped = std::async(std::launch::async, [&] { pool.Stop(); });
  release.set_value();
  stopped.get();
  EXPECT_TRUE(ran);
  bool dropped_ran = false;
  pool.Run([&] { dropped_ran = true; });
  pool.Stop();
  EXPECT_FALSE(dropped_ran);
}

TEST(HandlerPoolsTest, NoKindOfCallWaitsForAnother) {
  for (size_t slow = 0; slow < kLanes; ++slow) {
    std::promise<void> release;
    const std::shared_future<void> released = release.get_future().share();
    std::latch began(2);
    HandlerPools pools(2);
    for (int i = 0; i < 2; ++i) {
      pools.Run(Lane(slow), [&, released] {
        began.count_down();
        released.wait();
      });
    }
    began.wait();
    std::latch ended(static_cast<ptrdiff_t>(kLanes) - 1);
    for (size_t other = 0; other < kLanes; ++other) {
      if (other != slow) pools.Run(Lane(other), [&] { ended.count_down(); });
    }
    ended.wait();
    release.set_value();
  }
}

TEST(HandlerPoolTest, FinishWaitsForWhatIsQueuedAndForWhatThatAdds) {
  std::vector<int> order;  // of the pool's only thread
  HandlerPool pool(1);
  pool.Run([&] { order.push_back(1); });
  pool.Run([&] {
    order.push_back(2);
    pool.Run([&] { order.push_back(3); });
  });
  pool.Finish();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  pool.Run([&] { order.push_back(4); });  // dropped
  pool.Finish();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace shardmanager::server
