// Apache ZooKeeper as a CoordinationStore.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "coordination/store.h"

namespace shardmanager {

// Makes sessions with one ZooKeeper, or one ensemble. NewSession returns at once and
// the session keeps trying to connect, saying so now and then in the log.
//
// Plain TCP: Debian's C client has neither TLS nor SASL, so passwords can be read on the network.
// deploy/stunnel has a recipe for TLS. Without `access` nodes are open to everyone who can reach
// ZooKeeper.
class ZookeeperStoreFactory final : public CoordinationStoreFactory {
 public:
  // `connect_string`: "host:port[,host:port...]", with an optional "/folder" behind,
  // below which all paths are then.
  // `access`: who all sessions are (SessionOptions::access), or null.
  explicit ZookeeperStoreFactory(std::string connect_string,
                                 std::shared_ptr<StoreAccess> access = nullptr)
      : connect_string_(std::move(connect_string)), access_(std::move(access)) {}

  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override;

 private:
  const std::string connect_string_;
  const std::shared_ptr<StoreAccess> access_;
};

}  // namespace shardmanager
