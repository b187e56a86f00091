// The service of a CounterServer, in each of the two forms that gRPC has for services.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

namespace shardmanager {

class CounterServer;

// `at` must outlive them.
std::unique_ptr<grpc::Service> NewBlockingCounter(CounterServer& at);
std::unique_ptr<grpc::Service> NewCallbackCounter(CounterServer& at);

}  // namespace shardmanager
