#include "server/handler_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <mutex>
#include <vector>

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;

TEST(HandlerPoolTest, RunsSoManyAtATimeAndTheOthersInOrder) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::latch began(2);
  std::latch ended(3);
  std::mutex mutex;
  std::vector<int> order;
  HandlerPool pool(2);
  for (int i = 0; i < 2; ++i) {
    pool.Run([&, released] {
      began.count_down();
      released.wait();
    });
  }
  began.wait();
  for (int i = 0; i < 3; ++i) {
    pool.Run([&, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
      ended.count_down();
    });
  }
  {
    const std::lock_guard lock(mutex);
    EXPECT_THAT(order, ElementsAre()) << "both threads are taken";
  }
  release.set_value();
  ended.wait();
  EXPECT_EQ(order.size(), 3u);
}

TEST(HandlerPoolTest, StopWaitsForWhatRunsAndDropsTheRest) {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::latch began(1);
  std::atomic<bool> ran = false;
  std::atomic<bool> dropped_ran = false;
  HandlerPool pool(1);
  pool.Run([&, released] {
    began.count_down();
    released.wait();
    ran = true;
  });
  began.wait();
  pool.Run([&] { dropped_ran = true; });
  std::future<void> stopped = std::async(std::launch::async, [&] { pool.Stop(); });
  release.set_value();
  stopped.get();
  EXPECT_TRUE(ran);
  pool.Run([&] { dropped_ran = true; });
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

}  // namespace
}  // namespace shardmanager::server
