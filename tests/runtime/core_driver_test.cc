#include "runtime/core_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <variant>
#include <vector>

#include "runtime/clock.h"
#include "runtime/serial_executor.h"

namespace shardmanager {
namespace {

using ::testing::ElementsAre;

struct SetAlarm {
  TimePoint when;
};
struct Ping {
  int number;
};
struct Pong {
  int number;
};
struct Ring {
  TimePoint now;
};

// Answers pings; rings when an alarm is due, as late as the first advance after it.
class AlarmCore {
 public:
  using Event = std::variant<SetAlarm, Ping>;
  using Action = std::variant<Pong, Ring>;

  Output<Action> OnEvent(TimePoint now, Event event) {
    EXPECT_GE(now, last_now_) << "time must not go back";
    last_now_ = now;
    if (auto* alarm = std::get_if<SetAlarm>(&event)) {
      alarm_ = alarm->when;
      return {{}, alarm_};
    }
    const int number = std::get<Ping>(event).number;
    return {{Pong{number}, Pong{number + 100}}, alarm_};
  }

  Output<Action> OnAdvance(TimePoint now) {
    ++advances_;
    if (now < alarm_) return {{}, alarm_};
    alarm_ = kNever;
    return {{Ring{now}}, kNever};
  }

  int advances() const { return advances_; }

 private:
  TimePoint alarm_ = kNever;
  TimePoint last_now_;
  int advances_ = 0;
};

class CoreDriverTest : public ::testing::Test {
 protected:
  ~CoreDriverTest() override { executor_.Stop(); }

  void Perform(AlarmCore::Action& action) {
    EXPECT_TRUE(executor_.OnThread());
    if (auto* pong = std::get_if<Pong>(&action)) pongs_.push_back(pong->number);
    if (auto* ring = std::get_if<Ring>(&action)) rings_.push_back(ring->now);
    if (std::holds_alternative<Ring>(action)) rung_.set_value();
  }

  template <typename F>
  auto OnExecutor(F f) {
    std::promise<decltype(f())> result;
    executor_.Post([&] { result.set_value(f()); });
    return result.get_future().get();
  }
  int Advances() {
    return OnExecutor([&] { return driver_.core().advances(); });
  }

  SerialExecutor executor_{"test"};
  std::vector<int> pongs_;
  std::vector<TimePoint> rings_;
  std::promise<void> rung_;
  CoreDriver<AlarmCore> driver_{executor_, AlarmCore(),
                                [this](AlarmCore::Action& action) { Perform(action); }};
};

TEST_F(CoreDriverTest, CarriesOutActionsInOrder) {
  driver_.Post(Ping{1});
  driver_.Post(Ping{2});
  Advances();
  EXPECT_THAT(pongs_, ElementsAre(1, 101, 2, 102));
}

TEST_F(CoreDriverTest, WakesTheCoreWhenItAskedAndNotEarlier) {
  const TimePoint when = MonotonicNow() + Milliseconds(20);
  driver_.Post(SetAlarm{when});
  rung_.get_future().wait();
  ASSERT_EQ(rings_.size(), 1u);
  EXPECT_GE(rings_[0], when);
  EXPECT_EQ(Advances(), 1);
}

TEST_F(CoreDriverTest, WakesEarlierWhenTheCoreChangesItsMind) {
  driver_.Post(SetAlarm{MonotonicNow() + Seconds(3'600)});
  driver_.Post(SetAlarm{MonotonicNow() + Milliseconds(5)});
  rung_.get_future().wait();
  EXPECT_EQ(rings_.size(), 1u);
}

TEST_F(CoreDriverTest, ALaterAlarmStillRingsAfterASpuriousWake) {
  const TimePoint later = MonotonicNow() + Milliseconds(30);
  driver_.Post(SetAlarm{MonotonicNow() + Milliseconds(5)});
  driver_.Post(SetAlarm{later});  // the timer for the first stays: a spurious wake
  rung_.get_future().wait();
  ASSERT_EQ(rings_.size(), 1u);
  EXPECT_GE(rings_[0], later);
}

TEST_F(CoreDriverTest, ManyEventsWithOneAlarmWakeTheCoreOnce) {
  driver_.Post(SetAlarm{MonotonicNow() + Milliseconds(30)});
  for (int i = 0; i < 1'000; ++i) driver_.Post(Ping{i});
  rung_.get_future().wait();
  EXPECT_EQ(Advances(), 1);
}

TEST_F(CoreDriverTest, SleepsWhileTheCoreAsksForNothing) {
  driver_.Post(Ping{1});
  EXPECT_EQ(Advances(), 0);
}

// A leader that is deposed drops its drivers while their executor goes on.
TEST_F(CoreDriverTest, NothingOfItRunsAfterItIsDestroyed) {
  int performed = 0;
  using Driver = CoreDriver<AlarmCore>;
  auto driver = std::make_unique<Driver>(executor_, AlarmCore(),
                                         [&performed](AlarmCore::Action&) { ++performed; });
  const TimePoint soon = MonotonicNow() + Milliseconds(5);
  OnExecutor([&] {
    driver->Handle(SetAlarm{soon});
    driver->Post(Ping{1});
    driver.reset();
    return 0;
  });
  std::promise<void> later;
  executor_.PostAt(soon + Milliseconds(1), [&] { later.set_value(); });
  later.get_future().wait();
  EXPECT_EQ(performed, 0);
}

}  // namespace
}  // namespace shardmanager
