// What the templates of callback_inl.h stand on.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <string>
#include <utility>

#include "runtime/logging.h"
#include "server/contain.h"
#include "server/forwarding.h"
#include "server/request_reader.h"
#include "shardmanager/server.h"

namespace shardmanager {

// ---- AdmittedCall

struct AdmittedCall::State {
  State(Admission of_call, grpc::CallbackServerContext& with_context,
        grpc::ServerUnaryReactor* with_reactor)
      : admission(std::move(of_call)),
        shard(admission.shard()),
        epoch(admission.epoch()),
        role(admission.role()),
        context(with_context),
        reactor(with_reactor) {}
  ~State() {
    if (finished) return;
    Finish({grpc::StatusCode::INTERNAL, "the service has dropped the call without an answer"});
  }

  void Finish(const grpc::Status& status) {
    if (finished.exchange(true)) {
      LogError("a call of shard {} was finished twice; the second status is lost: {}",
               shard.value(), status.error_message());
      return;
    }
    admission.Ended(status);
    // First, as the call may be the last one that its server waits for.
    static_cast<void>(Admission(std::move(admission)));
    server_internal::SayAdmitted(context, status);
    reactor->Finish(status);
  }

  Admission admission;
  const ShardId& shard;  // of the table: lives as long as the server
  const ShardEpoch epoch;
  const Role role;
  grpc::CallbackServerContext& context;
  grpc::ServerUnaryReactor* const reactor;
  std::atomic<bool> finished{false};
};

AdmittedCall::AdmittedCall(Admission admission, grpc::CallbackServerContext& context,
                           grpc::ServerUnaryReactor* reactor)
    : state_(std::make_shared<State>(std::move(admission), context, reactor)) {}

void AdmittedCall::Finish(const grpc::Status& status) const { state_->Finish(status); }
bool AdmittedCall::IsCancelled() const { return state_->context.IsCancelled(); }
const ShardId& AdmittedCall::shard() const { return state_->shard; }
ShardEpoch AdmittedCall::epoch() const { return state_->epoch; }
Role AdmittedCall::role() const { return state_->role; }

namespace server_internal {

grpc::Status Contain(absl::FunctionRef<void()> work) {
  const absl::Status status = server::Contained("the service", [&] {
    work();
    return absl::OkStatus();
  });
  if (status.ok()) return grpc::Status::OK;
  return {grpc::StatusCode::INTERNAL, std::string(status.message())};
}

void SayAdmitted(grpc::CallbackServerContext& context, const grpc::Status& status) {
  server::SayAdmitted(context, /*maybe_error=*/!status.ok());
}

void OnwardCall::PassInitialMetadata() const {
  server::Forwarding::PassInitialMetadata(*context_, *from_);
}
void OnwardCall::PassTrailingMetadata() const {
  server::Forwarding::PassTrailingMetadata(*context_, *from_);
}

}  // namespace server_internal
}  // namespace shardmanager
