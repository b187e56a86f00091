// The thin templates of router.h over its non-template core.
#pragma once

#include <grpcpp/support/status.h>

#include <memory>

#include "shardmanager/router.h"

namespace shardmanager {

namespace router_internal {

template <typename Service>
std::shared_ptr<void> MakeStub(const std::shared_ptr<grpc::ChannelInterface>& channel) {
  return std::shared_ptr<typename Service::Stub>(Service::NewStub(channel));
}

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
  return router_internal::Call({app_, key_or_shard_, by_shard_}, options,
                               &router_internal::MakeStub<Service>, attempt);
}

}  // namespace shardmanager
