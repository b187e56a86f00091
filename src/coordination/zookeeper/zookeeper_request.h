// Requests to ZooKeeper's C client. Each owns every buffer that the client may touch
// until it has answered.
#pragma once

#include <zookeeper/zookeeper.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"
#include "coordination/watch_table.h"
#include "coordination/zookeeper/zookeeper_handle.h"

namespace shardmanager {

// What a request needs of its session.
class ZookeeperRequestHost {
 public:
  // From the C client's thread: the client is done with the request.
  virtual void Answered(uint64_t request, int rc) = 0;
  // On the session's thread.
  virtual WatchTable& watches() = 0;
  // Who it is, for refusals. Thread-safe.
  virtual std::string party() const = 0;

 protected:
  ~ZookeeperRequestHost() = default;
};

class ZookeeperRequest {
 public:
  explicit ZookeeperRequest(ZookeeperRequestHost* host) : host_(host) {}
  virtual ~ZookeeperRequest() = default;
  ZookeeperRequest(const ZookeeperRequest&) = delete;
  ZookeeperRequest& operator=(const ZookeeperRequest&) = delete;

  // What the host calls it: never used twice, as an address may be.
  void set_id(uint64_t id) { id_ = id; }
  uint64_t id() const { return id_; }

  // Hands the request to the client. With ZOK exactly one answer follows (or none,
  // if the handle is closed first); otherwise none does.
  virtual int Send(ZookeeperHandle& handle) = 0;
  // Whether `rc` was only a step on the way: Send again.
  virtual bool WantsAnotherStep(int /*rc*/) { return false; }
  // Tells the caller. On the session's thread, once.
  virtual void Answer(int rc) = 0;

 protected:
  ZookeeperRequestHost* host() const { return host_; }
  // `what` starts the message, for example "set /cell/leader/epoch".
  absl::Status StatusOf(int rc, std::string_view what) const;

 private:
  ZookeeperRequestHost* host_;
  uint64_t id_ = 0;
};

// An access list as the C client has it. Not to be moved: it points into itself.
class ZookeeperAcl {
 public:
  explicit ZookeeperAcl(AccessList list);
  ZookeeperAcl(const ZookeeperAcl&) = delete;
  ZookeeperAcl& operator=(const ZookeeperAcl&) = delete;

  struct ACL_vector* get() {
    return &vector_;
  }

 private:
  AccessList list_;
  std::vector<struct ACL> entries_;
  struct ACL_vector vector_;
};

class GetRequest final : public ZookeeperRequest {
 public:
  GetRequest(ZookeeperRequestHost* host, std::string path, CoordinationStore::NodeCallback done,
             CoordinationStore::Watch watch);
  int Send(ZookeeperHandle& handle) override;
  bool WantsAnotherStep(int rc) override;
  void Answer(int rc) override;

 private:
  static void OnData(int rc, const char* value, int value_bytes, const struct Stat* stat,
                     const void* request);
  static void OnExists(int rc, const struct Stat* stat, const void* request);

  std::string path_;
  CoordinationStore::NodeCallback done_;
  CoordinationStore::Watch watch_;
  // A get of a node that is not there sets no watch in ZooKeeper; an exists does.
  bool ask_exists_ = false;
  Node node_;
};

class ChildrenRequest final : public ZookeeperRequest {
 public:
  ChildrenRequest(ZookeeperRequestHost* host, std::string path,
                  CoordinationStore::ChildrenCallback done, CoordinationStore::Watch watch);
  int Send(ZookeeperHandle& handle) override;
  void Answer(int rc) override;

 private:
  static void OnStrings(int rc, const struct String_vector* strings, const void* request);

  std::string path_;
  CoordinationStore::ChildrenCallback done_;
  CoordinationStore::Watch watch_;
  std::vector<std::string> names_;
};

class MultiRequest final : public ZookeeperRequest {
 public:
  MultiRequest(ZookeeperRequestHost* host, std::vector<WriteOp> ops,
               CoordinationStore::WriteCallback done);
  int Send(ZookeeperHandle& handle) override;
  void Answer(int rc) override;

 private:
  static void OnVoid(int rc, const void* request);
  int FailedOp() const;

  const std::vector<WriteOp> ops_;
  CoordinationStore::WriteCallback done_;
  std::deque<ZookeeperAcl> lists_;
  std::vector<zoo_op_t> zoo_ops_;
  std::vector<zoo_op_result_t> results_;
};

class GetAccessRequest final : public ZookeeperRequest {
 public:
  GetAccessRequest(ZookeeperRequestHost* host, std::string path,
                   CoordinationStore::AccessCallback done);
  int Send(ZookeeperHandle& handle) override;
  void Answer(int rc) override;

 private:
  static void OnAcl(int rc, struct ACL_vector* acl, struct Stat* stat, const void* request);

  const std::string path_;
  CoordinationStore::AccessCallback done_;
  AccessList list_;
};

class SetAccessRequest final : public ZookeeperRequest {
 public:
  SetAccessRequest(ZookeeperRequestHost* host, std::string path, AccessList list,
                   CoordinationStore::StatusCallback done);
  int Send(ZookeeperHandle& handle) override;
  void Answer(int rc) override;

 private:
  static void OnVoid(int rc, const void* request);

  const std::string path_;
  ZookeeperAcl list_;
  CoordinationStore::StatusCallback done_;
};

class SyncRequest final : public ZookeeperRequest {
 public:
  SyncRequest(ZookeeperRequestHost* host, CoordinationStore::StatusCallback done);
  int Send(ZookeeperHandle& handle) override;
  void Answer(int rc) override;

 private:
  static void OnString(int rc, const char* value, const void* request);

  CoordinationStore::StatusCallback done_;
};

}  // namespace shardmanager
