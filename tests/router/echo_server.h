// An application server for the router's tests, which does what the test says.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "tests/router/echo.grpc.pb.h"

namespace shardmanager::router {

class EchoServer {
 public:
  // What a request, or a message of a stream, is answered with.
  using Behaviour = std::function<grpc::Status(grpc::ServerContext& context)>;

  // `credentials` null: insecure.
  explicit EchoServer(std::string name, int port = 0,
                      std::shared_ptr<grpc::ServerCredentials> credentials = nullptr);
  ~EchoServer();

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  const std::string& name() const { return name_; }

  // Thread-safe; holds for requests that begin from now on.
  void Do(Behaviour behaviour);
  int requests() const { return requests_; }
  // Waits until so many have begun.
  bool AwaitRequests(int count);
  // Ends those that Hang holds, with UNKNOWN.
  void LetGo();

  // Behaviours. Refuse and Answer: as the server library does.
  static Behaviour Process();
  static Behaviour Refuse(std::string reason);
  static Behaviour Answer(grpc::Status status);
  // Never answers, until LetGo() or the end.
  Behaviour Hang();

 private:
  class Service;

  const std::string name_;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  Behaviour behaviour_ = Process();
  bool let_go_ = false;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace shardmanager::router
