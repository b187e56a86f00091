#include "runtime/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace shardmanager {
namespace {

using std::chrono::milliseconds;

TEST(StopSignalsTest, WaitReturnsTheSignal) {
  for (int signal : {SIGTERM, SIGINT}) {
    StopSignals stop;
    auto waiting = std::async(std::launch::async, [&] { return stop.Wait(); });
    kill(getpid(), signal);
    EXPECT_EQ(waiting.get(), signal);
  }
}

TEST(StopSignalsTest, RemembersASignalThatCameBeforeTheWait) {
  StopSignals stop;
  raise(SIGTERM);
  EXPECT_EQ(stop.Wait(), SIGTERM);
  EXPECT_EQ(stop.Wait(), SIGTERM) << "every wait sees it";
}

TEST(StopSignalsTest, RequestStopWakesAllWhoWait) {
  StopSignals stop;
  auto one = std::async(std::launch::async, [&] { return stop.Wait(); });
  auto two = std::async(std::launch::async, [&] { return stop.Wait(); });
  stop.RequestStop();
  EXPECT_EQ(one.get(), 0);
  EXPECT_EQ(two.get(), 0);
}

TEST(StopSignalsTest, WaitForGivesUp) {
  StopSignals stop;
  EXPECT_EQ(stop.WaitFor(milliseconds(5)), std::nullopt);
}

TEST(StopSignalsDeathTest, ASecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        StopSignals stop;
        raise(SIGTERM);
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, PutsTheFormerHandlersBack) {
  EXPECT_EXIT(
      {
        { StopSignals stop; }
        raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, RefusesASecondOne) {
  StopSignals first;
  EXPECT_DEATH(StopSignals second, "there is one already");
}

}  // namespace
}  // namespace shardmanager
