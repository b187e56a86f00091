// Calls of gRPC services that a Controller answers.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/time.h"
#include "model/request_metadata.h"
#include "orchestrator/control/controller.h"
#include "wire/access/gate.h"
#include "wire/audit.h"
#include "wire/grpc_status.h"

namespace shardmanager::wire {

// How long the controller may take to answer a change whose client waits for `allowed`: at most
// 30 s, and a little less than the client allows, so that the client hears which component did
// not answer.
inline Duration PatienceWithin(Duration allowed) {
  allowed = std::min<Duration>(Seconds(30), allowed);
  return allowed - std::min(Milliseconds(500), allowed / 5);
}

// The gate of a controller's services: what was granted is what the controller has read.
inline Gate GateOf(std::shared_ptr<const Transport> transport,
                   const orchestrator::Controller& controller,
                   std::shared_ptr<security::Limits> limits = nullptr) {
  return Gate(
      std::move(transport), [&controller] { return controller.policy().Known(); },
      std::move(limits));
}

// Thread-safe: each call blocks its own thread until the controller has answered. Each is checked
// first: whether its caller has a role that may make it.
class ControllerCalls {
 public:
  using Operations = orchestrator::Operations;
  using LedPolicy = orchestrator::LedPolicy;
  using Clock = std::chrono::system_clock;

  struct Context {
    orchestrator::Controller& controller;  // must outlive it
    Gate gate;
    // How a client finds out what became of a change whose answer did not come.
    std::string advice;
    // Each change is an event that says who asked for it.
    bool record = true;
  };
  explicit ControllerCalls(Context context)
      : context_(std::move(context)),
        audit_(context_.record ? &context_.controller.events() : nullptr) {}

  const Gate& gate() const { return context_.gate; }

  // Questions that are under way, and all to come, are answered with UNAVAILABLE.
  void End() { ending_ = true; }
  bool ending() const { return ending_; }

  // A controller that has stopped answers nothing any more: that is noticed, too.
  template <typename Response>
  grpc::Status Await(const grpc::ServerContext& context,
                     std::promise<absl::StatusOr<Response>>& answer, Response* response) {
    auto future = answer.get_future();
    const Clock::time_point until = Clock::now() + kPatience;
    while (future.wait_for(kLook) != std::future_status::ready) {
      if (context.IsCancelled()) return grpc::Status::CANCELLED;
      if (ending_) return {grpc::StatusCode::UNAVAILABLE, "this process is stopping"};
      if (Clock::now() >= until) {
        return {grpc::StatusCode::UNAVAILABLE, "this process is busy and does not answer"};
      }
    }
    return Take(future.get(), response);
  }

  // Keep it until the call ends: it counts until then.
  struct Checked {
    grpc::Status status;
    security::OpenCounts::Open call = {};
    bool ok() const { return status.ok(); }
  };
  // Whether the caller may make the call with this request, and now.
  template <typename Request>
  Checked Check(grpc::ServerContext* context, const Request& request) {
    auto call = gate().BeginCall(context);
    if (!call.ok()) return {ToGrpc(call.status())};
    return {Refused(context, gate().Check(context, RuleFor<Request>(), AppOf(request))),
            *std::move(call)};
  }
  // Why a call is refused; names the leader, if that is the reason.
  grpc::Status Refused(grpc::ServerContext* context, const absl::Status& why) {
    if (absl::IsFailedPrecondition(why)) NameLeader(context);
    return ToGrpc(why);
  }

  template <typename Target, typename Request, typename Response>
  grpc::Status Ask(grpc::ServerContext* context, const Request* request, Response* response,
                   void (Target::*method)(Request, Operations::Reply<Response>)) {
    const Checked checked = Check(context, *request);
    if (!checked.ok()) return checked.status;
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    (Of(static_cast<Target*>(nullptr)).*method)(
        *request, [answer](auto r) { answer->set_value(std::move(r)); });
    grpc::Status status = Await(*context, *answer, response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) NameLeader(context);
    return status;
  }

  template <typename Target, typename Request, typename Response>
  grpc::Status Change(grpc::ServerContext* context, const Request* request, Response* response,
                      void (Target::*method)(Request, Operations::Reply<Response>,
                                             orchestrator::Wanted)) {
    const Checked checked = Check(context, *request);
    const std::string who = gate().WhoCalls(context);
    if (!checked.ok()) {
      if (checked.status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
        audit_.Denied(*request, who);
      }
      return checked.status;
    }
    const auto operation = OperationOf(context);
    if (!operation.ok()) return ToGrpc(operation.status());
    Request by_somebody = *request;
    if (!gate().IsUnknown(context)) PutWho(who, by_somebody);
    const bool leads = context_.controller.leads();
    const auto difference = std::make_shared<orchestrator::Difference>();
    const grpc::Status status =
        Make(context, by_somebody, response, method, difference, *operation);
    // Of a leader, UNAVAILABLE: the change may have happened, or may still happen.
    const bool may_be = leads && status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (status.ok() || may_be) {
      audit_.Changed(by_somebody, {who, *operation}, status, *difference);
    }
    return status;
  }

