#include "coordination/zookeeper/zookeeper_session.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "coordination/access/store_access.h"
#include "coordination/write_check.h"
#include "coordination/zookeeper/zookeeper_log.h"
#include "runtime/clock.h"
#include "runtime/logging.h"

namespace shardmanager {
namespace {

// How soon an outage at start is worth a line, and how often one that lasts is.
constexpr std::chrono::milliseconds kFirstComplaint{1'000};
constexpr std::chrono::milliseconds kNextComplaint{30'000};
// Between attempts to make a handle at all, which fail when no name resolves.
constexpr std::chrono::milliseconds kOpenAgain{1'000};
// The client gives up connecting after a part of the time-out that it asks for.
constexpr std::chrono::milliseconds kMinTimeout{100};
// A server that is just starting may accept a connection and never answer on it; the
// client would wait for two thirds of the session's time-out.
constexpr std::chrono::milliseconds kAdmissionProbe{100};
constexpr std::chrono::milliseconds kFirstPatience{500};

}  // namespace

ZookeeperSession::ZookeeperSession(std::string connect_string, SessionOptions options)
    : connect_string_(std::move(connect_string)),
      options_(std::move(options)),
      patience_(kFirstPatience) {
  // The client resolves names while it makes a handle: not on the caller's time.
  executor_.Post([this] {
    ComplainLater(kFirstComplaint);
    ProbeAdmission();
    Open(nullptr);
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
  if (WriteResult checked = PrepareWrite(ops, access()); !checked.status.ok()) {
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

void ZookeeperSession::GetAccess(const std::string& path, AccessCallback done) {
  auto request = std::make_shared<GetAccessRequest>(host(), path, std::move(done));
  executor_.Post([this, request] { Submit(request); });
}

void ZookeeperSession::SetAccess(const std::string& path, AccessList list, StatusCallback done) {
  if (list.empty()) {
    executor_.Post([done = std::move(done), path] { done(NoEmptyAccess(path)); });
    return;
  }
  auto request = std::make_shared<SetAccessRequest>(host(), path, std::move(list), std::move(done));
  executor_.Post([this, request] { Submit(request); });
}

std::string ZookeeperSession::party() const { return PartyName(access()); }

void ZookeeperSession::Close() {
  std::call_once(closed_, [this] {
    executor_.Stop();
    handle_.reset();
    pending_.clear();
    held_.clear();
    watches_.Clear();
    state_ = SessionState::kClosed;
  });
}

void ZookeeperSession::Answered(uint64_t request, int rc) {
  executor_.Post([this, request, rc] { Finish(request, rc); });
}

void ZookeeperSession::Open(const clientid_t* resume) {
  const uint64_t attempt = ++attempt_;
  ZookeeperHandle::Events events;
  events.on_session = [this, attempt](int zoo_state) {
    executor_.Post([this, attempt, zoo_state] {
      if (attempt == attempt_) OnZooState(zoo_state);
    });
  };
  events.on_watch = [this, attempt](WatchKind kind, std::string path) {
    executor_.Post([this, attempt, kind, path = std::move(path)] {
      if (attempt == attempt_) watches_.Fire(kind, path);
    });
  };
  handle_ = ZookeeperHandle::Open(connect_string_, std::max(options_.timeout, kMinTimeout), resume,
                                  std::move(events));
  if (handle_ != nullptr && access() != nullptr) handle_->LogIn(access()->logins());
  if (handle_ != nullptr) return;
  LogDebug("cannot make a ZooKeeper handle for {}: {}", connect_string_, strerror(errno));
  const clientid_t session = resume == nullptr ? clientid_t{} : *resume;
  executor_.PostAt(MonotonicNow() + kOpenAgain, [this, session] { Open(&session); });
}

// The same session over a new handle, which does not tell ZooKeeper what the session has seen: one
// that was restored from a backup turns away, without a word, all who have seen more than it has.
// The client would close the session if it were
// let in at this very moment; that is an expiry like any other.
void ZookeeperSession::Reopen() {
  awaiting_admission_ = turned_away_ = std::chrono::milliseconds(0);
  const clientid_t session = *zoo_client_id(handle_->get());
  handle_.reset();
  for (auto& [id, request] : std::exchange(pending_, {})) request->Answer(ZCONNECTIONLOSS);
  Open(&session);
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

void ZookeeperSession::Send(std::shared_ptr<ZookeeperRequest> request) {
  request->set_id(++last_request_);
  const int rc = request->Send(*handle_);
  if (rc == ZOK) {
    // Its answer cannot overtake this: it comes through the same executor.
    pending_.emplace(request->id(), std::move(request));
  } else {
    request->Answer(rc);
  }
}

void ZookeeperSession::Finish(uint64_t id, int rc) {
  auto found = pending_.extract(id);
  if (found.empty()) return;
  if (found.mapped()->WantsAnotherStep(rc)) {
    Submit(std::move(found.mapped()));
  } else {
    found.mapped()->Answer(rc);
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
  awaiting_admission_ = turned_away_ = std::chrono::milliseconds(0);
  patience_ = kFirstPatience;
  session_id_ = zoo_client_id(handle_->get())->client_id;
  session_timeout_ms_ = zoo_recv_timeout(handle_->get());
  const LogLevel level = complained_ ? LogLevel::kWarning : LogLevel::kDebug;
  Log(level, "connected to ZooKeeper at {}: session {:#x}, time-out {} ms", connect_string_,
      session_id_.load(), session_timeout_ms_.load());
  complained_ = false;
  SetState(SessionState::kConnected);
  // A new handle does not know what the session has seen: without this, a server that
  // lags behind could show it an older state.
  if (attempt_ > 1) Submit(std::make_shared<SyncRequest>(host(), [](absl::Status) {}));
  for (auto& request : std::exchange(held_, {})) Submit(std::move(request));
}

void ZookeeperSession::OnDisconnected() {
  ComplainLater(std::chrono::milliseconds(0));
  ProbeAdmission();
  SetState(SessionState::kSuspended);
  // All watches fire, and who still wants one sets it anew. The client would set them again, too,
  // all in one request, and ZooKeeper lets nobody in who sends more than 1 MB. (A client that
  // reconnects before it has forgotten them is turned away once.)
  watches_.ForEachPath([this](const std::string& path) { handle_->ForgetWatches(path); });
  watches_.FireAll();
}

void ZookeeperSession::OnExpired() {
  ++outage_;
  LogWarning("ZooKeeper session {:#x} with {} has expired", session_id_.load(), connect_string_);
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
    LogWarning("ZooKeeper at {} is out of reach, retrying ({})", connect_string_,
               LatestZookeeperComplaint());
    ComplainLater(kNextComplaint);
  });
}

void ZookeeperSession::ProbeAdmission() {
  executor_.PostAt(MonotonicNow() + kAdmissionProbe, [this, outage = outage_] {
    if (outage != outage_) return;
    const bool waiting = handle_ != nullptr && handle_->awaits_admission();
    awaiting_admission_ = waiting ? awaiting_admission_ + kAdmissionProbe : awaiting_admission_ * 0;
    turned_away_ += kAdmissionProbe;
    if (awaiting_admission_ >= patience_) {
      patience_ = std::min(2 * patience_, std::max(options_.timeout, kFirstPatience));
      Reopen();
    } else if (handle_ != nullptr && turned_away_ >= std::max(options_.timeout, kFirstPatience)) {
      Reopen();
    }
    ProbeAdmission();
  });
}

}  // namespace shardmanager
