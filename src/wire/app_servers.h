// The servers of one app: how they are reached, and how a call of theirs is known.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "wire/channel_pool.h"
#include "wire/transport.h"

namespace shardmanager::wire {

// Thread-safe.
class AppServers {
 public:
  AppServers(std::shared_ptr<const Transport> transport, std::string app)
      : transport_(std::move(transport)), app_(std::move(app)) {}

  std::shared_ptr<grpc::Channel> Open(const std::string& endpoint,
                                      const grpc::ChannelArguments& arguments) const {
    return transport_->Open(endpoint, security::AServerOf(app_), arguments);
  }
  // For many connections.
  OpenChannel Opener() const { return transport_->OpenerTo(security::AServerOf(app_)); }
  // Is the caller the one of this name ("": any)? As Transport::CheckCaller.
  absl::Status Contains(const grpc::ServerContextBase& context, const std::string& name) const {
    return transport_->CheckCaller(context, {security::AServerOf(app_, name)});
  }

 private:
  const std::shared_ptr<const Transport> transport_;
  const std::string app_;
};

}  // namespace shardmanager::wire
