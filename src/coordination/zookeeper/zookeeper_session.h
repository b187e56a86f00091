// One session with Apache ZooKeeper, over its asynchronous C client.
//
// A session owns a thread (its SerialExecutor). The C client's threads only enqueue
// on it: everything else, the client's calls included, happens there in order, and
// the handle is closed from outside of its own threads, as the client requires.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "coordination/store.h"
#include "coordination/zookeeper/zookeeper_request.h"
#include "runtime/serial_executor.h"

namespace shardmanager {

class ZookeeperSession final : public CoordinationStore, private ZookeeperRequestHost {
 public:
  // Starts connecting; returns at once. `connect_string`: "host:port[,host:port...]"
  // with an optional "/folder" behind, below which all paths are then.
  ZookeeperSession(std::string connect_string, SessionOptions options);
  ~ZookeeperSession() override;

  void Get(const std::string& path, NodeCallback done, Watch watch) override;
  void GetChildren(const std::string& path, ChildrenCallback done, Watch watch) override;
  void Multi(std::vector<WriteOp> ops, WriteCallback done) override;
  void Sync(StatusCallback done) override;
  void GetAccess(const std::string& path, AccessCallback done) override;
  void SetAccess(const std::string& path, AccessList list, StatusCallback done) override;
  StoreAccess* access() const override { return options_.access.get(); }

  SessionState state() const override { return state_; }
  std::chrono::milliseconds session_timeout() const override {
    return std::chrono::milliseconds(session_timeout_ms_);
  }
  int64_t session_id() const override { return session_id_; }

  void Close() override;

 private:
  // From the C client's threads.
  void Answered(uint64_t request, int rc) override;

  // On the session's thread, from here on.
  WatchTable& watches() override { return watches_; }
  std::string party() const override;
  ZookeeperRequestHost* host() { return this; }

  void Open(const clientid_t* resume);
  void Reopen();
  void Submit(std::shared_ptr<ZookeeperRequest> request);
  void Send(std::shared_ptr<ZookeeperRequest> request);
  void Finish(uint64_t request, int rc);
  void OnZooState(int zoo_state);
  void OnConnected();
  void OnDisconnected();
  void OnExpired();
  void SetState(SessionState state);
  void ComplainLater(std::chrono::milliseconds delay);
  void ProbeAdmission();

  const std::string connect_string_;
  const SessionOptions options_;
  std::atomic<SessionState> state_{SessionState::kConnecting};
  std::atomic<int64_t> session_timeout_ms_{0};
  std::atomic<int64_t> session_id_{0};

  // Owned by the session's thread, and by Close() once that has ended.
  std::unique_ptr<ZookeeperHandle> handle_;
  // Counts handles: events of an earlier one are void.
  uint64_t attempt_ = 0;
  WatchTable watches_;
  // Sent and unanswered: kept here, as a handle that closes may drop completions.
  std::map<uint64_t, std::shared_ptr<ZookeeperRequest>> pending_;
  uint64_t last_request_ = 0;
  // Waiting for the connection.
  std::deque<std::shared_ptr<ZookeeperRequest>> held_;

  // Counts connections, so that what was planned for an outage that is over is not done.
  uint64_t outage_ = 0;
  bool complained_ = false;
  // For how long a server has kept us waiting, and for how long it may.
  std::chrono::milliseconds awaiting_admission_{0};
  // Without a connection, since this handle was made.
  std::chrono::milliseconds turned_away_{0};
  std::chrono::milliseconds patience_;

  std::once_flag closed_;
  // Last: its thread uses all of the above.
  SerialExecutor executor_{"zk-session"};
};

}  // namespace shardmanager
