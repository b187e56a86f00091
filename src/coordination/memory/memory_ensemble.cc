#include "coordination/memory/memory_ensemble.h"

#include <algorithm>
#include <utility>

#include "coordination/access/store_access.h"
#include "coordination/memory/memory_session.h"
#include "coordination/write_check.h"

namespace shardmanager {
namespace {

absl::Status ConnectionLost() { return absl::UnavailableError("connection loss"); }
absl::Status SessionExpired() { return absl::AbortedError("session expired"); }

}  // namespace

std::unique_ptr<CoordinationStore> MemoryEnsemble::NewSession(SessionOptions options) {
  const SessionNumber number = ++last_session_;
  Session& s = sessions_[number];
  s.timeout =
      std::clamp(options.timeout, options_.min_session_timeout, options_.max_session_timeout);
  s.actor.session = number;
  s.actor.party = PartyName(options.access.get());
  if (options.access != nullptr) {
    for (const StoreLogin& login : options.access->logins()) {
      s.actor.identities.push_back(DigestOf(login));
    }
  }
  auto client = std::make_unique<MemorySession>(this, number, std::move(options));
  s.client = client.get();
  TryConnect(number);
  return client;
}

// ---- Progress.

bool MemoryEnsemble::RunOne() {
  uint64_t oldest = next_order_;
  std::function<void()> run;
  for (auto& [number, s] : sessions_) {
    if (CanApply(s) && s.requests.front().order < oldest) {
      oldest = s.requests.front().order;
      run = [this, n = number] { Apply(n); };
    }
    if (CanDeliver(s) && s.deliveries.front().order < oldest) {
      oldest = s.deliveries.front().order;
      run = [this, n = number] { Deliver(n); };
    }
  }
  if (run) run();
  return run != nullptr;
}

void MemoryEnsemble::RunUntilIdle() {
  while (RunOne()) {
  }
}

std::vector<SessionNumber> MemoryEnsemble::Appliable() const {
  std::vector<SessionNumber> numbers;
  for (const auto& [number, s] : sessions_) {
    if (CanApply(s)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<SessionNumber> MemoryEnsemble::Deliverable() const {
  std::vector<SessionNumber> numbers;
  for (const auto& [number, s] : sessions_) {
    if (CanDeliver(s)) numbers.push_back(number);
  }
  return numbers;
}

void MemoryEnsemble::Apply(SessionNumber number) {
  Session& s = sessions_.at(number);
  Request request = std::move(s.requests.front());
  s.requests.pop_front();
  if (!Silent(s)) Touch(s);
  if (request.kind == Kind::kWrite && s.lose_next_answer) RememberSeen(s);
  Callback deliver = request.apply();
  s.deliveries.push_back({next_order_++, true, std::move(deliver), std::move(request.fail)});
  if (request.kind == Kind::kWrite && std::exchange(s.lose_next_answer, false)) Disconnect(number);
}

void MemoryEnsemble::Deliver(SessionNumber number) {
  Session& s = sessions_.at(number);
  Delivery delivery = std::move(s.deliveries.front());
  s.deliveries.pop_front();
  delivery.deliver();
}

bool MemoryEnsemble::CanApply(const Session& s) const {
  if (!s.connected || s.cut_at || s.requests.empty()) return false;
  const Kind kind = s.requests.front().kind;
  return s.stale == nullptr || kind == Kind::kRead || (s.deposed && kind == Kind::kSync);
}

bool MemoryEnsemble::CanApply(SessionNumber number) const {
  const auto session = sessions_.find(number);
  return session != sessions_.end() && CanApply(session->second);
}

bool MemoryEnsemble::CanDeliver(SessionNumber number) const {
  const auto session = sessions_.find(number);
  return session != sessions_.end() && CanDeliver(session->second);
}

bool MemoryEnsemble::CanDeliver(const Session& s) const {
  if (s.client == nullptr || s.deliveries.empty()) return false;
  return !s.deliveries.front().over_connection || (!s.cut_at && !s.hold_answers);
}

// ---- Time.

TimePoint MemoryEnsemble::DeadlineOf(const Session& s) const {
  TimePoint deadline = kNever;
  if (s.cut_at) deadline = std::min(deadline, *s.cut_at + Duration(s.timeout) * 2 / 3);
  if (s.lags_until) deadline = std::min(deadline, *s.lags_until);
  if (store_up_ && s.alive && Silent(s)) deadline = std::min(deadline, s.last_heard + s.timeout);
  return deadline;
}

// Of older touches the leader has been told for long: one of them is enough.
void MemoryEnsemble::Touch(Session& s) {
  s.touches.push_back(now_);
  while (s.touches.size() > 2 && s.touches[1] <= now_ - Duration(s.timeout)) s.touches.pop_front();
}

TimePoint MemoryEnsemble::LastHeard(Session& s) const {
  if (!touch_lag_) return now_;
  const TimePoint known = now_ - *touch_lag_;
  while (!s.touches.empty() && s.touches.front() <= known) {
    s.reported = std::max(s.reported, s.touches.front());
    s.touches.pop_front();
  }
  // A client that is idle pings after a third of its time-out.
  const TimePoint ping = known - Duration(s.timeout) / 3;
  if (ping >= s.speaks_since) s.reported = std::max(s.reported, ping);
  return s.reported;
}

TimePoint MemoryEnsemble::next_deadline() const {
  TimePoint next = kNever;
  for (const auto& [number, s] : sessions_) next = std::min(next, DeadlineOf(s));
  return next;
}

void MemoryEnsemble::AdvanceTo(TimePoint now) {
  now_ = std::max(now_, now);
  for (auto& [number, s] : sessions_) {
    if (s.cut_at && now_ >= *s.cut_at + Duration(s.timeout) * 2 / 3) {
      s.cut_at.reset();
      s.connected = false;
      TellClient(s, SessionState::kSuspended, ConnectionLost());
    }
    if (store_up_ && s.alive && Silent(s) && now_ >= s.last_heard + s.timeout) {
      RemoveFromStore(number);
    }
    if (s.lags_until && now_ >= *s.lags_until) CatchUp(number);
  }
  std::erase_if(sessions_, [](const auto& entry) {
    return entry.second.client == nullptr && !entry.second.alive;
  });
}

// ---- Faults.

void MemoryEnsemble::Disconnect(SessionNumber number) {
  Session& s = sessions_.at(number);
  s.may_connect = false;
  if (!s.connected) return;
  if (!Silent(s)) s.last_heard = LastHeard(s);
  CatchUp(number);
  if (!s.connected) return;
  RememberSeen(s);
  s.cut_at.reset();
  s.connected = false;
  TellClient(s, SessionState::kSuspended, ConnectionLost());
}

void MemoryEnsemble::Cut(SessionNumber number) {
  Session& s = sessions_.at(number);
  s.may_connect = false;
  if (!s.connected || s.cut_at) return;
  if (!Silent(s)) s.last_heard = LastHeard(s);
  CatchUp(number);
  if (!s.connected) return;
  RememberSeen(s);
  s.cut_at = now_;
}

void MemoryEnsemble::Strand(SessionNumber number, bool stranded) {
  Session& s = sessions_.at(number);
  if (!stranded) return CatchUp(number);
  if (Silent(s) || s.lags_until) return;
  s.last_heard = LastHeard(s);
  s.stale = std::make_shared<const MemoryTree>(tree_);
}

void MemoryEnsemble::Depose(SessionNumber number, bool deposed) {
  Session& s = sessions_.at(number);
  if (!deposed) return CatchUp(number);
  if (Silent(s) || s.lags_until) return;
  s.last_heard = now_;
  s.stale = std::make_shared<const MemoryTree>(tree_);
  s.deposed = true;
}

void MemoryEnsemble::LagAfterReconnect(SessionNumber number, Duration lag) {
  sessions_.at(number).lag = lag;
}

// A client is never shown less than it has seen; of what it did not hear the answer to, nobody
// knows whether the next server has it.
void MemoryEnsemble::RememberSeen(Session& s) {
  if (s.lag && s.seen == nullptr) s.seen = std::make_shared<const MemoryTree>(tree_);
}

void MemoryEnsemble::ForgetLag(Session& s) {
  if (s.lags_until) s.stale.reset();
  if (s.stale == nullptr) s.missed.clear();
  s.lags_until.reset();
  s.lag.reset();
  s.seen.reset();
}

// The server that was behind hears of all that it missed.
void MemoryEnsemble::CatchUp(SessionNumber number) {
  Session& s = sessions_.at(number);
  if (s.stale == nullptr) return;
  const bool was_silent = Silent(s);
  const bool was_deposed = std::exchange(s.deposed, false);
  s.stale.reset();
  s.lags_until.reset();
  for (const TreeEvent& event : std::exchange(s.missed, {})) {
    const auto watched = watches_.find({event.kind, event.path});
    if (watched != watches_.end() && watched->second.erase(number) > 0) Fire(s, event);
  }
  if (was_silent) s.speaks_since = now_;
  if (s.alive && !was_deposed) return;
  s.connected = false;
  TellClient(s, SessionState::kSuspended, ConnectionLost());
  TryConnect(number);
}

void MemoryEnsemble::Reconnect(SessionNumber number) {
  Session& s = sessions_.at(number);
  s.may_connect = true;
  s.hold_answers = false;
  s.lose_next_answer = false;
  if (s.cut_at && s.alive) {
    s.cut_at.reset();  // nobody noticed
    s.speaks_since = now_;
    ForgetLag(s);
  } else if (s.cut_at) {
    s.cut_at.reset();
    s.connected = false;
    TellClient(s, SessionState::kSuspended, ConnectionLost());
  }
  TryConnect(number);
}

void MemoryEnsemble::Expire(SessionNumber number) {
  RemoveFromStore(number);
  Session& s = sessions_.at(number);
  ForgetLag(s);
  if (!s.connected || Silent(s)) return;
  s.connected = false;
  TellExpired(s);
}

void MemoryEnsemble::HoldAnswers(SessionNumber number, bool hold) {
  sessions_.at(number).hold_answers = hold;
}

void MemoryEnsemble::LoseNextAnswer(SessionNumber number) {
  sessions_.at(number).lose_next_answer = true;
}

void MemoryEnsemble::Empty() {
  for (const auto& [number, s] : sessions_) {
    if (s.alive) Expire(number);
  }
  tree_ = MemoryTree();
}

void MemoryEnsemble::StopStore() {
  store_up_ = false;
  for (auto& [number, s] : sessions_) {
    if (!s.connected) continue;
    s.cut_at.reset();
    ForgetLag(s);
    s.stale.reset();
    s.deposed = false;
    s.missed.clear();
    s.connected = false;
    TellClient(s, SessionState::kSuspended, ConnectionLost());
  }
}

void MemoryEnsemble::StartStore() {
  store_up_ = true;
  for (auto& [number, s] : sessions_) {
    s.last_heard = now_;
    TryConnect(number);
  }
}

// ---- Sessions.

void MemoryEnsemble::Enqueue(SessionNumber number, Kind kind, std::function<Callback()> apply,
                             std::function<void(absl::Status)> fail) {
  Session& s = sessions_.at(number);
  if (s.client == nullptr) return;
  if (s.told_expired) {
    EnqueueLocal(number, [fail = std::move(fail)] { fail(SessionExpired()); });
    return;
  }
  s.requests.push_back({next_order_++, kind, std::move(apply), std::move(fail)});
}

void MemoryEnsemble::EnqueueLocal(SessionNumber number, Callback deliver) {
  Session& s = sessions_.at(number);
  if (s.client == nullptr) return;
  s.deliveries.push_back({next_order_++, false, std::move(deliver), nullptr});
}

void MemoryEnsemble::CloseSession(SessionNumber number) {
  Session& s = sessions_.at(number);
  // What was sent before is applied before, though nobody hears the answers.
  while (CanApply(s)) Apply(number);
  const bool in_reach = s.connected && !Silent(s);
  s.client = nullptr;
  s.connected = false;
  s.stale.reset();
  s.deposed = false;
  ForgetLag(s);
  s.cut_at.reset();
  s.requests.clear();
  s.deliveries.clear();
  if (in_reach) RemoveFromStore(number);
}

void MemoryEnsemble::AddWatch(SessionNumber number, WatchKind kind, const std::string& path) {
  watches_[{kind, path}].insert(number);
}

WriteResult MemoryEnsemble::Write(SessionNumber number, const std::vector<WriteOp>& ops) {
  std::vector<TreeEvent> events;
  WriteResult result = tree_.Apply(ops, sessions_.at(number).actor, &events);
  FireWatches(events);
  return result;
}

void MemoryEnsemble::TryConnect(SessionNumber number) {
  Session& s = sessions_.at(number);
  if (!store_up_ || !s.may_connect || s.connected || s.client == nullptr) return;
  if (s.expired) {
    TellExpired(s);
    return;
  }
  s.alive = true;
  s.connected = true;
  s.last_heard = now_;
  s.speaks_since = now_;
  s.reported = now_;  // the session is presented to the leader
  s.touches.clear();  // what the server before had not told is lost with the connection
  if (s.seen != nullptr) {
    s.stale = std::exchange(s.seen, nullptr);
    s.lags_until = now_ + *std::exchange(s.lag, std::nullopt);
  }
  auto* client = s.client;
  EnqueueLocal(number, [client] { client->OnState(SessionState::kConnected); });
}

void MemoryEnsemble::TellClient(Session& s, SessionState state, const absl::Status& status) {
  if (s.client == nullptr) return;
  std::vector<std::function<void(absl::Status)>> unanswered;
  for (Delivery& d : s.deliveries) {
    if (d.fail) unanswered.push_back(std::move(d.fail));
  }
  for (Request& r : s.requests) unanswered.push_back(std::move(r.fail));
  s.requests.clear();
  std::erase_if(s.deliveries, [](const Delivery& d) { return d.over_connection; });

  auto local = [&](Callback deliver) {
    s.deliveries.push_back({next_order_++, false, std::move(deliver), nullptr});
  };
  local([client = s.client, state] { client->OnState(state); });
  for (auto& fail : unanswered) local([fail = std::move(fail), status] { fail(status); });
}

void MemoryEnsemble::TellExpired(Session& s) {
  if (std::exchange(s.told_expired, true)) return;
  TellClient(s, SessionState::kExpired, SessionExpired());
}

void MemoryEnsemble::FireWatches(const std::vector<TreeEvent>& events) {
  for (const TreeEvent& event : events) {
    const auto found = watches_.extract({event.kind, event.path});
    if (found.empty()) continue;
    for (SessionNumber number : found.mapped()) {
      const auto session = sessions_.find(number);
      if (session == sessions_.end()) continue;
      if (session->second.stale != nullptr) {
        AddWatch(number, event.kind, event.path);  // its server does not know yet
      } else {
        Fire(session->second, event);
      }
    }
  }
  for (auto& [number, s] : sessions_) {
    const bool behind = s.stale != nullptr || s.seen != nullptr;
    if (behind) s.missed.insert(s.missed.end(), events.begin(), events.end());
  }
}

void MemoryEnsemble::Fire(Session& s, const TreeEvent& event) {
  if (s.client == nullptr || !s.connected) return;
  auto fire = [client = s.client, event] { client->watches_.Fire(event.kind, event.path); };
  s.deliveries.push_back({next_order_++, true, std::move(fire), nullptr});
}

void MemoryEnsemble::RemoveFromStore(SessionNumber number) {
  Session& s = sessions_.at(number);
  s.alive = false;
  s.expired = true;
  std::vector<TreeEvent> events;
  tree_.RemoveSession(number, &events);
  FireWatches(events);
}

}  // namespace shardmanager
