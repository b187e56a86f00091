// For whom a request is, by its headers: in the form of one header, or in that of several
// (model/request_metadata.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/handover.h"
#include "wire/request_address.h"

namespace grpc {
class ServerContextBase;
}

namespace shardmanager::server {

// Empty: there is none. A view into the context.
std::string_view Header(const grpc::ServerContextBase& context, std::string_view name);

// Tells the router that the answer is the application's, which it must know of an error.
// `maybe_error`: the status is one, or is not known yet.
void SayAdmitted(grpc::ServerContextBase& context, bool maybe_error);

// What a request asks for. Views into its context.
struct Addressed {
  const char* refusal = nullptr;  // it is not for us; the rest means nothing then
  std::string_view shard = {};
  std::optional<Forwarder> forwarder = std::nullopt;  // who sends it on
  bool for_primary = false;
};

// Of one server.
class RequestReader {
 public:
  RequestReader(const std::string& app, const std::string& server)
      : app_(app), server_(server), read_address_(app, server) {}

  Addressed operator()(const grpc::ServerContextBase& context) const;

 private:
  Addressed ReadSeveral(const grpc::ServerContextBase& context) const;

  const std::string app_;
  const std::string server_;
  const wire::AddressReader read_address_;
};

}  // namespace shardmanager::server
