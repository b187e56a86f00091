#include "server/held/callback_admission.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "runtime/clock.h"
#include "server/server_impl.h"

namespace shardmanager::server {

CallbackAdmission::CallbackAdmission(ServerImpl& server, const server_internal::RequestHooks& hooks,
                                     AdmissionTable& gates, Forwarding& forwarding, int threads)
    : server_(server),
      hooks_(hooks),
      forwarding_(forwarding),
      held_(
          gates,
          [&server](const Admitted& held, TimePoint until) {
            return server.HeldUntil(held, until);
          },
          threads) {}

std::optional<Admission> CallbackAdmission::AdmitAtOnce(grpc::CallbackServerContext& context,
                                                        server_internal::EndedBy ended_by) {
  const Admitted admitted = server_.Ask(context, Duration(0));
  const bool waits = admitted.held_at != nullptr || admitted.forward_to != nullptr;
  return waits ? std::nullopt : std::optional(server_.Answer(context, admitted, ended_by));
}

// What it captures lives until the call has ended, which is not before the arrival has heard.
std::shared_ptr<server_internal::Wait> CallbackAdmission::AdmitLater(
    grpc::CallbackServerContext& context, sdk_internal::StubFactory make_stub,
    server_internal::Arrival& arrival, server_internal::EndedBy ended_by) {
  return held_.Admit([this, &context] { return server_.Ask(context, Duration(0)); },
                     server_.PatienceOf(context),
                     [=, this, &context, &arrival](Admitted admitted, bool cancelled) {
                       if (!cancelled) {
                         return GoOn(context, std::move(admitted), make_stub, arrival, ended_by);
                       }
                       arrival.End({grpc::StatusCode::CANCELLED, "cancelled while it was held"});
                     });
}

void CallbackAdmission::GoOn(grpc::CallbackServerContext& context, Admitted admitted,
                             sdk_internal::StubFactory make_stub, server_internal::Arrival& arrival,
                             server_internal::EndedBy ended_by) {
  if (admitted.forward_to != nullptr && make_stub != nullptr) {
    return SendOn(context, std::move(admitted), make_stub, arrival);
  }
  Admission admission = server_.Answer(context, admitted, ended_by);
  if (!admission.ok()) return arrival.End(admission.status());
  arrival.Process(std::move(admission));
}

void CallbackAdmission::SendOn(grpc::CallbackServerContext& context, Admitted admitted,
                               sdk_internal::StubFactory make_stub,
                               server_internal::Arrival& arrival) {
  const auto to = std::make_shared<Admitted>(std::move(admitted));
  forwarding_.Reach(
      *to->forward_to, MonotonicNow() + server_.PatienceOf(context),
      [this, &context, to, make_stub, &arrival](const auto& channel) {
        // It cannot be reached; nothing was sent.
        if (channel == nullptr) return arrival.End(server_.Answer(context, *to).status());
        hooks_.Forwarded();
        arrival.SendOn(server_internal::OnwardCall(
            channel->Stub(make_stub), forwarding_.Onward(context, *to->forward_to), context));
      });
}

void CallbackAdmission::Admit(const ShardId& shard, Duration patience,
                              std::function<void(Admission)> then) {
  const auto ask = [this, shard] {
    return server_.Ask({.shard = shard.value(), .own_work = true}, Duration(0));
  };
  held_.Admit(ask, patience, [this, then = std::move(then)](const Admitted& admitted, bool) {
    server_internal::Contain([&] { then(server_.ToAdmission(admitted)); });
  });
}

}  // namespace shardmanager::server
