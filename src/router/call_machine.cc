#include "router/call_machine.h"

#include <algorithm>
#include <utility>

#include "base/defect.h"

namespace shardmanager::router {
namespace {

bool MayBeProcessed(AttemptEnd end) {
  return end != AttemptEnd::kRefused && end != AttemptEnd::kUnsent;
}

// What two attempts come to: an answer, or else the one after which less is known.
AttemptEnd EndOfBoth(AttemptEnd first, AttemptEnd second) {
  if (first == AttemptEnd::kErred) return first;
  if (second == AttemptEnd::kErred) return second;
  return MayBeProcessed(second) ? second : first;
}

}  // namespace

TimePoint CallMachine::AttemptDeadline(TimePoint now) const {
  constexpr Duration kShortest = Milliseconds(20);
  const bool repeatable = call_.idempotent || Planted(Defect::kRetryEverything);
  if (!repeatable || rounds_ >= 2) return call_.deadline;
  const Duration left = call_.deadline - now;
  const Duration share = left / (rounds_ == 0 ? 4 : 2);
  return std::min(call_.deadline, now + std::max(share, kShortest));
}

CallMachine::Step CallMachine::OnAttemptEnd(TimePoint now, AttemptEnd end) {
  ++attempts_;
  if (end == AttemptEnd::kAnswered) return {Next::kFinish};
  if (std::exchange(both_under_way_, false)) {
    ended_first_ = end;
    return {Next::kAwaitOther};
  }
  ++rounds_;
  if (ended_first_) end = EndOfBoth(*ended_first_, end);
  ended_first_.reset();
  return OnRoundEnd(now, end);
}

CallMachine::Step CallMachine::OnRoundEnd(TimePoint now, AttemptEnd end) {
  if (cancelled_ && !IsAnswer(end)) return {Next::kFailCancelled};
  switch (end) {
    case AttemptEnd::kAnswered:
    case AttemptEnd::kErred:
      return {Next::kFinish};
    case AttemptEnd::kRefused:
    case AttemptEnd::kUnsent:
      return WaitForBackoff(now);
    case AttemptEnd::kTimedOut:
      if (Planted(Defect::kRetryEverything)) return WaitForBackoff(now);
      return call_.idempotent ? WaitForBackoff(now) : Step{Next::kFailDeadline};
    case AttemptEnd::kBroken:
      if (now >= call_.deadline) return {Next::kFailDeadline};
      return call_.idempotent ? WaitForBackoff(now) : Step{Next::kFailAmbiguous};
    case AttemptEnd::kSuperseded:
      if (now >= call_.deadline) return {Next::kFailDeadline};
      return call_.idempotent ? Step{Next::kAttempt} : Step{Next::kFailAmbiguous};
  }
  return {Next::kFailAmbiguous};
}

CallMachine::Step CallMachine::OnNobody(TimePoint now) const {
  if (cancelled_) return {Next::kFailCancelled};
  if (now >= call_.deadline) return {Next::kFailDeadline};
  return {Next::kWaitThenAttempt, call_.deadline};
}

CallMachine::Step CallMachine::OnWaited(TimePoint now) const {
  if (cancelled_) return {Next::kFailCancelled};
  return {now >= call_.deadline ? Next::kFailDeadline : Next::kAttempt};
}

TimePoint CallMachine::HedgeAt(TimePoint now) const {
  if (call_.hedge_after <= Duration(0) || hedged_) return kNever;
  const TimePoint deadline = AttemptDeadline(now);
  return call_.hedge_after < deadline - now ? now + call_.hedge_after : kNever;
}

bool CallMachine::OnHedgeDue(TimePoint now) {
  if (hedged_ || cancelled_ || now >= call_.deadline) return false;
  if (call_.budget != nullptr && !call_.budget->Take(now)) return false;
  hedged_ = both_under_way_ = true;
  return true;
}

CallMachine::Step CallMachine::WaitForBackoff(TimePoint now) {
  constexpr Duration kFirst = Milliseconds(1);
  constexpr Duration kLongest = Milliseconds(50);
  constexpr Duration kHeldBack = Seconds(1);
  constexpr uint64_t kMostDoublings = 6;
  if (now >= call_.deadline) return {Next::kFailDeadline};
  const uint64_t doublings = std::min(waits_++, kMostDoublings);
  Duration full = std::min(kLongest, kFirst * (int64_t{1} << doublings));
  if (call_.budget != nullptr && !call_.budget->Take(now)) {
    ++held_back_;
    full = kHeldBack;
  }
  const auto half = static_cast<uint64_t>(full.count()) / 2;
  const Duration wait(half + random_.Below(half + 1));
  return {Next::kWaitThenAttempt, std::min(now + wait, call_.deadline)};
}

}  // namespace shardmanager::router
