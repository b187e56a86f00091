#include "coordination/memory/memory_tree.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

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

WriteResult MemoryTree::Apply(const std::vector<WriteOp>& ops, int64_t session,
                              std::vector<TreeEvent>* events) {
  Changes changes{.session = session, .zxid = last_zxid_ + 1, .undo = {}, .events = {}};
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

void MemoryTree::RemoveSession(int64_t session, std::vector<TreeEvent>* events) {
  std::vector<WriteOp> ops;
  for (const auto& [path, znode] : nodes_) {
    if (znode.node.stat.ephemeral_session == session) ops.push_back(DeleteNode{path});
  }
  Apply(ops, session, events);
}

absl::Status MemoryTree::Do(const CheckVersion& op, Changes&) {
  const auto found = nodes_.find(op.path);
  if (found == nodes_.end()) return NoNode("check", op.path);
  const NodeStat& stat = found->second.node.stat;
  return VersionMatches(op.version, stat) ? absl::OkStatus() : BadVersion("check", op.path, stat);
}

absl::Status MemoryTree::Do(const CreateNode& op, Changes& changes) {
  const auto parent = nodes_.find(Parent(op.path));
  if (parent == nodes_.end()) return NoNode("create", op.path);
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
  znode.node.stat.ephemeral_session = op.ephemeral ? changes.session : 0;
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
  const NodeStat& stat = found->second.node.stat;
  if (!VersionMatches(op.version, stat)) return BadVersion("delete", op.path, stat);
  if (!found->second.children.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("delete ", op.path, ": not empty"));
  }
  changes.undo.push_back([this, path = op.path, before = found->second] {
    nodes_[path] = before;
    nodes_.at(Parent(path)).children.insert(BaseName(path));
  });
  nodes_.erase(found);
  nodes_.at(Parent(op.path)).children.erase(BaseName(op.path));
  changes.events.push_back({WatchKind::kData, op.path});
  changes.events.push_back({WatchKind::kChildren, op.path});
  changes.events.push_back({WatchKind::kChildren, Parent(op.path)});
  return absl::OkStatus();
}

}  // namespace shardmanager
