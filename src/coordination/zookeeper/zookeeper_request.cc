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

// `lists` keeps what the client may touch.
void InitOp(const WriteOp& op, std::deque<ZookeeperAcl>& lists, zoo_op_t* out) {
  std::visit(
      Overloaded{[&](const CheckVersion& o) { zoo_check_op_init(out, o.path.c_str(), o.version); },
                 [&](const CreateNode& o) {
                   const struct ACL_vector* list =
                       o.access.empty() ? &ZOO_OPEN_ACL_UNSAFE : lists.emplace_back(o.access).get();
                   zoo_create_op_init(out, o.path.c_str(), o.data.data(),
                                      static_cast<int>(o.data.size()), list,
                                      o.ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0);
                 },
                 [&](const SetNode& o) {
                   zoo_set_op_init(out, o.path.c_str(), o.data.data(),
                                   static_cast<int>(o.data.size()), o.version, nullptr);
                 },
                 [&](const DeleteNode& o) { zoo_delete_op_init(out, o.path.c_str(), o.version); }},
      op);
}

char kWorld[] = "world";
char kAnyone[] = "anyone";
char kDigest[] = "digest";

}  // namespace

absl::Status ZookeeperRequest::StatusOf(int rc, std::string_view what) const {
  absl::Status status = ZookeeperStatus(rc, what);
  return absl::IsPermissionDenied(status) ? NotAllowed(what, host_->party()) : status;
}

// The client reads the texts and does not change them.
ZookeeperAcl::ZookeeperAcl(AccessList list) : list_(std::move(list)) {
  for (AccessEntry& entry : list_) {
    const bool anyone = entry.who.empty();
    entries_.push_back(
        {.perms = static_cast<int32_t>(entry.rights),
         .id = {.scheme = anyone ? kWorld : kDigest, .id = anyone ? kAnyone : entry.who.data()}});
  }
  vector_ = {.count = static_cast<int32_t>(entries_.size()), .data = entries_.data()};
}

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
    done_(StatusOf(rc, "get " + path_));
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
    done_(StatusOf(rc, "list " + path_));
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
  for (size_t i = 0; i < ops_.size(); ++i) InitOp(ops_[i], lists_, &zoo_ops_[i]);
}

int MultiRequest::Send(ZookeeperHandle& handle) {
  return zoo_amulti(handle.get(), static_cast<int>(zoo_ops_.size()), zoo_ops_.data(),
                    results_.data(), &OnVoid, this);
}

void MultiRequest::Answer(int rc) {
  const int failed = rc == ZOK ? -1 : FailedOp();
  const size_t named = failed < 0 ? 0 : failed;
  const std::string what = ops_.empty() ? "write" : NameOf(ops_[named]) + PathOf(ops_[named]);
  done_({StatusOf(rc, what), failed});
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

GetAccessRequest::GetAccessRequest(ZookeeperRequestHost* host, std::string path,
                                   CoordinationStore::AccessCallback done)
    : ZookeeperRequest(host), path_(std::move(path)), done_(std::move(done)) {}

int GetAccessRequest::Send(ZookeeperHandle& handle) {
  return zoo_aget_acl(handle.get(), path_.c_str(), &OnAcl, this);
}

void GetAccessRequest::Answer(int rc) {
  if (rc != ZOK) return done_(StatusOf(rc, "get access of " + path_));
  std::sort(list_.begin(), list_.end());
  done_(std::move(list_));
}

// Entries of schemes that are not ours are shown with their scheme, so that they equal none of
// ours.
void GetAccessRequest::OnAcl(int rc, struct ACL_vector* acl, struct Stat*, const void* request) {
  auto* self = From<GetAccessRequest>(request);
  for (int32_t i = 0; rc == ZOK && acl != nullptr && i < acl->count; ++i) {
    const struct ACL& entry = acl->data[i];
    const std::string_view scheme = entry.id.scheme;
    std::string who = entry.id.id;
    if (scheme == kWorld) {
      who.clear();
    } else if (scheme != kDigest) {
      who = std::string(scheme) + ":" + who;
    }
    self->list_.push_back({std::move(who), static_cast<uint32_t>(entry.perms)});
  }
  self->host()->Answered(self->id(), rc);
}

SetAccessRequest::SetAccessRequest(ZookeeperRequestHost* host, std::string path, AccessList list,
                                   CoordinationStore::StatusCallback done)
    : ZookeeperRequest(host),
      path_(std::move(path)),
      list_(std::move(list)),
      done_(std::move(done)) {}

int SetAccessRequest::Send(ZookeeperHandle& handle) {
  return zoo_aset_acl(handle.get(), path_.c_str(), kAnyVersion, list_.get(), &OnVoid, this);
}

void SetAccessRequest::Answer(int rc) { done_(StatusOf(rc, "set access of " + path_)); }

void SetAccessRequest::OnVoid(int rc, const void* request) {
  auto* self = From<SetAccessRequest>(request);
  self->host()->Answered(self->id(), rc);
}

SyncRequest::SyncRequest(ZookeeperRequestHost* host, CoordinationStore::StatusCallback done)
    : ZookeeperRequest(host), done_(std::move(done)) {}

int SyncRequest::Send(ZookeeperHandle& handle) {
  return zoo_async(handle.get(), "/", &OnString, this);
}

void SyncRequest::Answer(int rc) { done_(StatusOf(rc, "sync")); }

void SyncRequest::OnString(int rc, const char*, const void* request) {
  auto* self = From<SyncRequest>(request);
  self->host()->Answered(self->id(), rc);
}

}  // namespace shardmanager
