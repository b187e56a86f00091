// A port that takes connections with TLS and without, for as long as a cell goes from the one to
// the other.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <thread>

namespace shardmanager::wire {

// gRPC's ports take one kind of credentials each. So this one takes the connections itself, looks
// at the first byte of each (TLS begins with 22, HTTP/2 with 'P'), and hands it over.
class MixedPort {
 public:
  // Listens at `address`, "host:port"; `*port` is the port, or 0 if that failed (then null is
  // returned).
  static std::unique_ptr<MixedPort> Listen(const std::string& address,
                                           std::shared_ptr<grpc::ServerCredentials> secure,
                                           std::shared_ptr<grpc::ServerCredentials> plain,
                                           grpc::ServerBuilder& builder, int* port);
  // Takes no more connections. May go before the gRPC server or after it.
  ~MixedPort();
  MixedPort(const MixedPort&) = delete;
  MixedPort& operator=(const MixedPort&) = delete;

  // The gRPC server has been started: before, it would close what it is given. Those who connect
  // before wait.
  void Begin();

 private:
  using Acceptor = std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor>;
  MixedPort(int listener, int wake, Acceptor secure, Acceptor plain);
  void Take();
  void HandOver(int connection);

  const int listener_;
  const int wake_;  // readable: stop
  const Acceptor secure_;
  const Acceptor plain_;
  std::thread thread_;
};

}  // namespace shardmanager::wire
