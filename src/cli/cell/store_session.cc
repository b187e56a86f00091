#include "cli/cell/store_session.h"

#include "absl/strings/str_cat.h"
#include "coordination/zookeeper/zookeeper_store.h"

namespace shardmanager::cli {

absl::StatusOr<std::unique_ptr<StoreSession>> StoreSession::Open(
    const std::string& zookeeper, std::shared_ptr<StoreAccess> access,
    std::chrono::milliseconds patience) {
  std::unique_ptr<StoreSession> session(new StoreSession);
  SessionOptions options;
  options.on_state = [s = session.get()](SessionState state) {
    if (state != SessionState::kConnected) return;
    std::lock_guard lock(s->mutex_);
    s->connected_ = true;
    s->changed_.notify_all();
  };
  session->store_ =
      ZookeeperStoreFactory(zookeeper, std::move(access)).NewSession(std::move(options));
  std::unique_lock lock(session->mutex_);
  const bool connected =
      session->changed_.wait_for(lock, patience, [&] { return session->connected_; });
  lock.unlock();
  if (connected) return session;
  return absl::UnavailableError(
      absl::StrCat("ZooKeeper at ", zookeeper, " does not answer (--zookeeper, --timeout)"));
}

}  // namespace shardmanager::cli
