// The CoordinationStore port: a small, linearizable tree of named records with
// sessions, in the terms of Apache ZooKeeper. memory/ and zookeeper/ implement it
// and pass one conformance suite (tests/coordination).
//
// Thread-safety: all methods may be called from any thread. Callbacks and watches
// come one at a time on the session's own thread, in the order in which the store
// answered; they must only enqueue (for example SerialExecutor::Post) and never
// block or destroy the session.
//
// A request made while there is no connection waits for one. A request that was in
// flight when the connection broke answers UNAVAILABLE; one made again at once waits,
// so retrying needs no timer. Nothing waits past expiry: all is answered ABORTED.
//
// After Close() returns no callback runs any more; those that were waiting are
// dropped without being called.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/access/access_list.h"

namespace shardmanager {

class StoreAccess;

struct NodeStat {
  int32_t version = 0;            // bumped by every set
  int64_t created_zxid = 0;       // store-wide order of the create
  int64_t ephemeral_session = 0;  // 0: persistent
};

struct Node {
  std::string data;
  NodeStat stat;
};

inline constexpr int32_t kAnyVersion = -1;

// Parts of a Multi: all happen or none.
struct CheckVersion {
  std::string path;
  int32_t version;
};
struct CreateNode {
  std::string path;
  std::string data;
  bool ephemeral = false;  // goes with this session
  // Empty: what the session's credentials say for the path (StoreAccess::OfNewNode).
  AccessList access = {};
};
struct SetNode {
  std::string path;
  std::string data;
  int32_t version = kAnyVersion;
};
struct DeleteNode {
  std::string path;
  int32_t version = kAnyVersion;
};
using WriteOp = std::variant<CheckVersion, CreateNode, SetNode, DeleteNode>;

// OK, or why nothing was written:
//   FAILED_PRECONDITION  a version did not match, or a node to delete has children
//   NOT_FOUND            a node (or the parent of one to create) does not exist
//   ALREADY_EXISTS       a node to create is there
//   RESOURCE_EXHAUSTED   larger than kMaxWriteBytes; not sent
//   UNAVAILABLE          the connection was lost: the write may or may not have
//                        happened; read back to find out
//   ABORTED              the session has expired; as UNAVAILABLE for writes in flight
//   INVALID_ARGUMENT     a path is malformed
//   PERMISSION_DENIED    the node's access list, or its parent's, does not let this session: names
//                        the path, and who the session is
struct WriteResult {
  absl::Status status;
  // Index of the op that failed, or -1.
  int failed_op = -1;
};

// A znode or a multi above about 1 MB dies as a lost connection in ZooKeeper, so
// larger writes are refused here. In bytes, as WriteBytes() in write_check.h counts
// them: data, paths and 64 for each op.
inline constexpr size_t kMaxWriteBytes = 900'000;

enum class SessionState {
  kConnecting,  // never connected yet; keeps trying
  kConnected,
  kSuspended,  // connection lost; the session may still live; keeps trying
  kExpired,    // final: ephemeral nodes are gone; make a new session
  kClosed,     // final
};

class CoordinationStore {
 public:
  using NodeCallback = std::function<void(absl::StatusOr<Node>)>;
  using ChildrenCallback = std::function<void(absl::StatusOr<std::vector<std::string>>)>;
  using WriteCallback = std::function<void(WriteResult)>;
  using StatusCallback = std::function<void(absl::Status)>;
  using AccessCallback = std::function<void(absl::StatusOr<AccessList>)>;
  // One-shot hint that what was read may have changed. Also fires (once) when the
  // session is suspended or expires, as nobody knows then. Read again. It is set by
  // the answer: after an error other than those named below there is none.
  using Watch = std::function<void()>;

  virtual ~CoordinationStore() = default;

  // NOT_FOUND if the node is not there; the watch is set all the same and fires
  // when it is created. All calls that name a node: PERMISSION_DENIED, as in WriteResult.
  virtual void Get(const std::string& path, NodeCallback done, Watch watch = nullptr) = 0;
  // Names, sorted. NOT_FOUND as above, but no watch is set then.
  virtual void GetChildren(const std::string& path, ChildrenCallback done,
                           Watch watch = nullptr) = 0;
  // One that only checks is agreed on like any other write: its answer shows that most of the
  // store's servers had elected no other leader than the one who made it.
  virtual void Multi(std::vector<WriteOp> ops, WriteCallback done) = 0;
  // Done when this session's server has caught up with all writes that the store's leader had made
  // before the call: reads after it are not stale. As long as there is one leader: one that was
  // deposed, and does not know yet, answers as well.
  virtual void Sync(StatusCallback done) = 0;
  // The node's own access list. Identities are shown to those that may change the list; to others
  // (who may read the node) they are masked.
  virtual void GetAccess(const std::string& path, AccessCallback done) = 0;
  // INVALID_ARGUMENT: the list is empty.
  virtual void SetAccess(const std::string& path, AccessList list, StatusCallback done) = 0;
  // Who the session is, as SessionOptions said; null: nobody, and what it makes is open to anyone.
  virtual StoreAccess* access() const = 0;

  virtual SessionState state() const = 0;
  // As granted by the store; 0 before the first connection.
  virtual std::chrono::milliseconds session_timeout() const = 0;
  virtual int64_t session_id() const = 0;

  // Ends the session: its ephemeral nodes go at once, if the store is in reach.
  // REQUIRES: not called from a callback. Idempotent.
  virtual void Close() = 0;
};

struct SessionOptions {
  std::chrono::milliseconds timeout{10'000};
  // Called on each change of state, on the session's thread. May be empty.
  std::function<void(SessionState)> on_state = nullptr;
  // Who the session is, and which access lists its nodes get (access/store_access.h). Null: it says
  // nothing of itself, and everybody may do everything with its nodes.
  std::shared_ptr<StoreAccess> access = nullptr;
};

// Makes sessions. A session that expired is replaced by asking for another one.
class CoordinationStoreFactory {
 public:
  virtual ~CoordinationStoreFactory() = default;
  virtual std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) = 0;
};

}  // namespace shardmanager
