#include "router/calls/async_call.h"

#include <algorithm>
#include <utility>

#include "runtime/clock.h"

namespace shardmanager::router_internal {

using router::AttemptEnd;

AsyncCall::AsyncCall(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
                     std::unique_ptr<AsyncMethod> method, Done done)
    : key_or_shard_(target.key_or_shard),
      target_{target.app, key_or_shard_, target.by_shard, target.service},
      options_(options),
      make_stub_(make_stub),
      method_(std::move(method)),
      done_(std::move(done)),
      state_(target_, options_) {}

// ---- events ----

void AsyncCall::Take(Event event, Thread thread) {
  const auto self = shared_from_this();
  std::unique_lock lock(mutex_);
  if (busy_) {
    events_.push_back(std::move(event));
    return;
  }
  busy_ = true;
  lock.unlock();
  thread_ = thread;
  std::visit([this](auto& it) { On(it); }, event);
  lock.lock();
  while (!events_.empty()) {
    std::vector<Event> events = std::exchange(events_, {});
    lock.unlock();
    for (Event& next : events) {
      std::visit([this](auto& it) { On(it); }, next);
    }
    lock.lock();
  }
  busy_ = false;
}

template <typename Make>
auto AsyncCall::Later(Make make) {
  return [weak = weak_from_this(), make](auto... arguments) {
    if (const auto call = weak.lock()) call->Take(make(arguments...), Thread::kOurs);
  };
}

void AsyncCall::On(Go&) {
  grpc::Status fault = state_.FaultOfOptions();
  if (!fault.ok()) return Finish(std::move(fault));
  Advance(state_.machine().OnWaited(MonotonicNow()));
}

void AsyncCall::On(Connected& connected) {
  AttemptAt& attempt = attempts_[connected.attempt];
  if (attempt.ticket != connected.ticket || attempt.stage != AttemptAt::Stage::kConnecting) return;
  std::optional<Step> step;
  if (connected.yes) {
    step = Send(connected.attempt);
  } else {
    state_.OnUnsent(attempt.route);
    Free(attempt);
    step = state_.machine().OnAttemptEnd(MonotonicNow(), AttemptEnd::kUnsent);
  }
  if (step) Advance(*step);
}

void AsyncCall::On(Ended& ended) {
  AttemptAt& attempt = attempts_[ended.attempt];
  const auto given_up = answered_                      ? Sending::GivenUp::kOutrun
                        : state_.machine().cancelled() ? Sending::GivenUp::kCancelled
                                                       : Sending::GivenUp::kNo;
  const AttemptEnd end = attempt.sending->End(ended.status, given_up);
  if (answered_) {
    Free(attempt);
    return FinishIfAllEnded();
  }
  if (router::IsAnswer(end)) {
    attempt.stage = AttemptAt::Stage::kAnswered;
    answer_ = ended.attempt;
    status_ = std::move(ended.status);
  } else {
    Free(attempt);
  }
  Advance(state_.machine().OnAttemptEnd(MonotonicNow(), end));
}

void AsyncCall::On(HedgeDue& due) {
  const AttemptAt& first = attempts_[0];
  if (first.ticket != due.ticket || !first.under_way() || answered_) return;
  const std::optional<Route> other = state_.LookForOther(first.route);
  if (!other || !state_.machine().OnHedgeDue(MonotonicNow())) return;
  ++state_.router().counters().hedges;
  if (const auto step = Start(1, *other)) Advance(*step);
}

void AsyncCall::On(Woken& woken) {
  if (woken.ticket != wait_) return;
  const TimePoint now = MonotonicNow();
  state_.LookAtParent();
  if (!woken.by_map && now < wait_until_ && !state_.machine().cancelled()) return WakeAt(now);
  state_.app().ForgetWaiter(this);
  wait_ = 0;
  Advance(state_.machine().OnWaited(now));
}

void AsyncCall::On(Cancelled&) {
  state_.machine().OnCancel();
  if (wait_ != 0) {
    state_.app().ForgetWaiter(this);
    wait_ = 0;
    return Advance(state_.machine().OnWaited(MonotonicNow()));
  }
  for (AttemptAt& attempt : attempts_) {
    if (attempt.stage == AttemptAt::Stage::kSent) attempt.sending->context().TryCancel();
    if (attempt.stage == AttemptAt::Stage::kConnecting) {
      Free(attempt);
      Advance(state_.machine().OnAttemptEnd(MonotonicNow(), AttemptEnd::kUnsent));
    }
  }
}

// ---- what follows ----

// Until something is under way, or the call is over.
void AsyncCall::Advance(Step step) {
  std::optional<Step> now = step;
  while (now) {
    switch (now->next) {
      case Next::kAttempt:
        now = LookAndStart();
        break;
      case Next::kWaitThenAttempt:
        now = Wait(now->until);
        break;
      case Next::kAwaitOther:
        return;
      case Next::kFinish:
        return OnAnswer();
      default:
        return Finish(state_.Fail(now->next));
    }
  }
}

// Nothing follows now: it is under way.
std::optional<AsyncCall::Step> AsyncCall::LookAndStart() {
  switch (state_.Look()) {
    case CallState::Found::kNothing:
      Finish(state_.Nothing());
      return std::nullopt;
    case CallState::Found::kNobody:
      return state_.machine().OnNobody(MonotonicNow());
    case CallState::Found::kServer:
      return Start(0, state_.route());
  }
  return std::nullopt;
}

std::optional<AsyncCall::Step> AsyncCall::Start(size_t index, const Route& route) {
  AttemptAt& attempt = attempts_[index];
  const TimePoint begin = MonotonicNow();
  attempt.route = route;
  attempt.ticket = ++tickets_;
  attempt.deadline = state_.machine().AttemptDeadline(begin);
  attempt.stage = AttemptAt::Stage::kConnecting;
  attempt.channel = state_.app().Channel(route.server->endpoint);
  state_.OnAttempt(attempt.route);
  const TimePoint hedge_at = index == 0 ? state_.machine().HedgeAt(begin) : kNever;
  if (hedge_at != kNever) {
    state_.router().async_calls().timers().PostAt(
        hedge_at, Later([ticket = attempt.ticket]() -> Event { return HedgeDue{ticket}; }));
  }
  if (attempt.channel->IsConnected()) return Send(index);
  const TimePoint patience = std::min(attempt.deadline, begin + kConnectPatience);
  state_.router().async_calls().connects().Await(
      attempt.channel, patience, Later([index, ticket = attempt.ticket](bool yes) -> Event {
        return Connected{index, ticket, yes};
      }));
  return std::nullopt;
}

std::optional<AsyncCall::Step> AsyncCall::Send(size_t index) {
  AttemptAt& attempt = attempts_[index];
  attempt.sending.emplace(state_, attempt.route);
  if (!attempt.sending->Begin(attempt.deadline)) {
    Free(attempt);
    return state_.machine().OnAttemptEnd(MonotonicNow(), AttemptEnd::kSuperseded);
  }
  attempt.stage = AttemptAt::Stage::kSent;
  // Small, so that gRPC's function has it without an allocation. The call is there until then.
  method_->Start(attempt.channel->Stub(make_stub_).get(), &attempt.sending->context(), index,
                 [this, index](grpc::Status status) {
                   Take(Ended{index, std::move(status)}, Thread::kOurs);
                 });
  return std::nullopt;
}

std::optional<AsyncCall::Step> AsyncCall::Wait(TimePoint until) {
  wait_ = ++tickets_;
  wait_until_ = until;
  const auto wake = Later([ticket = wait_]() -> Event { return Woken{ticket, /*by_map=*/true}; });
  SerialExecutor& timers = state_.router().async_calls().timers();
  const bool waits = state_.app().AwaitMap(
      this,
      {.accepts = [this](const router::ShardMap* newest) { return state_.ServersChanged(newest); },
       .wake = [&timers, wake] { timers.Post(wake); }});
  if (!waits) {
    wait_ = 0;
    return state_.machine().OnWaited(MonotonicNow());
  }
  WakeAt(MonotonicNow());
  return std::nullopt;
}

void AsyncCall::WakeAt(TimePoint now) {
  state_.router().async_calls().timers().PostAt(state_.NextLook(now, wait_until_),
                                                Later([ticket = wait_]() -> Event {
                                                  return Woken{ticket, /*by_map=*/false};
                                                }));
}

void AsyncCall::Free(AttemptAt& attempt) {
  attempt.sending.reset();
  attempt.channel.reset();
  attempt.stage = AttemptAt::Stage::kFree;
}

// ---- the end ----

void AsyncCall::OnAnswer() {
  answered_ = true;
  if (options_.inspect) options_.inspect(attempts_[answer_].sending->context());
  if (answer_ == 1) ++state_.router().counters().hedges_won;
  for (AttemptAt& attempt : attempts_) {
    if (attempt.stage == AttemptAt::Stage::kSent) attempt.sending->context().TryCancel();
    if (attempt.stage == AttemptAt::Stage::kConnecting) Free(attempt);
  }
  FinishIfAllEnded();
}

void AsyncCall::FinishIfAllEnded() {
  for (const AttemptAt& attempt : attempts_) {
    if (attempt.under_way()) return;
  }
  // Not before: the other attempt may have written its own there.
  if (status_.ok()) method_->TakeResponse(answer_);
  Finish(std::move(status_));
}

void AsyncCall::Finish(grpc::Status status) {
  status_ = std::move(status);
  for (AttemptAt& attempt : attempts_) Free(attempt);
  state_.OnEnd(status_);
  state_.OnFinish();
  if (thread_ == Thread::kOurs) return Deliver();
  state_.router().async_calls().timers().Post([self = shared_from_this()] { self->Deliver(); });
}

void AsyncCall::Deliver() {
  std::exchange(done_, nullptr)(std::move(status_));
  // What these refer to may go with the router.
  method_.reset();
  options_ = {};
  state_.router().async_calls().End(this);
}

std::shared_ptr<AsyncCall> CallAsync(const CallTarget& target, const CallOptions& options,
                                     StubFactory make_stub, std::unique_ptr<AsyncMethod> method,
                                     Done done) {
  auto call =
      std::make_shared<AsyncCall>(target, options, make_stub, std::move(method), std::move(done));
  target.app.router().async_calls().Begin(call);
  return call;
}

void Cancel(const std::weak_ptr<AsyncCall>& call) {
  if (const auto under_way = call.lock()) under_way->Cancel();
}

}  // namespace shardmanager::router_internal
