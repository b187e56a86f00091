// How the processes of a cell, its servers and its clients reach each other. Credentials are made
// here and nowhere else.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

namespace shardmanager::wire {

using Credentials = std::shared_ptr<grpc::ChannelCredentials>;

// Connects when it is first used. Credentials null: insecure.
inline std::shared_ptr<grpc::Channel> OpenChannel(const std::string& endpoint,
                                                  grpc::ChannelArguments arguments = {},
                                                  Credentials credentials = nullptr) {
  // These connections stay inside the cell: they must not go through an `http_proxy` for the
  // outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (credentials == nullptr) credentials = grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(endpoint, credentials, arguments);
}

// Once the server is built, `*port` is the port that it listens at, or 0 if it could listen at
// none. `port` may be null.
inline void ListenAt(const std::string& address, grpc::ServerBuilder& builder, int* port) {
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
}

}  // namespace shardmanager::wire
