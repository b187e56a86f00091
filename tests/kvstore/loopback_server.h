// A gRPC server of one test of kvstore.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kvstore {

// Keeps its port over restarts: it is found again by its endpoint.
class LoopbackServer {
 public:
  ~LoopbackServer() { Stop(); }

  void Start(grpc::Service& service) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(endpoint(), grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  // REQUIRES: the service is still there. May be called twice.
  void Stop() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  int port() const { return port_; }
  std::string endpoint() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace kvstore
