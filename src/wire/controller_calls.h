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
#include "wire/grpc_status.h"

namespace shardmanager::wire {

// How long the controller may take to answer a change whose client waits for `allowed`: at most
// 30 s, and a little less than the client allows, so that the client hears which component did
// not answer.
inline Duration PatienceWithin(Duration allowed) {
  allowed = std::min<Duration>(Seconds(30), allowed);
  return allowed - std::min(Milliseconds(500), allowed / 5);
}

// Thread-safe: each call blocks its own thread until the controller has answered.
class ControllerCalls {
 public:
  using Operations = orchestrator::Operations;
  using Clock = std::chrono::system_clock;

  // `controller` must outlive it. `advice`: how a client finds out what became of a change whose
  // answer did not come.
  ControllerCalls(orchestrator::Controller& controller, std::string advice)
      : controller_(controller), advice_(std::move(advice)) {}

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

  template <typename Request, typename Response>
  grpc::Status Ask(grpc::ServerContext* context, const Request* request, Response* response,
                   void (Operations::*method)(Request, Operations::Reply<Response>)) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    (controller_.operations().*method)(*request,
                                       [answer](auto r) { answer->set_value(std::move(r)); });
    grpc::Status status = Await(*context, *answer, response);
    if (status.error_code() == grpc::StatusCode::FAILED_PRECONDITION) NameLeader(context);
    return status;
  }

  template <typename Request, typename Response>
  grpc::Status Change(grpc::ServerContext* context, const Request* request, Response* response,
                      void (Operations::*method)(Request, Operations::Reply<Response>,
                                                 orchestrator::Wanted)) {
    const Clock::time_point asked = Clock::now();
    auto caller = std::make_shared<Caller>(*context);
    auto answer = std::make_shared<std::promise<absl::StatusOr<Response>>>();
    auto future = answer->get_future();
    (controller_.operations().*method)(
        *request, [answer](auto r) { answer->set_value(std::move(r)); },
        [caller] { return caller->Waits(); });
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

  // So that a client that met a standby can turn to the leader.
  void NameLeader(grpc::ServerContext* context) {
    auto answer = std::make_shared<std::promise<absl::StatusOr<v1::GetStatusResponse>>>();
    controller_.operations().GetStatus(
        [answer](auto result) { answer->set_value(std::move(result)); });
    v1::GetStatusResponse status;
    if (!Await(*context, *answer, &status).ok() || status.leading()) return;
    context->AddTrailingMetadata(request_metadata::kLeader, status.leader_endpoint());
  }

 private:
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
                         " ms, and the change may still happen when it does. ", advice_)};
  }

  // Longest wait for the controller; it answers at once unless the store hangs.
  static constexpr std::chrono::seconds kPatience{30};
  // How often to look whether the client has gone.
  static constexpr std::chrono::milliseconds kLook{100};

  orchestrator::Controller& controller_;
  const std::string advice_;
  std::atomic<bool> ending_{false};
};

}  // namespace shardmanager::wire
