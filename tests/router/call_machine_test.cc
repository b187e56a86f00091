#include "router/call_machine.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace shardmanager::router {
namespace {

using Next = CallMachine::Next;

constexpr TimePoint At(int64_t ms) { return TimePoint(Milliseconds(ms)); }

CallMachine Machine(bool idempotent, int64_t deadline_ms = 4'000) {
  return CallMachine({At(0), At(deadline_ms), idempotent, /*seed=*/1});
}

TEST(CallMachineTest, AnAnswerEndsTheCall) {
  EXPECT_EQ(Machine(false).OnAttemptEnd(At(1), AttemptEnd::kAnswered).next, Next::kFinish);
  // Also one that came late.
  EXPECT_EQ(Machine(false).OnAttemptEnd(At(9'999), AttemptEnd::kAnswered).next, Next::kFinish);
}

TEST(CallMachineTest, UnprocessedRequestsAreAlwaysTriedAgain) {
  for (bool idempotent : {false, true}) {
    for (AttemptEnd end : {AttemptEnd::kRefused, AttemptEnd::kUnsent}) {
      const auto step = Machine(idempotent).OnAttemptEnd(At(1), end);
      EXPECT_EQ(step.next, Next::kWaitThenAttempt);
      EXPECT_LE(step.until, At(2));
    }
  }
}

TEST(CallMachineTest, WhatMayHaveBeenProcessedIsTriedAgainOnlyIfIdempotent) {
  EXPECT_EQ(Machine(false).OnAttemptEnd(At(1), AttemptEnd::kBroken).next, Next::kFailAmbiguous);
  EXPECT_EQ(Machine(true).OnAttemptEnd(At(1), AttemptEnd::kBroken).next, Next::kWaitThenAttempt);
  // Its attempt had all the time there was.
  EXPECT_EQ(Machine(false).OnAttemptEnd(At(3'999), AttemptEnd::kTimedOut).next,
            Next::kFailDeadline);
  EXPECT_EQ(Machine(true).OnAttemptEnd(At(1), AttemptEnd::kTimedOut).next, Next::kWaitThenAttempt);
}

TEST(CallMachineTest, AnAttemptAtAServerThatLostTheShardIsReplacedAtOnce) {
  EXPECT_EQ(Machine(true).OnAttemptEnd(At(1), AttemptEnd::kSuperseded).next, Next::kAttempt);
  EXPECT_EQ(Machine(false).OnAttemptEnd(At(1), AttemptEnd::kSuperseded).next, Next::kFailAmbiguous);
}

TEST(CallMachineTest, BackoffGrowsFromOneTo50Milliseconds) {
  CallMachine machine = Machine(false, 1'000'000);
  int64_t now = 0;
  for (int64_t full_us : {1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 50'000, 50'000, 50'000}) {
    const auto step = machine.OnAttemptEnd(At(now), AttemptEnd::kRefused);
    EXPECT_GE(step.until - At(now), Duration(full_us / 2));
    EXPECT_LE(step.until - At(now), Duration(full_us));
    now += 100;
  }
}

TEST(CallMachineTest, WhenTheBudgetIsSpentItWaitsForLonger) {
  RetryBudget budget(0);
  const auto machine = [&](uint64_t seed) {
    return CallMachine({At(0), At(60'000), false, seed, &budget});
  };
  for (int i = 0; i < RetryBudget::kMostSaved; ++i) {
    CallMachine saved = machine(1);
    ASSERT_LE(saved.OnAttemptEnd(At(1), AttemptEnd::kRefused).until, At(2));
    ASSERT_EQ(saved.held_back(), 0u);
  }
  CallMachine held = machine(1);
  const auto step = held.OnAttemptEnd(At(1), AttemptEnd::kRefused);
  EXPECT_EQ(step.next, Next::kWaitThenAttempt) << "to be held back is not to fail";
  EXPECT_GE(step.until, At(501));
  EXPECT_LE(step.until, At(1'001));
  EXPECT_EQ(held.held_back(), 1u);
  EXPECT_NE(machine(2).OnAttemptEnd(At(1), AttemptEnd::kRefused).until, step.until) << "jitter";
}

TEST(CallMachineTest, ACallThatIsHeldBackEndsByItsDeadline) {
  RetryBudget budget(0);
  while (budget.Take(At(0))) {
  }
  CallMachine machine({At(0), At(100), false, 1, &budget});
  EXPECT_EQ(machine.OnAttemptEnd(At(1), AttemptEnd::kRefused).until, At(100));
}

TEST(CallMachineTest, WhatEndsACallTakesNothingOfTheBudget) {
  RetryBudget budget(0);
  while (budget.Take(At(0))) {
  }
  for (AttemptEnd end : {AttemptEnd::kAnswered, AttemptEnd::kBroken}) {
    CallMachine machine({At(0), At(100), false, 1, &budget});
    machine.OnAttemptEnd(At(1), end);
    EXPECT_EQ(machine.held_back(), 0u);
  }
}

TEST(CallMachineTest, CallsDoNotRetryInStep) {
  CallMachine one({At(0), At(1'000), false, 1});
  CallMachine other({At(0), At(1'000), false, 2});
  EXPECT_NE(one.OnAttemptEnd(At(0), AttemptEnd::kRefused).until,
            other.OnAttemptEnd(At(0), AttemptEnd::kRefused).until);
}

TEST(CallMachineTest, AHungServerCostsAnIdempotentCallAQuarterOfItsTime) {
  CallMachine machine = Machine(true);
  EXPECT_EQ(machine.AttemptDeadline(At(0)), At(1'000));
  machine.OnAttemptEnd(At(1'000), AttemptEnd::kTimedOut);
  EXPECT_EQ(machine.AttemptDeadline(At(1'000)), At(2'500));
  machine.OnAttemptEnd(At(2'500), AttemptEnd::kTimedOut);
  EXPECT_EQ(machine.AttemptDeadline(At(2'500)), At(4'000));
}

TEST(CallMachineTest, ARequestThatIsNotIdempotentGetsAllTheTime) {
  EXPECT_EQ(Machine(false).AttemptDeadline(At(0)), At(4'000));
}

TEST(CallMachineTest, ShortCallsAreNotCutIntoUselessAttempts) {
  EXPECT_EQ(Machine(true, 40).AttemptDeadline(At(0)), At(20));
  EXPECT_EQ(Machine(true, 10).AttemptDeadline(At(0)), At(10));
}

TEST(CallMachineTest, WaitsForSomebodyToServeUntilTheDeadline) {
  CallMachine machine = Machine(false);
  const auto step = machine.OnNobody(At(10));
  EXPECT_EQ(step.next, Next::kWaitThenAttempt);
  EXPECT_EQ(step.until, At(4'000));
  EXPECT_EQ(machine.OnWaited(At(20)).next, Next::kAttempt);
  EXPECT_EQ(machine.OnWaited(At(4'000)).next, Next::kFailDeadline);
  EXPECT_EQ(machine.OnNobody(At(4'000)).next, Next::kFailDeadline);
}

TEST(CallMachineTest, AnErrorOfTheApplicationIsAnAnswerToo) {
  EXPECT_EQ(Machine(true).OnAttemptEnd(At(1), AttemptEnd::kErred).next, Next::kFinish);
}

TEST(CallMachineTest, ACancelledCallMakesNoFurtherAttempt) {
  for (AttemptEnd end : {AttemptEnd::kRefused, AttemptEnd::kUnsent, AttemptEnd::kBroken,
                         AttemptEnd::kTimedOut, AttemptEnd::kSuperseded}) {
    CallMachine machine = Machine(true);
    machine.OnCancel();
    EXPECT_EQ(machine.OnAttemptEnd(At(1), end).next, Next::kFailCancelled);
  }
  CallMachine machine = Machine(true);
  EXPECT_EQ(machine.OnNobody(At(1)).next, Next::kWaitThenAttempt);
  machine.OnCancel();
  EXPECT_EQ(machine.OnWaited(At(1)).next, Next::kFailCancelled);
  EXPECT_EQ(machine.OnNobody(At(1)).next, Next::kFailCancelled);
}

TEST(CallMachineTest, AnAnswerThatComesAllTheSameIsTheAnswerOfACancelledCall) {
  for (AttemptEnd end : {AttemptEnd::kAnswered, AttemptEnd::kErred}) {
    CallMachine machine = Machine(true);
    machine.OnCancel();
    EXPECT_EQ(machine.OnAttemptEnd(At(1), end).next, Next::kFinish);
  }
}

// ---- hedges ----

CallMachine Hedging(bool idempotent = true, RetryBudget* budget = nullptr) {
  return CallMachine(
      {At(0), At(4'000), idempotent, /*seed=*/1, budget, /*hedge_after=*/Milliseconds(20)});
}

TEST(CallMachineTest, AReadIsHedgedOnceAfterItsTime) {
  EXPECT_EQ(Machine(true).HedgeAt(At(0)), kNever);
  CallMachine machine = Hedging();
  EXPECT_EQ(machine.HedgeAt(At(5)), At(25));
  EXPECT_TRUE(machine.OnHedgeDue(At(25)));
  EXPECT_FALSE(machine.OnHedgeDue(At(26)));
  EXPECT_EQ(machine.HedgeAt(At(30)), kNever);
}

TEST(CallMachineTest, AnAttemptThatEndsBeforeItsHedgeHasNone) {
  EXPECT_EQ(Hedging().HedgeAt(At(3'920)), kNever);
  EXPECT_LT(Hedging().HedgeAt(At(3'900)), kNever);
}

TEST(CallMachineTest, AHedgeTakesOfTheBudgetAndIsLeftOutWithoutOne) {
  RetryBudget budget(0);
  for (int i = 0; i < RetryBudget::kMostSaved; ++i) {
    EXPECT_TRUE(Hedging(true, &budget).OnHedgeDue(At(20)));
  }
  CallMachine machine = Hedging(true, &budget);
  EXPECT_FALSE(machine.OnHedgeDue(At(20)));
  EXPECT_EQ(machine.OnAttemptEnd(At(21), AttemptEnd::kAnswered).next, Next::kFinish);
  EXPECT_EQ(machine.held_back(), 0u);
}

TEST(CallMachineTest, TheFirstGoodAnswerOfTwoEndsTheCall) {
  CallMachine machine = Hedging();
  machine.OnHedgeDue(At(20));
  EXPECT_EQ(machine.OnAttemptEnd(At(30), AttemptEnd::kAnswered).next, Next::kFinish);
}

TEST(CallMachineTest, WhatOneOfTwoComesToCountsWhenTheOtherHasEndedToo) {
  for (AttemptEnd end : {AttemptEnd::kErred, AttemptEnd::kRefused, AttemptEnd::kUnsent,
                         AttemptEnd::kBroken, AttemptEnd::kTimedOut, AttemptEnd::kSuperseded}) {
    CallMachine machine = Hedging();
    machine.OnHedgeDue(At(20));
    EXPECT_EQ(machine.OnAttemptEnd(At(30), end).next, Next::kAwaitOther);
    EXPECT_EQ(machine.OnAttemptEnd(At(40), AttemptEnd::kAnswered).next, Next::kFinish);
  }
}

TEST(CallMachineTest, TwoAttemptsThatFailAreOneRound) {
  struct Case {
    bool idempotent;
    AttemptEnd first;
    AttemptEnd second;
    Next next;
  };
  for (const Case& c :
       {Case{true, AttemptEnd::kRefused, AttemptEnd::kUnsent, Next::kWaitThenAttempt},
        Case{true, AttemptEnd::kSuperseded, AttemptEnd::kRefused, Next::kAttempt},
        Case{false, AttemptEnd::kRefused, AttemptEnd::kBroken, Next::kFailAmbiguous},
        Case{false, AttemptEnd::kBroken, AttemptEnd::kRefused, Next::kFailAmbiguous},
        Case{false, AttemptEnd::kUnsent, AttemptEnd::kRefused, Next::kWaitThenAttempt},
        Case{true, AttemptEnd::kErred, AttemptEnd::kRefused, Next::kFinish},
        Case{true, AttemptEnd::kBroken, AttemptEnd::kErred, Next::kFinish}}) {
    CallMachine machine = Hedging(c.idempotent);
    machine.OnHedgeDue(At(20));
    ASSERT_EQ(machine.OnAttemptEnd(At(30), c.first).next, Next::kAwaitOther);
    EXPECT_EQ(machine.OnAttemptEnd(At(30), c.second).next, c.next);
    EXPECT_EQ(machine.attempts(), 2u);
  }
  CallMachine machine = Hedging();
  machine.OnHedgeDue(At(20));
  machine.OnAttemptEnd(At(1'000), AttemptEnd::kTimedOut);
  machine.OnAttemptEnd(At(1'000), AttemptEnd::kTimedOut);
  EXPECT_EQ(machine.AttemptDeadline(At(1'000)), At(2'500)) << "the second round gets a half";
}

TEST(CallMachineTest, ACancelledCallIsNotHedgedAndWaitsForBothToEnd) {
  CallMachine machine = Hedging();
  machine.OnCancel();
  EXPECT_FALSE(machine.OnHedgeDue(At(20)));
  CallMachine both = Hedging();
  both.OnHedgeDue(At(20));
  both.OnCancel();
  EXPECT_EQ(both.OnAttemptEnd(At(30), AttemptEnd::kSuperseded).next, Next::kAwaitOther);
  EXPECT_EQ(both.OnAttemptEnd(At(30), AttemptEnd::kSuperseded).next, Next::kFailCancelled);
}

TEST(CallMachinePropertyTest, NeverWaitsOrAttemptsPastTheDeadlineAndAlwaysEnds) {
  constexpr AttemptEnd kEnds[] = {AttemptEnd::kRefused, AttemptEnd::kUnsent, AttemptEnd::kBroken,
                                  AttemptEnd::kTimedOut, AttemptEnd::kSuperseded};
  for (uint64_t seed = 1; seed <= 2'000; ++seed) {
    Random random(seed);
    const TimePoint deadline = At(static_cast<int64_t>(random.Below(500)));
    const bool idempotent = random.Below(2) == 0;
    CallMachine machine({At(0), deadline, idempotent, seed});
    TimePoint now = At(0);
    bool ended = false;
    for (int attempt = 0; attempt < 100'000 && !ended; ++attempt) {
      const TimePoint attempt_deadline = machine.AttemptDeadline(now);
      ASSERT_LE(attempt_deadline, std::max(now, deadline));
      const AttemptEnd end = kEnds[random.Below(std::size(kEnds))];
      now = end == AttemptEnd::kTimedOut ? std::max(now, attempt_deadline)
                                         : now + Duration(1 + random.Below(100));
      auto step = machine.OnAttemptEnd(now, end);
      if (step.next == Next::kWaitThenAttempt) {
        ASSERT_LE(step.until, deadline);
        if (random.Below(2) == 0) now = step.until;  // else woken at once
        step = machine.OnWaited(now);
      }
      const bool unprocessed = end == AttemptEnd::kRefused || end == AttemptEnd::kUnsent;
      if (step.next == Next::kAttempt) {
        ASSERT_TRUE(idempotent || unprocessed) << "seed " << seed;
        ASSERT_LT(now, deadline);
      } else {
        ended = true;
      }
    }
    ASSERT_TRUE(ended) << "seed " << seed;
  }
}

}  // namespace
}  // namespace shardmanager::router
