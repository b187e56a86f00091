#include "tests/simulation/cell/sim_client.h"

#include <utility>

#include "router/replica_choice.h"

namespace shardmanager::simulation {

using router::AttemptEnd;
using router::CallMachine;

namespace {
constexpr Duration kDeadline = Seconds(2);
}  // namespace

SimClient::SimClient(Context context, std::shared_ptr<Process> process, uint64_t first_call,
                     Duration between)
    : context_(std::move(context)),
      process_(std::move(process)),
      between_(between),
      next_call_(first_call) {
  subscriber_ = std::make_unique<SimSubscriber>(
      context_.network, process_,
      SimSubscriber::Options{context_.publishers,
                             [this](const v1::MapSnapshot& map) { return Apply(map); },
                             [this](const v1::MapDelta& delta) { return Apply(delta); },
                             [this] { return Version(); }});
  process_->RunAfter(between_, [this] { Begin(); });
}

template <typename Update>
bool SimClient::Apply(const Update& update) {
  if (!maps_.Apply(update).ok()) return false;
  if (call_ != nullptr) Go(call_, call_->attempt);
  return true;
}

std::optional<MapVersion> SimClient::Version() const {
  if (map() == nullptr) return std::nullopt;
  return map()->version();
}

void SimClient::Begin() {
  const TimePoint now = process_->LocalNow();
  const bool idempotent = context_.random.Below(2) == 0;
  call_ = std::make_shared<Call>(
      Call{.id = next_call_++,
           .idempotent = idempotent,
           .machine = CallMachine({now, now + kDeadline, idempotent, context_.random.Next()})});
  ++counts_.calls;
  const size_t shards = map() == nullptr ? 0 : map()->layout().size();
  if (shards == 0) return Finish(call_, false);
  const auto shard = static_cast<uint32_t>(context_.random.Below(shards));
  call_->shard = std::string(map()->layout().id(ShardIndex(shard)));
  context_.on_call(call_->id, idempotent);
  Try(call_);
}

void SimClient::Try(const std::shared_ptr<Call>& call) {
  const router::ShardMap& map = *maps_.map();
  const ShardIndex shard = map.layout().FindById(call->shard);
  if (!shard.valid()) return Finish(call, false);  // a new layout lacks it
  ++call->attempt;
  const router::MappedReplica* replica =
      router::ChooseReplica(map, shard,
                            {.avoid = call->failed_server, .random = context_.random.Next()})
          .replica;
  if (replica == nullptr) return Step(call, call->machine.OnNobody(process_->LocalNow()));
  call->for_primary = replica->role() == Role::kPrimary;
  Send(call, map.server(replica->server()));
}

void SimClient::Send(const std::shared_ptr<Call>& call, const router::MappedServer& server) {
  const uint64_t attempt = call->attempt;
  call->failed_server = server.name;
  const TimePoint now = process_->LocalNow();
  process_->RunAfter(call->machine.AttemptDeadline(now) - now,
                     [this, call, attempt] { OnAttemptEnd(call, attempt, AttemptEnd::kTimedOut); });
  SimServer* found = context_.server(server.endpoint);
  if (found == nullptr) {
    process_->RunAfter(context_.network.Delay(),
                       [this, call, attempt] { OnAttemptEnd(call, attempt, AttemptEnd::kUnsent); });
    return;
  }
  const Request request{.id = call->id, .shard = call->shard, .for_primary = call->for_primary};
  context_.network.Send(
      process_->host(), found->process(),
      [this, call, attempt, request, endpoint = server.endpoint, from = found->process()->host()] {
        SimServer* there = context_.server(endpoint);
        if (there == nullptr) return;
        there->Receive(request, [this, call, attempt, from](RequestEnd end) {
          context_.network.Send(from, process_, [this, call, attempt, end] {
            OnAttemptEnd(
                call, attempt,
                end == RequestEnd::kAnswered ? AttemptEnd::kAnswered : AttemptEnd::kRefused);
          });
        });
      });
}

void SimClient::OnAttemptEnd(const std::shared_ptr<Call>& call, uint64_t attempt, AttemptEnd end) {
  if (call != call_ || attempt != call->attempt || call->waits_for_map) return;
  if (end == AttemptEnd::kRefused) NoteTrouble(*call);
  Step(call, call->machine.OnAttemptEnd(process_->LocalNow(), end));
}

void SimClient::Step(const std::shared_ptr<Call>& call, CallMachine::Step step) {
  switch (step.next) {
    case CallMachine::Next::kFinish:
      return Finish(call, true);
    case CallMachine::Next::kAttempt:
      return Try(call);
    case CallMachine::Next::kWaitThenAttempt: {
      call->waits_for_map = true;
      const uint64_t attempt = call->attempt;
      process_->RunAfter(step.until - process_->LocalNow(),
                         [this, call, attempt] { Go(call, attempt); });
      return;
    }
    case CallMachine::Next::kAwaitOther:
      return;  // no simulated call is hedged
    case CallMachine::Next::kFailDeadline:
    case CallMachine::Next::kFailAmbiguous:
    case CallMachine::Next::kFailCancelled:
      return Finish(call, false);
  }
}

void SimClient::Go(const std::shared_ptr<Call>& call, uint64_t attempt) {
  if (call != call_ || attempt != call->attempt || !call->waits_for_map) return;
  call->waits_for_map = false;
  const CallMachine::Step step = call->machine.OnWaited(process_->LocalNow());
  Step(call, step);
}

void SimClient::NoteTrouble(const Call& call) {
  ++trouble_[call.shard];
  if (call.for_primary) ++primary_trouble_[call.shard];
}

void SimClient::Finish(const std::shared_ptr<Call>& call, bool answered) {
  if (call != call_) return;
  answered ? static_cast<void>(++counts_.answered) : NoteTrouble(*call);
  call_ = nullptr;
  process_->RunAfter(between_, [this] { Begin(); });
}

}  // namespace shardmanager::simulation
