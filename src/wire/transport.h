// How the processes of a cell, its servers and its clients reach each other. Credentials are made
// here and nowhere else.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/identity.h"
#include "shardmanager/security.h"
#include "wire/mixed_port.h"

namespace shardmanager::wire {

// The connections of one process: either all of them with TLS and certificates on both sides, or
// none (while a cell migrates, both kinds). Certificates are read again from their files.
// Immutable, thread-safe.
//
// Who is at the other end is decided when a connection is made: its certificate was signed by an
// authority that is believed, it is in time, and its identity is one of those that were expected.
// gRPC's own checks of these are off: its errors would name neither the identity nor the date.
class Transport {
 public:
  // Nothing is encrypted, and everybody is believed.
  static std::shared_ptr<const Transport> Insecure();
  // `cell`: this process is of it ("": of any), and one of `self`: its certificate must say so.
  // Logs what is wrong without being an error. INVALID_ARGUMENT,
  // FAILED_PRECONDITION: why these files cannot be used.
  static absl::StatusOr<std::shared_ptr<const Transport>> Make(
      const Security& security, std::string_view cell, const std::vector<security::Expected>& self);
  ~Transport();

  bool is_secure() const { return files_ != nullptr; }
  // REQUIRES: is_secure().
  const security::Identity& self() const;
  // Who this process is, by which file and until when. For its log.
  std::string About() const;

  // Connects when it is first used, to nobody but `to`. A call that finds somebody else fails with
  // UNAVAILABLE, and says who was found.
  std::shared_ptr<grpc::Channel> Open(const std::string& endpoint, const security::Expected& to,
                                      grpc::ChannelArguments arguments = {}) const;
  // That, bound to `to`: for a ChannelPool. May outlive this.
  std::function<std::shared_ptr<grpc::Channel>(const std::string&, grpc::ChannelArguments)>
  OpenerTo(security::Expected to) const;
  // Once the server is built, `*port` is the port that it listens at, or 0 if it could listen at
  // none. `port` may be null. Nobody but one of `from` can connect. What is returned goes to
  // StartWith().
  std::unique_ptr<MixedPort> ListenAt(const std::string& address,
                                      const std::vector<security::Expected>& from,
                                      grpc::ServerBuilder& builder, int* port) const;

  // Whose connection this call came by. UNAUTHENTICATED: it has no identity. REQUIRES:
  // is_secure().
  absl::StatusOr<security::Identity> CallerOf(const grpc::ServerContextBase& context) const;
  // OK: the call is of one of these, or this transport is insecure. PERMISSION_DENIED says who it
  // is, and who may make it.
  absl::Status CheckCaller(const grpc::ServerContextBase& context,
                           const std::vector<security::Expected>& may) const;

 private:
  class Files;
  Transport(std::shared_ptr<const Files> files, Security::Migration migration);
  bool takes_plain() const { return migration_ != Security::Migration::kNone; }

  const std::shared_ptr<const Files> files_;  // null: insecure
  const Security::Migration migration_;
};

// A gRPC server and what takes connections for it.
struct ServerAndPort {
  std::unique_ptr<MixedPort> port;  // null: gRPC does it itself
  std::unique_ptr<grpc::Server> server;
};
// Builds and starts it. It could not listen if the server is null, or ListenAt() gave port 0.
ServerAndPort StartWith(std::unique_ptr<MixedPort> port, grpc::ServerBuilder& builder);

// The same with credentials of the application's own. Null: insecure.
std::shared_ptr<grpc::Channel> OpenWith(std::shared_ptr<grpc::ChannelCredentials> credentials,
                                        const std::string& endpoint,
                                        grpc::ChannelArguments arguments);

}  // namespace shardmanager::wire
