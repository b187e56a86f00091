// The thin templates of router.h over its non-template core.
#pragma once

#include <grpcpp/support/status.h>

#include "shardmanager/router.h"

namespace shardmanager {

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
                               &sdk_internal::MakeStub<Stub>, attempt);
}

}  // namespace shardmanager
