// Who changed what, and who was denied it: events of the leader.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "orchestrator/shell/difference.h"
#include "orchestrator/shell/event_log.h"
#include "wire/access/gate.h"

namespace shardmanager::wire {

// By which id what follows from the call is found: the caller's, or a new one; the answer names it.
// INVALID_ARGUMENT: runtime/operation_id.h does not allow it.
absl::StatusOr<std::string> OperationOf(grpc::ServerContext* context);

// Thread-safe.
class Audit {
 public:
  // `events` must outlive it. Null: nothing is recorded.
  explicit Audit(orchestrator::EventLog* events) : events_(events) {}

  struct Asked {
    const std::string& who;
    const std::string& operation;
  };
  // A change that was made; if `status` is not OK, one that may still happen.
  template <typename Request>
  void Changed(const Request& request, Asked by, const grpc::Status& status,
               const orchestrator::Difference& difference) const {
    if constexpr (requires { request.dry_run(); }) {
      if (request.dry_run()) return;
    }
    if (events_ == nullptr || difference.is_none()) return;
    orchestrator::AskedChange change = ChangeOf(request, by.who);
    if (change.operation.empty()) change.operation = by.operation;
    if (!status.ok()) absl::StrAppend(&change.what, ": ", status.error_message());
    change.changes = difference.lines();
    events_->RecordChange(std::move(change));
  }

  // Somebody asked for what is not theirs to change. (The gate logs it.)
  template <typename Request>
  void Denied(const Request& request, const std::string& who) const {
    if (events_ == nullptr) return;
    const orchestrator::AskedChange change = ChangeOf(request, who);
    v1::ControlEvent event;
    event.set_kind("ChangeDenied");
    event.set_app(change.app);
    event.set_message(change.what);
    event.set_by(change.by);
    events_->Append(std::move(event));
  }

 private:
  template <typename Request>
  static orchestrator::AskedChange ChangeOf(const Request& request, const std::string& who) {
    const security::Rule* rule = RuleFor<Request>();
    orchestrator::AskedChange change;
    change.app = AppOf(request);
    change.by = who;
    change.what =
        absl::StrCat(rule == nullptr ? Request::descriptor()->name() : std::string(rule->method),
                     " { ", request.ShortDebugString().substr(0, kLongestChange), " }");
    if constexpr (requires { request.server(); }) change.server = request.server();
    if constexpr (requires { request.to(); }) change.server = request.to();
    if constexpr (requires { request.shard(); }) change.shard = request.shard();
    if constexpr (requires { request.pin().shard(); }) change.shard = request.pin().shard();
    if constexpr (requires { request.scope().server(); }) change.server = request.scope().server();
    if constexpr (requires { request.drain().scope().server(); }) {
      change.server = request.drain().scope().server();
    }
    if constexpr (requires {
                    request.id();
                    request.manager();
                  }) {
      change.operation = request.id();
    }
    return change;
  }

  // Of a request, in an event: bytes of its text.
  static constexpr size_t kLongestChange = 300;

  orchestrator::EventLog* const events_;
};

}  // namespace shardmanager::wire
