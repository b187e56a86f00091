// Sends requests on, as the old owner of a handover: a call of this process is made out of
// the one that it serves, and everything of it passes through but who is meant.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "server/handover.h"
#include "wire/channel_pool.h"
#include "wire/connection_waits.h"
#include "wire/request_address.h"

namespace grpc {
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace shardmanager::server {

// Thread-safe.
class Forwarding {
 public:
  // `self`: this server's name. `open`: to a server of the app.
  Forwarding(const std::string& app, const std::string& self, wire::OpenChannel open)
      : app_(app), self_(self), read_address_(app, self), channels_(256, std::move(open)) {}

  // There will be a need for it: calls `then` once, when there is a connection, or none by `until`.
  void Connect(const std::string& endpoint, TimePoint until, std::function<void()> then);
  // What is awaited is told that there is no connection. REQUIRES: nothing else is called after it.
  void Finish() { connects_.reset(); }
  // Null: there is no connection, and none by `until`; nothing was sent.
  std::shared_ptr<wire::ServerChannel> Reach(const Successor& to, TimePoint until);
  // The same without a thread that waits: `reached` is called once, here if the answer is known.
  void Reach(const Successor& to, TimePoint until,
             std::function<void(std::shared_ptr<wire::ServerChannel>)> reached);

  // The onward call: with the deadline, the cancellation and the metadata of `from`.
  std::unique_ptr<grpc::ClientContext> Onward(const grpc::ServerContextBase& from,
                                              const Successor& to) const;
  // What came back with it. Each once.
  static void PassInitialMetadata(const grpc::ClientContext& onward, grpc::ServerContextBase& from);
  static void PassTrailingMetadata(const grpc::ClientContext& onward,
                                   grpc::ServerContextBase& from);

 private:
  wire::ConnectionWaits& connects();
  void AddressTo(const Successor& to, const grpc::ServerContextBase& from,
                 grpc::ClientContext& onward) const;

  const std::string app_;
  const std::string self_;
  const wire::AddressReader read_address_;
  wire::ChannelPool channels_;
  std::once_flag first_wait_;  // most servers need none
  std::unique_ptr<wire::ConnectionWaits> connects_;
};

}  // namespace shardmanager::server
