#include "coordination/zookeeper/zookeeper_request.h"

#include <algorithm>
#include <utility>

#include "base/state_machine.h"
#include "coordination/write_check.h"
#include "coordination/zookeeper/zookeeper_status.h"

namespace shardmanager {
namespace {

// The C client hands back as const what we gave it; it is ours to change.
template <typename Request>
Request* From(const void* data) {
  return static_cast<Request*>(const_cast<void*>(data));
}

NodeStat ToNodeStat(const struct Stat& stat) {
  return {.version = stat.version,
          .created_zxid = stat.czxid,
          .ephemeral_session = stat.ephemeralOwner};
}

const char* NameOf(const WriteOp& op) {
  constexpr const char* kNames[] = {"check ", "create ", "set ", "delete "};
  static_assert(std::variant_size_v<WriteOp> == std::size(kNames));
  return kNames[op.index()];
}

void InitOp(const WriteOp& op, zoo_op_t* out) {
  std::visit(
      Overloaded{[&](const CheckVersion& o) { zoo_check_op_init(out, o.path.c_str(), o.version); },
                 [&](const CreateNode& o) {
                   zoo_create_op_init(out, o.path.c_str(), o.data.data(),
                                      static_cast<int>(o.data.size()), &ZOO_OPEN_ACL_UNSAFE,
                                      o.ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0);
                 },
                 [&](const SetNode& o) {
                   zoo_set_op_init(out, o.path.c_str(), o.data.data(),
                                   static_cast<int>(o.data.size()), o.version, nullptr);
                 },
                 [&](const DeleteNode& o) { zoo_delete_op_init(out, o.path.c_str(), o.version); }},
      op);
}

}  // namespace

GetRequest::GetRequest(ZookeeperRequestHost* host, std::string path,
                       CoordinationStore::NodeCallback done, CoordinationStore::Watch watch)
    : ZookeeperRequest(host),
      path_(std::move(path)),
      done_(std::move(done)),
      watch_(std::move(watch)) {}

int GetRequest::Send(ZookeeperHandle& handle) {
  const watcher_fn watcher = watch_ ? &ZookeeperHandle::OnDataWatch : nullptr;
  if (ask_exists_) {
    return zoo_awexists(handle.get(), path_.c_str(), watcher, &handle, &OnExists, this);
  }
  return zoo_awget(handle.get(), path_.c_str(), watcher, &handle, &OnData, this);
}

bool GetRequest::WantsAnotherStep(int rc) {
  if (!watch_) return false;
  if (!ask_exists_ && rc == ZNONODE) return ask_exists_ = true;
  if (ask_exists_ && rc == ZOK) return !(ask_exists_ = false);  // created in between: get it
  return false;
}

void GetRequest::Answer(int rc) {
  if (rc == ZOK || rc == ZNONODE) host()->watches().Add(WatchKind::kData, path_, std::move(watch_));
  if (rc == ZOK) {
    done_(std::move(node_));
  } else {
    done_(ZookeeperStatus(rc, "get " + path_));
  }
}

void GetRequest::OnData(int rc, const char* value, int value_bytes, const struct Stat* stat,
                        const void* request) {
  auto* self = From<GetRequest>(request);
  if (rc == ZOK) {
    // A node without data comes as a null pointer and length -1.
    self->node_.data.assign(value == nullptr ? "" : value, std::max(value_bytes, 0));
    self->node_.stat = ToNodeStat(*stat);
  }
  self->host()->Answered(self->id(), rc);
}

void GetRequest::OnExists(int rc, const struct Stat*, const void* request) {
  auto* self = From<GetRequest>(request);
  self->host()->Answered(self->id(), rc);
}

ChildrenRequest::ChildrenRequest(ZookeeperRequestHost* host, std::string path,
                                 CoordinationStore::ChildrenCallback done,
                                 CoordinationStore::Watch watch)
    : ZookeeperRequest(host),
      path_(std::move(path)),
      done_(std::move(done)),
      watch_(std::move(watch)) {}

int ChildrenRequest::Send(ZookeeperHandle& handle) {
  const watcher_fn watcher = watch_ ? &ZookeeperHandle::OnChildWatch : nullptr;
  return zoo_awget_children(handle.get(), path_.c_str(), watcher, &handle, &OnStrings, this);
}

void ChildrenRequest::Answer(int rc) {
  if (rc != ZOK) {
    done_(ZookeeperStatus(rc, "list " + path_));
    return;
  }
  host()->watches().Add(WatchKind::kChildren, path_, std::move(watch_));
  std::sort(names_.begin(), names_.end());
  done_(std::move(names_));
}

void ChildrenRequest::OnStrings(int rc, const struct String_vector* strings, const void* request) {
  auto* self = From<ChildrenRequest>(request);
  if (rc == ZOK && strings != nullptr) {
    self->names_.assign(strings->data, strings->data + strings->count);
  }
  self->host()->Answered(self->id(), rc);
}

MultiRequest::MultiRequest(ZookeeperRequestHost* host, std::vector<WriteOp> ops,
                           CoordinationStore::WriteCallback done)
    : ZookeeperRequest(host),
      ops_(std::move(ops)),
      done_(std::move(done)),
      zoo_ops_(ops_.size()),
      results_(ops_.size()) {
  for (size_t i = 0; i < ops_.size(); ++i) InitOp(ops_[i], &zoo_ops_[i]);
}

int MultiRequest::Send(ZookeeperHandle& handle) {
  return zoo_amulti(handle.get(), static_cast<int>(zoo_ops_.size()), zoo_ops_.data(),
                    results_.data(), &OnVoid, this);
}

void MultiRequest::Answer(int rc) {
  const int failed = rc == ZOK ? -1 : FailedOp();
  const size_t named = failed < 0 ? 0 : failed;
  const std::string what = ops_.empty() ? "write" : NameOf(ops_[named]) + PathOf(ops_[named]);
  done_({ZookeeperStatus(rc, what), failed});
}

// ZooKeeper answers ZOK for the ops before the one that failed, and
// ZRUNTIMEINCONSISTENCY for those after it. A lost connection names no op: the
// client then fills in one and the same system error for all.
int MultiRequest::FailedOp() const {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].err < ZAPIERROR && results_[i].err != ZSESSIONEXPIRED &&
        results_[i].err != ZCLOSING) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

void MultiRequest::OnVoid(int rc, const void* request) {
  auto* self = From<MultiRequest>(request);
  self->host()->Answered(self->id(), rc);
}

SyncRequest::SyncRequest(ZookeeperRequestHost* host, CoordinationStore::StatusCallback done)
    : ZookeeperRequest(host), done_(std::move(done)) {}

int SyncRequest::Send(ZookeeperHandle& handle) {
  return zoo_async(handle.get(), "/", &OnString, this);
}

void SyncRequest::Answer(int rc) { done_(ZookeeperStatus(rc, "sync")); }

void SyncRequest::OnString(int rc, const char*, const void* request) {
  auto* self = From<SyncRequest>(request);
  self->host()->Answered(self->id(), rc);
}

}  // namespace shardmanager
