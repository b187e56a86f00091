#include "runtime/serial_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

#include "runtime/clock.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;

TEST(SerialExecutorTest, RunsTasksInTheOrderPosted) {
  SerialExecutor executor("test");
  std::vector<int> ran;
  for (int i = 0; i < 1'000; ++i) executor.Post([&ran, i] { ran.push_back(i); });
  executor.RunThere([] {});
  ASSERT_EQ(ran.size(), 1'000u);
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(ran[i], i);
}

TEST(SerialExecutorTest, RunsTasksOnItsOwnThreadOneAtATime) {
  SerialExecutor executor("test");
  int running = 0, most = 0;
  std::vector<std::thread> posters;
  for (int t = 0; t < 4; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < 250; ++i) {
        executor.Post([&] {
          EXPECT_TRUE(executor.OnThread());
          most = std::max(most, ++running);
          --running;
        });
      }
    });
  }
  for (auto& poster : posters) poster.join();
  executor.RunThere([] {});
  EXPECT_EQ(most, 1);
  EXPECT_FALSE(executor.OnThread());
}

TEST(SerialExecutorTest, RunsTimedTasksByTimeThenByOrderPosted) {
  SerialExecutor executor("test");
  std::vector<int> ran;
  std::promise<void> done;
  const TimePoint soon = MonotonicNow() + Milliseconds(20);
  executor.PostAt(soon + Milliseconds(5), [&] {
    ran.push_back(4);
    done.set_value();
  });
  executor.PostAt(soon, [&] { ran.push_back(2); });
  executor.PostAt(soon, [&] { ran.push_back(3); });
  executor.Post([&] { ran.push_back(1); });
  done.get_future().wait();
  EXPECT_THAT(ran, ElementsAre(1, 2, 3, 4));
}

TEST(SerialExecutorTest, NeverRunsATimedTaskEarly) {
  SerialExecutor executor("test");
  std::promise<TimePoint> ran_at;
  const TimePoint when = MonotonicNow() + Milliseconds(10);
  executor.PostAt(when, [&] { ran_at.set_value(MonotonicNow()); });
  EXPECT_GE(ran_at.get_future().get(), when);
}

TEST(SerialExecutorTest, RunsATaskWhoseTimeHasPassed) {
  SerialExecutor executor("test");
  std::promise<void> done;
  executor.PostAt(TimePoint(), [&] { done.set_value(); });
  done.get_future().wait();
}

TEST(SerialExecutorTest, StaysUsableWithATaskThatIsNeverDue) {
  SerialExecutor executor("test");
  bool ran = false;
  executor.PostAt(kNever, [&] { ran = true; });
  executor.RunThere([] {});
  EXPECT_FALSE(ran);
}

TEST(SerialExecutorTest, StopFinishesTheRunningTaskAndDestroysTheRest) {
  SerialExecutor executor("test");
  std::promise<void> started, go;
  std::atomic<bool> finished = false, ran = false;
  auto held = std::make_shared<int>(1);
  executor.Post([&] {
    started.set_value();
    go.get_future().wait();
    finished = true;
  });
  executor.Post([&ran, held] { ran = true; });
  executor.PostAt(TimePoint(), [&ran, held] { ran = true; });
  started.get_future().wait();
  EXPECT_GE(executor.backlog(), 1u);
  std::thread stopper([&] { executor.Stop(); });
  // Stopping is visible as soon as new tasks are refused: their captures die at once.
  std::weak_ptr<int> refused;
  do {
    auto probe = std::make_shared<int>(2);
    refused = probe;
    executor.Post([probe] {});
  } while (!refused.expired());
  go.set_value();
  stopper.join();
  EXPECT_TRUE(finished);
  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(SerialExecutorTest, StopTwiceIsFine) {
  SerialExecutor executor("test");
  executor.Stop();
  executor.Stop();
  executor.Post([] { FAIL() << "stopped executors run nothing"; });
}

TEST(SerialExecutorTest, RunThereReturnsAfterTheTasksBeforeItAndItself) {
  SerialExecutor executor("test");
  std::vector<int> order;
  executor.Post([&] { order.push_back(1); });
  bool on_thread = false;
  executor.RunThere([&] {
    order.push_back(2);
    on_thread = executor.OnThread();
  });
  EXPECT_THAT(order, testing::ElementsAre(1, 2));
  EXPECT_TRUE(on_thread);
}

}  // namespace
}  // namespace shardmanager
