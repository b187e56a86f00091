#include "coordination/zookeeper/zookeeper_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "coordination/write_check.h"
#include "coordination/zookeeper/zookeeper_log.h"
#include "runtime/clock.h"

#if defined(__SANITIZE_ADDRESS__)
// The C client forgets to free answers that arrive while a handle is closed.
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt\n"; }
#endif

namespace shardmanager {
namespace {

// How soon an outage at start is worth a line, and how often one that lasts is.
constexpr std::chrono::milliseconds kFirstComplaint{1'000};
constexpr std::chrono::milliseconds kNextComplaint{30'000};
// Between attempts to make a handle at all, which fail when no name resolves.
constexpr std::chrono::milliseconds kOpenAgain{1'000};
// The client gives up connecting after a part of the time-out that it asks for.
constexpr std::chrono::milliseconds kMinTimeout{100};

}  // namespace

ZookeeperSession::ZookeeperSession(std::string connect_string, SessionOptions options)
    : connect_string_(std::move(connect_string)), options_(std::move(options)) {
  // The client resolves names while it makes a handle: not on the caller's time.
  executor_.Post([this] {
    ComplainLater(kFirstComplaint);
    Open();
  });
}

ZookeeperSession::~ZookeeperSession() { Close(); }

void ZookeeperSession::Get(const std::string& path, NodeCallback done, Watch watch) {
  if (absl::Status sound = CheckPath(path); !sound.ok()) {
    executor_.Post([done = std::move(done), sound] { done(sound); });
    return;
  }
  auto request = std::make_shared<GetRequest>(host(), path, std::move(done), std::move(watch));
  executor_.Post([this, request] { Submit(request); });
}

void ZookeeperSession::GetChildren(const std::string& path, ChildrenCallback done, Watch watch) {
  if (absl::Status sound = CheckPath(path); !sound.ok()) {
    executor_.Post([done = std::move(done), sound] { done(sound); });
    return;
  }
  auto request = std::make_shared<ChildrenRequest>(host(), path, std::move(done), std::move(watch));
  executor_.Post([this, request] { Submit(request); });
}

void ZookeeperSession::Multi(std::vector<WriteOp> ops, WriteCallback done) {
  if (WriteResult checked = CheckWrite(ops); !checked.status.ok()) {
    executor_.Post([done = std::move(done), checked] { done(checked); });
    return;
  }
  auto request = std::make_shared<MultiRequest>(host(), std::move(ops), std::move(done));
  executor_.Post([this, request] { Submit(request); });
}

void ZookeeperSession::Sync(StatusCallback done) {
  auto request = std::make_shared<SyncRequest>(host(), std::move(done));
  executor_.Post([this, request] { Submit(request); });
}

void ZookeeperSession::Close() {
  std::call_once(closed_, [this] {
    executor_.Stop();
    if (handle_ != nullptr) zookeeper_close(handle_);
    handle_ = nullptr;
    pending_.clear();
    held_.clear();
    watches_.Clear();
    state_ = SessionState::kClosed;
  });
}

void ZookeeperSession::OnSession(zhandle_t*, int type, int zoo_state, const char*, void* session) {
  if (type != ZOO_SESSION_EVENT) return;
  auto* self = static_cast<ZookeeperSession*>(session);
  self->executor_.Post([self, zoo_state] { self->OnZooState(zoo_state); });
}

// Session events come to every watcher too, without using it up; OnSession has them.
void ZookeeperSession::OnDataWatch(zhandle_t*, int type, int, const char* path, void* session) {
  if (type == ZOO_SESSION_EVENT) return;
  auto* self = static_cast<ZookeeperSession*>(session);
  self->executor_.Post(
      [self, path = std::string(path)] { self->watches_.Fire(WatchKind::kData, path); });
}

void ZookeeperSession::OnChildWatch(zhandle_t*, int type, int, const char* path, void* session) {
  if (type == ZOO_SESSION_EVENT) return;
  auto* self = static_cast<ZookeeperSession*>(session);
  self->executor_.Post(
      [self, path = std::string(path)] { self->watches_.Fire(WatchKind::kChildren, path); });
}

void ZookeeperSession::Answered(ZookeeperRequest* request, int rc) {
  executor_.Post([this, request, rc] { Finish(request, rc); });
}

void ZookeeperSession::Open() {
  zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
  handle_ = zookeeper_init2(connect_string_.c_str(), &OnSession,
                            static_cast<int>(std::max(options_.timeout, kMinTimeout).count()),
                            nullptr, this, ZOO_NO_LOG_CLIENTENV, &OnZookeeperLog);
  if (handle_ != nullptr) return;
  spdlog::debug("cannot make a ZooKeeper handle for {}: {}", connect_string_, strerror(errno));
  executor_.PostAt(MonotonicNow() + kOpenAgain, [this] { Open(); });
}

void ZookeeperSession::Submit(std::shared_ptr<ZookeeperRequest> request) {
  switch (state_) {
    case SessionState::kConnected:
      Send(request);
      return;
    case SessionState::kConnecting:
    case SessionState::kSuspended:
      held_.push_back(std::move(request));
      return;
    case SessionState::kExpired:
      request->Answer(ZSESSIONEXPIRED);
      return;
    case SessionState::kClosed:
      return;
  }
}

void ZookeeperSession::Send(const std::shared_ptr<ZookeeperRequest>& request) {
  pending_.emplace(request.get(), request);
  const int rc = request->Send(handle_);
  if (rc == ZOK) return;
  pending_.erase(request.get());
  request->Answer(rc);
}

void ZookeeperSession::Finish(ZookeeperRequest* request, int rc) {
  auto found = pending_.extract(request);
  if (found.empty()) return;
  if (request->WantsAnotherStep(rc)) {
    Submit(std::move(found.mapped()));
  } else {
    request->Answer(rc);
  }
}

void ZookeeperSession::OnZooState(int zoo_state) {
  if (state_ == SessionState::kExpired) return;
  if (zoo_state == ZOO_CONNECTED_STATE) {
    OnConnected();
  } else if (zoo_state == ZOO_EXPIRED_SESSION_STATE || zoo_state == ZOO_AUTH_FAILED_STATE) {
    OnExpired();
  } else if (state_ == SessionState::kConnected) {
    OnDisconnected();
  }
}

void ZookeeperSession::OnConnected() {
  // The client skips telling of a loss when it reconnects between two events.
  if (state_ == SessionState::kConnected) OnDisconnected();
  ++outage_;
  session_id_ = zoo_client_id(handle_)->client_id;
  session_timeout_ms_ = zoo_recv_timeout(handle_);
  const auto level = complained_ ? spdlog::level::warn : spdlog::level::debug;
  spdlog::log(level, "connected to ZooKeeper at {}: session {:#x}, time-out {} ms", connect_string_,
              session_id_.load(), session_timeout_ms_.load());
  complained_ = false;
  SetState(SessionState::kConnected);
  for (auto& request : std::exchange(held_, {})) Submit(std::move(request));
}

void ZookeeperSession::OnDisconnected() {
  ComplainLater(std::chrono::milliseconds(0));
  SetState(SessionState::kSuspended);
  watches_.FireAll();
}

void ZookeeperSession::OnExpired() {
  ++outage_;
  spdlog::warn("ZooKeeper session {:#x} with {} has expired", session_id_.load(), connect_string_);
  SetState(SessionState::kExpired);
  watches_.FireAll();
  for (auto& request : std::exchange(held_, {})) request->Answer(ZSESSIONEXPIRED);
}

void ZookeeperSession::SetState(SessionState state) {
  state_ = state;
  if (options_.on_state) options_.on_state(state);
}

void ZookeeperSession::ComplainLater(std::chrono::milliseconds delay) {
  executor_.PostAt(MonotonicNow() + delay, [this, outage = outage_] {
    if (outage != outage_) return;
    complained_ = true;
    spdlog::warn("ZooKeeper at {} is out of reach, retrying ({})", connect_string_,
                 LatestZookeeperComplaint());
    ComplainLater(kNextComplaint);
  });
}

}  // namespace shardmanager
