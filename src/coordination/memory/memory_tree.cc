#include "coordination/memory/memory_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/write_check.h"

namespace shardmanager {
namespace {

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool VersionMatches(int32_t wanted, const NodeStat& stat) {
  return wanted == kAnyVersion || wanted == stat.version;
}

absl::Status NoNode(const char* what, const std::string& path) {
  return absl::NotFoundError(absl::StrCat(what, " ", path, ": no node"));
}

absl::Status BadVersion(const char* what, const std::string& path, const NodeStat& stat) {
  return absl::FailedPreconditionError(
      absl::StrCat(what, " ", path, ": bad version (it is ", stat.version, ")"));
}

bool May(const AccessList& list, const MemoryActor& actor, uint32_t rights) {
  for (const AccessEntry& entry : list) {
    if ((entry.rights & rights) == 0) continue;
    if (entry.who.empty()) return true;
    if (std::find(actor.identities.begin(), actor.identities.end(), entry.who) !=
        actor.identities.end()) {
      return true;
    }
  }
  return false;
}

// As ZooKeeper does: the node first, then the right, then everything else.
absl::Status Allowed(const AccessList& list, const MemoryActor& actor, uint32_t rights,
                     const char* what, const std::string& path) {
  if (May(list, actor, rights)) return absl::OkStatus();
  return NotAllowed(absl::StrCat(what, " ", path), actor.party);
}

}  // namespace

absl::StatusOr<Node> MemoryTree::Get(const std::string& path) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("get", path);
  return found->second.node;
}

absl::StatusOr<std::vector<std::string>> MemoryTree::Children(const std::string& path) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("list", path);
  return std::vector<std::string>(found->second.children.begin(), found->second.children.end());
}

absl::StatusOr<Node> MemoryTree::Get(const std::string& path, const MemoryActor& actor) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("get", path);
  if (absl::Status s = Allowed(found->second.access, actor, kMayRead, "get", path); !s.ok()) {
    return s;
  }
  return found->second.node;
}

absl::StatusOr<std::vector<std::string>> MemoryTree::Children(const std::string& path,
                                                              const MemoryActor& actor) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("list", path);
  if (absl::Status s = Allowed(found->second.access, actor, kMayRead, "list", path); !s.ok()) {
    return s;
  }
  return Children(path);
}

absl::StatusOr<AccessList> MemoryTree::Access(const std::string& path,
                                              const MemoryActor& actor) const {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("get access of", path);
  AccessList list = found->second.access;
  absl::Status s = Allowed(list, actor, kMayRead | kMayAdmin, "get access of", path);
  if (!s.ok()) return s;
  if (May(list, actor, kMayAdmin)) return list;
  for (AccessEntry& entry : list) {
    if (!entry.who.empty()) entry.who = entry.who.substr(0, entry.who.find(':')) + ":x";
  }
  return list;
}

absl::Status MemoryTree::SetAccess(const std::string& path, const AccessList& list,
                                   const MemoryActor& actor) {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return NoNode("set access of", path);
  absl::Status s = Allowed(found->second.access, actor, kMayAdmin, "set access of", path);
  if (s.ok()) found->second.access = list;
  return s;
}

WriteResult MemoryTree::Apply(const std::vector<WriteOp>& ops, const MemoryActor& actor,
                              std::vector<TreeEvent>* events) {
  Changes changes{.actor = &actor, .zxid = last_zxid_ + 1, .undo = {}, .events = {}};
  for (size_t i = 0; i < ops.size(); ++i) {
    const absl::Status status = std::visit([&](const auto& op) { return Do(op, changes); }, ops[i]);
    if (status.ok()) continue;
    for (auto undo = changes.undo.rbegin(); undo != changes.undo.rend(); ++undo) (*undo)();
    return {status, static_cast<int>(i)};
  }
  last_zxid_ = changes.zxid;
  events->insert(events->end(), std::make_move_iterator(changes.events.begin()),
                 std::make_move_iterator(changes.events.end()));
  return {absl::OkStatus(), -1};
}

