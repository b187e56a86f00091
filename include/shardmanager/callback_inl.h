// The templates of server.h for services of gRPC's callback API, over its non-template core.
//
// A call that is admitted at once gets the reactor of the application, and nothing of the library
// stands between the two. A call that waits gets a late one (late_inl.h).
#pragma once

#include <grpcpp/support/server_callback.h>

#include <optional>
#include <type_traits>
#include <utility>

#include "shardmanager/late_inl.h"
#include "shardmanager/server.h"

namespace shardmanager::server_internal {

// Ends a call with a status.
template <typename Reactor>
class EndedReactor final : public Reactor {
 public:
  explicit EndedReactor(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace shardmanager::server_internal

namespace shardmanager {

template <typename Work, typename Begin>
grpc::ServerUnaryReactor* Server::AdmitUnary(grpc::CallbackServerContext& context,
                                             sdk_internal::StubFactory make_stub, Work work,
                                             Begin begin) {
  using server_internal::EndedBy;
  if (std::optional<Admission> admission = AdmitAtOnce(context, EndedBy::kLibrary)) {
    grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
    if (!admission->ok()) {
      reactor->Finish(admission->status());
    } else {
      server_internal::ProcessUnary(*std::move(admission), context, reactor, work);
    }
    return reactor;
  }
  auto* late =
      new server_internal::LateUnary<Work, Begin>(context, std::move(work), std::move(begin));
  late->AwaitWith(AdmitLater(context, make_stub, *late, EndedBy::kLibrary));
  return late;
}

template <typename Service, typename Request, typename Response, typename Work>
grpc::ServerUnaryReactor* Server::Admit(grpc::CallbackServerContext& context,
                                        UnaryMethodOf<Service, Request, Response> method,
                                        const Request* request, Response* response, Work work) {
  using Stub = typename Service::Stub;
  return AdmitUnary(context, &sdk_internal::MakeStub<Stub>, std::move(work),
                    [=](void* stub, grpc::ClientContext* call, auto done) {
                      (static_cast<Stub*>(stub)->async()->*method)(call, request, response,
                                                                   std::move(done));
                    });
}

template <typename Work>
grpc::ServerUnaryReactor* Server::Admit(grpc::CallbackServerContext& context, Work work) {
  return AdmitUnary(context, nullptr, std::move(work), [](void*, grpc::ClientContext*, auto) {});
}

template <typename Late, typename Reactor>
Reactor* Server::AdmitStream(grpc::CallbackServerContext& context,
                             sdk_internal::StubFactory make_stub, MakeReactor<Reactor> make,
                             typename Late::Start start) {
  using Ended = server_internal::EndedReactor<Reactor>;
  using server_internal::EndedBy;
  if (std::optional<Admission> admission = AdmitAtOnce(context, EndedBy::kApplication)) {
    if (!admission->ok()) return new Ended(admission->status());
    grpc::Status failed;
    Reactor* reactor = server_internal::MakeContained(make, *std::move(admission), failed);
    return reactor == nullptr ? new Ended(failed) : reactor;
  }
  auto* late = new Late(std::move(make), std::move(start));
  late->AwaitWith(AdmitLater(context, make_stub, *late, EndedBy::kApplication));
  return late;
}

template <typename Service, typename Request, typename Response>
grpc::ServerWriteReactor<Response>* Server::Admit(
    grpc::CallbackServerContext& context, ServerStreamOf<Service, Request, Response> method,
    const Request* request,
    std::type_identity_t<MakeReactor<grpc::ServerWriteReactor<Response>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateWriter<Response>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, request, pump);
      });
}

template <typename Service, typename Request, typename Response>
grpc::ServerReadReactor<Request>* Server::Admit(
    grpc::CallbackServerContext& context, ClientStreamOf<Service, Request, Response> method,
    Response* response, std::type_identity_t<MakeReactor<grpc::ServerReadReactor<Request>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateReader<Request>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, response, pump);
      });
}

template <typename Service, typename Request, typename Response>
grpc::ServerBidiReactor<Request, Response>* Server::Admit(
    grpc::CallbackServerContext& context, BidiStreamOf<Service, Request, Response> method,
    std::type_identity_t<MakeReactor<grpc::ServerBidiReactor<Request, Response>>> make) {
  using Stub = typename Service::Stub;
  return AdmitStream<server_internal::LateBidi<Request, Response>>(
      context, &sdk_internal::MakeStub<Stub>, std::move(make),
      [=](void* stub, grpc::ClientContext* call, auto* pump) {
        (static_cast<Stub*>(stub)->async()->*method)(call, pump);
      });
}

}  // namespace shardmanager
