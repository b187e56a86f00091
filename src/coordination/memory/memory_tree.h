// ZooKeeper's data model in plain memory: nodes, versions, ephemeral owners, atomic
// multis. No sessions, no time: MemoryEnsemble adds those.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "coordination/watch_table.h"

namespace shardmanager {

// What a watch may wait for.
struct TreeEvent {
  WatchKind kind;
  std::string path;
};

// Who asks: a session, and what it has proved to be.
struct MemoryActor {
  int64_t session = 0;
  std::vector<std::string> identities = {};  // as access lists name them (DigestOf())
  std::string party = "a process without ZooKeeper credentials";
};

// REQUIRES: paths pass CheckPath(). Not thread-safe. Deterministic.
class MemoryTree {
 public:
  MemoryTree() { nodes_["/"].access = OpenToAnyone(); }

  // For checkers, which may see everything.
  absl::StatusOr<Node> Get(const std::string& path) const;
  absl::StatusOr<std::vector<std::string>> Children(const std::string& path) const;

  absl::StatusOr<Node> Get(const std::string& path, const MemoryActor& actor) const;
  absl::StatusOr<std::vector<std::string>> Children(const std::string& path,
                                                    const MemoryActor& actor) const;
  absl::StatusOr<AccessList> Access(const std::string& path, const MemoryActor& actor) const;
  absl::Status SetAccess(const std::string& path, const AccessList& list, const MemoryActor& actor);
  // All ops or none. Appends what changed to `events`.
  WriteResult Apply(const std::vector<WriteOp>& ops, const MemoryActor& actor,
                    std::vector<TreeEvent>* events);
  // Deletes the session's ephemeral nodes.
  void RemoveSession(int64_t session, std::vector<TreeEvent>* events);
  // Of the newest write.
  int64_t last_zxid() const { return last_zxid_; }

 private:
  struct Znode {
    Node node;
    std::set<std::string> children;
    AccessList access;
  };
  // What undoes the ops applied so far, and what they changed.
  struct Changes {
    const MemoryActor* actor;
    int64_t zxid;
    std::vector<std::function<void()>> undo;
    std::vector<TreeEvent> events;
  };

  absl::Status Do(const CheckVersion& op, Changes& changes);
  absl::Status Do(const CreateNode& op, Changes& changes);
  absl::Status Do(const SetNode& op, Changes& changes);
  absl::Status Do(const DeleteNode& op, Changes& changes);

  void Remove(const std::string& path, Changes& changes);

  std::map<std::string, Znode> nodes_;
  int64_t last_zxid_ = 0;
};

}  // namespace shardmanager
