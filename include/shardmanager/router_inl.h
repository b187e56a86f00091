// The thin templates of router.h over its non-template core.
#pragma once

#include <grpcpp/support/status.h>

#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "shardmanager/router.h"

namespace shardmanager {
namespace router_internal {

template <typename Stub, typename Method, typename Held, typename Response>
class AsyncMethodWith final : public AsyncMethod {
 public:
  AsyncMethodWith(Method method, Held request, Response* response)
      : method_(method), request_(std::forward<Held>(request)), response_(response) {}

  void Start(void* stub, grpc::ClientContext* context, size_t attempt, Done done) override {
    Response* const to = attempt == 0 ? response_ : &hedged_.emplace();
    (static_cast<Stub*>(stub)->async()->*method_)(context, &request_, to, std::move(done));
  }
  void TakeResponse(size_t attempt) override {
    if (attempt != 0) *response_ = *std::move(hedged_);
  }

 private:
  const Method method_;
  const Held request_;
  Response* const response_;
  std::optional<Response> hedged_;
};

std::shared_ptr<StreamState> NewStream(const std::shared_ptr<Binding>& binding);

}  // namespace router_internal

template <typename Service>
template <typename Request, typename Response>
grpc::Status Client<Service>::Call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                                   const Request& request, Response* response,
                                   const CallOptions& options) {
  const auto attempt = [&](void* stub, grpc::ClientContext* context) {
    return (static_cast<Stub*>(stub)->*method)(context, request, response);
  };
  return router_internal::Call(Target(), options, &sdk_internal::MakeStub<Stub>, attempt);
}

template <typename Service>
template <typename Held, typename Request, typename Response>
PendingCall Client<Service>::Start(AsyncMethodOf<Request, Response> method, Held request,
                                   Response* response, const CallOptions& options,
                                   Callback callback) {
  using Method =
      router_internal::AsyncMethodWith<Stub, AsyncMethodOf<Request, Response>, Held, Response>;
  return PendingCall(router_internal::CallAsync(
      Target(), options, &sdk_internal::MakeStub<Stub>,
      std::make_unique<Method>(method, std::forward<Held>(request), response),
      std::move(callback)));
}

template <typename Service>
template <typename Request, typename Response>
PendingCall Client<Service>::CallAsync(AsyncMethodOf<Request, Response> method, Request request,
                                       Response* response, const CallOptions& options,
                                       Callback callback) {
  return Start<Request, Request, Response>(method, std::move(request), response, options,
                                           std::move(callback));
}

template <typename Service>
template <typename Request, typename Response>
grpc::Status Client<Service>::Call(AsyncMethodOf<Request, Response> method, const Request& request,
                                   Response* response, const CallOptions& options) {
  std::promise<grpc::Status> done;
  Start<const Request&, Request, Response>(
      method, request, response, options,
      [&done](grpc::Status status) { done.set_value(std::move(status)); });
  return done.get_future().get();
}

template <typename Service>
template <typename Request, typename Response>
std::future<CallResult<Response>> Client<Service>::CallFuture(
    AsyncMethodOf<Request, Response> method, Request request, const CallOptions& options) {
  struct State {
    std::promise<CallResult<Response>> promise;
    Response response;
  };
  auto state = std::make_shared<State>();
  auto future = state->promise.get_future();
  Response* const response = &state->response;
  CallAsync(method, std::move(request), response, options, [state](grpc::Status status) {
    state->promise.set_value({std::move(status), std::move(state->response)});
  });
  return future;
}

template <typename Service>
StreamContext Bound<Service>::NewContext() const {
  return StreamContext(router_internal::NewStream(to_.binding));
}

template <typename Service>
Bound<Service> Client<Service>::Bind(const CallOptions& options, const StreamContext* ended) {
  return Bound<Service>(router_internal::Bind(Target(), options, &sdk_internal::MakeStub<Stub>,
                                              ended == nullptr ? nullptr : ended->state_.get()));
}

}  // namespace shardmanager
