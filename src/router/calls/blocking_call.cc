// A call that waits on the caller's own thread, from the key to the answer.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "router/calls/blocking_loop.h"
#include "router/calls/call_state.h"
#include "router/calls/sending.h"
#include "runtime/clock.h"

namespace shardmanager::router_internal {
namespace {

using router::AttemptEnd;
using router::CallMachine;

class BlockingCall {
 public:
  BlockingCall(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
               Attempt attempt)
      : state_(target, options), make_stub_(make_stub), attempt_(attempt) {}

  grpc::Status Run() {
    const auto end =
        RunHere(state_, state_.machine().OnWaited(MonotonicNow()), [this] { return TryOnce(); });
    if (!end) {
      status_ = state_.Nothing();
    } else if (*end != CallMachine::Next::kFinish) {
      status_ = state_.Fail(*end);
    }
    state_.OnEnd(status_);
    return std::move(status_);
  }

 private:
  CallMachine::Step TryOnce() {
    const Route& route = state_.route();
    state_.OnAttempt(route);
    const TimePoint begin = MonotonicNow();
    const TimePoint deadline = state_.machine().AttemptDeadline(begin);
    const auto channel = state_.app().Channel(route.server->endpoint);
    if (!channel->WaitConnected(std::min(deadline, begin + kConnectPatience))) {
      state_.OnUnsent(route);
      return End(AttemptEnd::kUnsent);
    }
    Sending sending(state_, route);
    if (!sending.Begin(deadline)) return End(AttemptEnd::kSuperseded);
    status_ = attempt_(channel->Stub(make_stub_).get(), &sending.context());
    const AttemptEnd end = sending.End(status_);
    if (router::IsAnswer(end) && state_.options().inspect) {
      state_.options().inspect(sending.context());
    }
    return End(end);
  }

  CallMachine::Step End(AttemptEnd end) {
    return state_.machine().OnAttemptEnd(MonotonicNow(), end);
  }

  CallState state_;
  const StubFactory make_stub_;
  const Attempt attempt_;
  grpc::Status status_;  // of the last attempt
};

}  // namespace

grpc::Status Call(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
                  Attempt attempt) {
  if (options.hedge_after > Duration(0)) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        target.app.name() +
                            ": CallOptions::hedge_after: only calls with the method of the "
                            "callback stub are hedged, like &Kv::Stub::async::Get");
  }
  return BlockingCall(target, options, make_stub, attempt).Run();
}

}  // namespace shardmanager::router_internal
