#include "router/calls/binding.h"

#include <grpcpp/server_context.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "router/calls/blocking_loop.h"
#include "router/calls/sending.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace router_internal {

using router::AttemptEnd;
using router::CallMachine;

StreamState::StreamState(std::shared_ptr<const Binding> binding) : binding_(std::move(binding)) {
  const CallOptions& options = binding_->options();
  context_ = options.parent == nullptr ? std::make_unique<grpc::ClientContext>()
                                       : grpc::ClientContext::FromServerContext(*options.parent);
  if (options.deadline) context_->set_deadline(*options.deadline);
  if (options.prepare) options.prepare(*context_);
  form_ = Address(binding_->app(), route(), *context_);
  in_flight_ = {.context = context_.get(),
                .shard = binding_->shard(),
                .server = route().server,
                .as_primary = route().for_primary};
  registered_ = binding_->app().Begin(in_flight_);
  superseded_ = !registered_;
  if (superseded_) context_->TryCancel();  // it ends before it begins
}

StreamState::~StreamState() {
  if (registered_) binding_->app().End(in_flight_);
}

bool StreamState::ShouldReopen(const grpc::Status& status) {
  LearnForm(route(), form_, *context_);
  const std::string refusal = RefusalOf(status, *context_);
  end_ = !refusal.empty() ? absl::StrCat("refused: ", refusal)
                          : absl::StrCat("ended the stream: ", status.error_message());
  if (std::exchange(registered_, false)) superseded_ = binding_->app().End(in_flight_);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return true;
  // By us, as the shard has moved, or by a server that stopped, and gave its streams time to end.
  // (What an application answers has been admitted.)
  const grpc::ServerContextBase* parent = binding_->options().parent;
  const bool by_parent = !superseded_ && parent != nullptr && parent->IsCancelled();
  return status.error_code() == grpc::StatusCode::CANCELLED && !by_parent &&
         !WasAdmitted(*context_);
}

BoundTo Bind(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
             const StreamState* ended) {
  CallState state(target, options);
  state.router().async_calls().Start();
  std::shared_ptr<wire::ServerChannel> channel;
  const auto connect = [&] {
    const Route& route = state.route();
    const TimePoint begin = MonotonicNow();
    const TimePoint patience =
        std::min(state.machine().AttemptDeadline(begin), begin + kConnectPatience);
    state.OnAttempt(route);
    channel = state.app().Channel(route.server->endpoint);
    const bool connected = channel->WaitConnected(patience);
    if (!connected) state.OnUnsent(route);
    return state.machine().OnAttemptEnd(MonotonicNow(),
                                        connected ? AttemptEnd::kAnswered : AttemptEnd::kUnsent);
  };
  const CallMachine::Step begin = ended == nullptr
                                      ? state.machine().OnWaited(MonotonicNow())
                                      : state.OnStreamEnded(ended->route(), ended->end());
  const auto end = RunHere(state, begin, connect);
  const auto fail = [&](grpc::Status status) {
    state.OnEnd(status);
    return BoundTo{.status = std::move(status)};
  };
  if (!end) return fail(state.Nothing());
  if (*end != CallMachine::Next::kFinish) return fail(state.Fail(*end));
  state.OnEnd(grpc::Status::OK);
  const std::shared_ptr<void> stub = channel->Stub(make_stub);
  return {std::make_shared<Binding>(state.app(), options, state.route(), std::move(channel)), stub,
          grpc::Status::OK};
}

const std::string& ShardOf(const Binding& binding) { return binding.shard(); }
const std::string& ServerOf(const Binding& binding) { return binding.route().server->name; }
const std::string& EndpointOf(const Binding& binding) { return binding.route().server->endpoint; }

std::shared_ptr<StreamState> NewStream(const std::shared_ptr<Binding>& binding) {
  return std::make_shared<StreamState>(binding);
}

}  // namespace router_internal

grpc::ClientContext* StreamContext::get() const { return &state_->context(); }

bool StreamContext::ShouldReopen(const grpc::Status& status) const {
  return state_->ShouldReopen(status);
}

}  // namespace shardmanager
