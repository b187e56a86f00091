// A handle of ZooKeeper's C client, and what comes out of its threads.
#pragma once

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordination/access/digest.h"
#include "coordination/watch_table.h"

namespace shardmanager {

// One try at keeping a session's connection. A session may use several handles, one
// after another.
class ZookeeperHandle {
 public:
  // Called on the client's threads; must only enqueue.
  struct Events {
    std::function<void(int zoo_state)> on_session;
    std::function<void(WatchKind, std::string path)> on_watch;
  };

  // Null when there can be no handle now, for example because no host name resolves:
  // errno says why. With `resume`, goes on with that session.
  static std::unique_ptr<ZookeeperHandle> Open(const std::string& connect_string,
                                               std::chrono::milliseconds timeout,
                                               const clientid_t* resume, Events events);

  // Ends the session if it is connected. No event comes any more once this returns.
  // REQUIRES: not on one of the client's threads.
  ~ZookeeperHandle();
  ZookeeperHandle(const ZookeeperHandle&) = delete;
  ZookeeperHandle& operator=(const ZookeeperHandle&) = delete;

  zhandle_t* get() const { return handle_; }
  // Connected to a server that has not let us in (or refused) yet.
  bool awaits_admission() const { return zoo_state(handle_) == ZOO_ASSOCIATING_STATE; }

  // Says who we are: before the first request of this and of each later connection.
  void LogIn(const std::vector<StoreLogin>& logins);

  // The client does not set the path's watches again when it reconnects.
  void ForgetWatches(const std::string& path);

  // To be registered with `this` as context. All watches of one path and kind are one
  // to the client, as function and context are the same.
  static void OnDataWatch(zhandle_t*, int type, int state, const char* path, void* handle);
  static void OnChildWatch(zhandle_t*, int type, int state, const char* path, void* handle);

 private:
  explicit ZookeeperHandle(Events events) : events_(std::move(events)) {}
  static void OnSession(zhandle_t*, int type, int state, const char* path, void* handle);

  const Events events_;
  zhandle_t* handle_ = nullptr;
};

}  // namespace shardmanager
