// Sends requests on, as the old owner of a handover: a call of this process is made out of
// the one that it serves, and everything of it passes through but who is meant.
#pragma once

#include <memory>
#include <string>

#include "server/handover.h"
#include "wire/channel_pool.h"

namespace grpc {
class ClientContext;
class ServerContext;
}  // namespace grpc

namespace shardmanager::server {

// Thread-safe.
class Forwarding {
 public:
  // `self`: this server's name.
  explicit Forwarding(std::string self) : self_(std::move(self)) {}

  // There will be a need for it soon.
  void Connect(const std::string& endpoint);
  // Null: there is no connection, and none by `until`; nothing was sent.
  std::shared_ptr<wire::ServerChannel> Reach(const Successor& to, TimePoint until);

  // The onward call: with the deadline, the cancellation and the metadata of `from`.
  std::unique_ptr<grpc::ClientContext> Onward(const grpc::ServerContext& from,
                                              const Successor& to) const;
  // What came back with it. Each once.
  static void PassInitialMetadata(const grpc::ClientContext& onward, grpc::ServerContext& from);
  static void PassTrailingMetadata(const grpc::ClientContext& onward, grpc::ServerContext& from);

 private:
  const std::string self_;
  wire::ChannelPool channels_{256};
};

}  // namespace shardmanager::server