  // What `change` would come to, which is asked for within `request`. It is not made.
  template <typename Target, typename Request, typename Change, typename Response>
  grpc::Status Preview(grpc::ServerContext* context, const Request& request, const Change& change,
                       void (Target::*method)(Change, Operations::Reply<Response>,
                                              orchestrator::Wanted),
                       v1::PreviewResponse* preview) {
    const Checked checked = Check(context, request);
    if (!checked.ok()) return checked.status;
    const absl::Status may = gate().Check(context, RuleFor<Change>(), AppOf(change));
    if (!may.ok()) return Refused(context, may);
    Change by_somebody = change;
    if (!gate().IsUnknown(context)) PutWho(gate().WhoCalls(context), by_somebody);
    using orchestrator::Difference;
    const auto difference = std::make_shared<Difference>(Difference::Purpose::kPreview);
    Response response;
    grpc::Status status = Make(context, by_somebody, &response, method, difference);
    if (!status.ok()) return status;
    for (std::string& line : difference->lines()) preview->add_changes(std::move(line));
    for (std::string& line : difference->consequences()) preview->add_follows(std::move(line));
    return status;
  }

  // So that a client that met a standby can turn to the leader.
  void NameLeader(grpc::ServerContext* context) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetStatusResponse>>>();
    context_.controller.operations().GetStatus(
        [answer](auto result) { answer->set_value(std::move(result)); });
    v1::GetStatusResponse status;
    if (!Await(*context, *answer, &status).ok() || status.leading()) return;
    context->AddTrailingMetadata(request_metadata::kLeader, status.leader_endpoint());
  }

 private:
  Operations& Of(Operations*) { return context_.controller.operations(); }
  orchestrator::Levers& Of(orchestrator::Levers*) { return context_.controller.levers(); }
  LedPolicy& Of(LedPolicy*) { return context_.controller.policy(); }

  template <typename Target, typename Request, typename Response>
  grpc::Status Make(grpc::ServerContext* context, const Request& request, Response* response,
                    void (Target::*method)(Request, Operations::Reply<Response>,
                                           orchestrator::Wanted),
                    std::shared_ptr<orchestrator::Difference> difference,
                    const std::string& operation = "") {
    const Clock::time_point asked = Clock::now();
    auto caller = std::make_shared<Caller>(*context);
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    auto future = answer->get_future();
    (Of(static_cast<Target*>(nullptr)).*method)(
        request, [answer](auto r) { answer->set_value(std::move(r)); },
        orchestrator::Wanted([caller] { return caller->Waits(); }, std::move(difference),
                             operation));
    const Clock::time_point until = caller->Patience();
    while (future.wait_until(std::min(until, Clock::now() + kLook)) != std::future_status::ready) {
      if (!context->IsCancelled() && Clock::now() < until) continue;
      caller->Leaves();
      return UnknownOutcome(Clock::now() - asked);
    }
    grpc::Status status = Take(future.get(), response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) NameLeader(context);
    return status;
  }

  // One call: whether somebody waits for it. Outlives the call in what the controller was asked.
  class Caller {
   public:
    explicit Caller(const grpc::ServerContext& context) : deadline_(context.deadline()) {}

    void Leaves() { gone_ = true; }
    bool Waits() const { return !gone_ && Clock::now() < deadline_; }

    // Until then the controller may take to answer.
    Clock::time_point Patience() const {
      const Clock::time_point now = Clock::now();
      return now + PatienceWithin(std::chrono::duration_cast<Duration>(deadline_ - now));
    }

   private:
    const Clock::time_point deadline_;
    std::atomic<bool> gone_{false};
  };

  template <typename Response>
  static grpc::Status Take(absl::StatusOr<Response> result, Response* response) {
    if (!result.ok()) return ToGrpc(result.status());
    *response = *std::move(result);
    return grpc::Status::OK;
  }

  grpc::Status UnknownOutcome(Clock::duration waited) const {
    return {grpc::StatusCode::UNAVAILABLE,
            absl::StrCat("whether the change happened is unknown: ZooKeeper has not answered for ",
                         std::chrono::duration_cast<std::chrono::milliseconds>(waited).count(),
                         " ms, and the change may still happen when it does. ", context_.advice)};
  }

  // Longest wait for the controller; it answers at once unless the store hangs.
  static constexpr std::chrono::seconds kPatience{30};
  // How often to look whether the client has gone.
  static constexpr std::chrono::milliseconds kLook{100};

  const Context context_;
  const Audit audit_;
  std::atomic<bool> ending_{false};
};

}  // namespace shardmanager::wire
