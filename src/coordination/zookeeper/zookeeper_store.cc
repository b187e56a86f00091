#include "coordination/zookeeper/zookeeper_store.h"

#include "coordination/zookeeper/zookeeper_session.h"

namespace shardmanager {

std::unique_ptr<CoordinationStore> ZookeeperStoreFactory::NewSession(SessionOptions options) {
  if (access_ != nullptr) options.access = access_;
  return std::make_unique<ZookeeperSession>(connect_string_, std::move(options));
}

}  // namespace shardmanager
