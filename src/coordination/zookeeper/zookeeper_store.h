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
// Plain TCP, no authentication, nodes open to everyone who can reach ZooKeeper:
// Debian's C client has neither TLS nor SASL. Keep ZooKeeper on a closed network.
class ZookeeperStoreFactory final : public CoordinationStoreFactory {
 public:
  // `connect_string`: "host:port[,host:port...]", with an optional "/folder" behind,
  // below which all paths are then.
  explicit ZookeeperStoreFactory(std::string connect_string)
      : connect_string_(std::move(connect_string)) {}

  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override;

 private:
  const std::string connect_string_;
};

}  // namespace shardmanager