// The end of a session asks for no right.
void MemoryTree::RemoveSession(int64_t session, std::vector<TreeEvent>* events) {
  std::vector<std::string> paths;
  for (const auto& [path, znode] : nodes_) {
    if (znode.node.stat.ephemeral_session == session) paths.push_back(path);
  }
  Changes changes{.actor = nullptr, .zxid = ++last_zxid_, .undo = {}, .events = {}};
  for (const std::string& path : paths) Remove(path, changes);
  events->insert(events->end(), std::make_move_iterator(changes.events.begin()),
                 std::make_move_iterator(changes.events.end()));
}

absl::Status MemoryTree::Do(const CheckVersion& op, Changes& changes) {
  const auto found = nodes_.find(op.path);
  if (found == nodes_.end()) return NoNode("check", op.path);
  absl::Status may = Allowed(found->second.access, *changes.actor, kMayRead, "check", op.path);
  if (!may.ok()) return may;
  const NodeStat& stat = found->second.node.stat;
  return VersionMatches(op.version, stat) ? absl::OkStatus() : BadVersion("check", op.path, stat);
}

absl::Status MemoryTree::Do(const CreateNode& op, Changes& changes) {
  const auto parent = nodes_.find(Parent(op.path));
  if (parent == nodes_.end()) return NoNode("create", op.path);
  absl::Status may = Allowed(parent->second.access, *changes.actor, kMayCreate, "create", op.path);
  if (!may.ok()) return may;
  if (nodes_.contains(op.path)) {
    return absl::AlreadyExistsError(absl::StrCat("create ", op.path, ": node exists"));
  }
  if (parent->second.node.stat.ephemeral_session != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("create ", op.path, ": ephemeral nodes may not have children"));
  }
  Znode& znode = nodes_[op.path];
  znode.node.data = op.data;
  znode.node.stat.created_zxid = changes.zxid;
  znode.node.stat.ephemeral_session = op.ephemeral ? changes.actor->session : 0;
  znode.access = op.access.empty() ? OpenToAnyone() : op.access;
  parent->second.children.insert(BaseName(op.path));
  changes.undo.push_back([this, path = op.path] {
    nodes_.at(Parent(path)).children.erase(BaseName(path));
    nodes_.erase(path);
  });
  changes.events.push_back({WatchKind::kData, op.path});
  changes.events.push_back({WatchKind::kChildren, parent->first});
  return absl::OkStatus();
}

absl::Status MemoryTree::Do(const SetNode& op, Changes& changes) {
  const auto found = nodes_.find(op.path);
  if (found == nodes_.end()) return NoNode("set", op.path);
  absl::Status may = Allowed(found->second.access, *changes.actor, kMayWrite, "set", op.path);
  if (!may.ok()) return may;
  Node& node = found->second.node;
  if (!VersionMatches(op.version, node.stat)) return BadVersion("set", op.path, node.stat);
  changes.undo.push_back([this, path = op.path, before = node] { nodes_.at(path).node = before; });
  node.data = op.data;
  ++node.stat.version;
  changes.events.push_back({WatchKind::kData, op.path});
  return absl::OkStatus();
}

absl::Status MemoryTree::Do(const DeleteNode& op, Changes& changes) {
  const auto found = nodes_.find(op.path);
  if (found == nodes_.end() || op.path == "/") return NoNode("delete", op.path);
  const AccessList& of_parent = nodes_.at(Parent(op.path)).access;
  absl::Status may = Allowed(of_parent, *changes.actor, kMayDelete, "delete", op.path);
  if (!may.ok()) return may;
  const NodeStat& stat = found->second.node.stat;
  if (!VersionMatches(op.version, stat)) return BadVersion("delete", op.path, stat);
  if (!found->second.children.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("delete ", op.path, ": not empty"));
  }
  Remove(op.path, changes);
  return absl::OkStatus();
}

void MemoryTree::Remove(const std::string& path, Changes& changes) {
  const auto found = nodes_.find(path);
  changes.undo.push_back([this, path, before = found->second] {
    nodes_[path] = before;
    nodes_.at(Parent(path)).children.insert(BaseName(path));
  });
  nodes_.erase(found);
  nodes_.at(Parent(path)).children.erase(BaseName(path));
  changes.events.push_back({WatchKind::kData, path});
  changes.events.push_back({WatchKind::kChildren, path});
  changes.events.push_back({WatchKind::kChildren, Parent(path)});
}

}  // namespace shardmanager
