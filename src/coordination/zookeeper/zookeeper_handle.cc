#include "coordination/zookeeper/zookeeper_handle.h"

#include "coordination/zookeeper/zookeeper_log.h"

#if defined(__SANITIZE_ADDRESS__)
// The C client forgets to free answers that arrive while a handle is closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt\n"; }
#endif

namespace shardmanager {

std::unique_ptr<ZookeeperHandle> ZookeeperHandle::Open(const std::string& connect_string,
                                                       std::chrono::milliseconds timeout,
                                                       const clientid_t* resume, Events events) {
  zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
  std::unique_ptr<ZookeeperHandle> handle(new ZookeeperHandle(std::move(events)));
  handle->handle_ =
      zookeeper_init2(connect_string.c_str(), &OnSession, static_cast<int>(timeout.count()), resume,
                      handle.get(), ZOO_NO_LOG_CLIENTENV, &OnZookeeperLog);
  if (handle->handle_ == nullptr) return nullptr;
  // Names are resolved when there is no connection, and only then: the C client would ask for them
  // on each turn of its loop, and a name server that hangs would cost a session that is well.
  zoo_set_servers_resolution_delay(handle->handle_, -1);
  return handle;
}

ZookeeperHandle::~ZookeeperHandle() {
  if (handle_ != nullptr) zookeeper_close(handle_);
}

// ZooKeeper's digest scheme refuses nobody: a wrong password makes another identity. The client
// keeps the texts, and says them again whenever it connects.
void ZookeeperHandle::LogIn(const std::vector<StoreLogin>& logins) {
  for (const StoreLogin& login : logins) {
    const std::string text = login.user + ":" + login.password;
    zoo_add_auth(handle_, "digest", text.data(), static_cast<int>(text.size()), nullptr, nullptr);
  }
}

// The answer only says whether there were any.
void ZookeeperHandle::ForgetWatches(const std::string& path) {
  zoo_remove_all_watches(handle_, path.c_str(), ZWATCHTYPE_ANY, /*local=*/1);
}

void ZookeeperHandle::OnSession(zhandle_t*, int type, int state, const char*, void* handle) {
  if (type != ZOO_SESSION_EVENT) return;
  static_cast<ZookeeperHandle*>(handle)->events_.on_session(state);
}

// Session events come to every watcher too, without using it up; OnSession has them.
void ZookeeperHandle::OnDataWatch(zhandle_t*, int type, int, const char* path, void* handle) {
  if (type == ZOO_SESSION_EVENT) return;
  static_cast<ZookeeperHandle*>(handle)->events_.on_watch(WatchKind::kData, path);
}

void ZookeeperHandle::OnChildWatch(zhandle_t*, int type, int, const char* path, void* handle) {
  if (type == ZOO_SESSION_EVENT) return;
  static_cast<ZookeeperHandle*>(handle)->events_.on_watch(WatchKind::kChildren, path);
}

}  // namespace shardmanager
