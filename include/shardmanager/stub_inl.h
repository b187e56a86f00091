// What the templates of server.h and router.h stand on; not for use outside.
#pragma once

#include <memory>

namespace grpc {
class ChannelInterface;
}

namespace shardmanager::sdk_internal {

// Makes a stub of one service. The pointer identifies the service.
using StubFactory =
    std::shared_ptr<void> (*)(const std::shared_ptr<grpc::ChannelInterface>& channel);

template <typename Stub>
std::shared_ptr<void> MakeStub(const std::shared_ptr<grpc::ChannelInterface>& channel) {
  return std::make_shared<Stub>(channel);
}

}  // namespace shardmanager::sdk_internal
