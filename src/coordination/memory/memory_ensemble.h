// A CoordinationStore in memory, for tests and simulation: single-threaded,
// deterministic, on virtual time, with faults on request.
//
// Nothing happens by itself. A request waits until it is applied; its answer (or a
// watch, or a change of the session's state) waits until it is delivered. RunOne()
// does the oldest thing that waits; a simulator picks for itself with Apply() and
// Deliver(), keeping each session's own order, as one connection would.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "coordination/memory/memory_tree.h"
#include "coordination/store.h"

namespace shardmanager {

// Names a session of a MemoryEnsemble, in order of creation from 1; equal to its
// session_id() once that is known.
using SessionNumber = int64_t;

struct MemoryEnsembleOptions {
  // Session time-outs are granted within these.
  std::chrono::milliseconds min_session_timeout{400};
  std::chrono::milliseconds max_session_timeout{60'000};
};

// The shared tree, and who is connected to it. Must outlive its sessions.
// Not thread-safe.
class MemoryEnsemble final : public CoordinationStoreFactory {
 public:
  explicit MemoryEnsemble(MemoryEnsembleOptions options = {}) : options_(options) {}

  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override;
  // Of the latest NewSession().
  SessionNumber last_session() const { return last_session_; }

  // ---- Progress.
  // Applies or delivers the oldest thing that can be. False: nothing can.
  bool RunOne();
  void RunUntilIdle();
  // Sessions whose next request can be applied, or next answer delivered; ascending.
  std::vector<SessionNumber> Appliable() const;
  std::vector<SessionNumber> Deliverable() const;
  // Is it in the list above?
  bool CanApply(SessionNumber session) const;
  bool CanDeliver(SessionNumber session) const;
  bool Connected(SessionNumber session) const {
    const auto found = sessions_.find(session);
    return found != sessions_.end() && found->second.connected;
  }
  // Closed and ended, and nothing will ever come of it.
  bool Forgotten(SessionNumber session) const { return !sessions_.contains(session); }
  // REQUIRES: the session is in the list above.
  void Apply(SessionNumber session);
  void Deliver(SessionNumber session);

  // ---- Time. Never goes back.
  TimePoint now() const { return now_; }
  // Expires sessions that were silent for too long; tells clients of cut links.
  void AdvanceTo(TimePoint now);
  // When AdvanceTo would next change something; kNever if nothing waits for time.
  TimePoint next_deadline() const;

  // ---- Faults.
  // The connection breaks and both ends know. Stays so until Reconnect().
  void Disconnect(SessionNumber session);
  // Nothing gets through and neither end is told: the client finds out after two
  // thirds of its session time-out. Stays so until Reconnect().
  void Cut(SessionNumber session);
  // Ends all faults of the session's connection.
  void Reconnect(SessionNumber session);
  // The store forgets the session now. Its client learns that when it is connected.
  void Expire(SessionNumber session);
  // Answers stay undelivered while requests go on being applied.
  void HoldAnswers(SessionNumber session, bool hold);
  // The next multi is applied, then the connection breaks before it is answered.
  void LoseNextAnswer(SessionNumber session);
  // What the store's leader knows of a session's life at a break of its connection is
  // that old: touches (requests, and the pings of an idle client) reach ZooKeeper's
  // leader with its followers' answers to pings only, every half tick. For breaks from
  // now on. Default: it heard until the break.
  void SetTouchLag(std::optional<Duration> lag) { touch_lag_ = lag; }
  // The server of the store that the session talks to is cut off from the others: it
  // answers reads from what it knew, syncs and writes wait, the client notices nothing,
  // and the store hears nothing of the session. In the end the server catches up.
  void Strand(SessionNumber session, bool stranded);
  // The server of the store that the session talks to leads the others no more and does not know:
  // another one was elected, who gives the session its full time-out and hears nothing of it. The
  // old one answers reads and syncs from what it knew; writes wait. In the end the connection
  // breaks, and what was waiting has not happened.
  void Depose(SessionNumber session, bool deposed);
  // When its connection has broken next, the session comes back to a server of the store that is
  // behind the others: until `lag` after that it answers reads from what the session had seen
  // before the break (and so without the write whose answer was lost), and syncs and
  // writes wait. The store hears of the session all the while.
  void LagAfterReconnect(SessionNumber session, Duration lag);
  // The store is down for everybody. After StartStore() all sessions have their full
  // time-out again, as with ZooKeeper.
  void StopStore();
  void StartStore();
  // All that is stored is lost, and no session is known any more.
  void Empty();

  // What is stored, for checkers.
  const MemoryTree& tree() const { return tree_; }

 private:
  friend class MemorySession;
  using Callback = std::function<void()>;
  enum class Kind : uint8_t { kRead, kSync, kWrite };  // all but reads go through the leader

  struct Request {
    uint64_t order;
    Kind kind;
    std::function<Callback()> apply;         // returns what to deliver
    std::function<void(absl::Status)> fail;  // the answer if that never comes
  };
  struct Delivery {
    uint64_t order;
    // Answers and watches come over the connection; changes of state and failed
    // requests are the client library's own doing.
    bool over_connection;
    Callback deliver;
    std::function<void(absl::Status)> fail;  // of an answer, if the connection breaks
  };
  // Both ends of one session.
  struct Session {
    class MemorySession* client = nullptr;  // null once closed
    MemoryActor actor;
    std::chrono::milliseconds timeout{0};
    bool alive = false;  // known to the store
    bool expired = false;
    bool told_expired = false;
    bool connected = false;
    bool may_connect = true;
    bool hold_answers = false;
    bool lose_next_answer = false;
    std::optional<TimePoint> cut_at;          // and the client does not know yet
    std::shared_ptr<const MemoryTree> stale;  // what its server knows, if it is behind
    bool deposed = false;                     // that server leads, it believes
    std::vector<TreeEvent> missed;            // by that server
    std::optional<TimePoint> lags_until;      // it is behind, and not cut off
    std::optional<Duration> lag;              // of the server that it reconnects to
    std::shared_ptr<const MemoryTree> seen;   // before the break: what that server will know
    TimePoint last_heard;
    TimePoint speaks_since;         // the connection has been up, and the client able
    TimePoint reported;             // the newest touch that the leader is known to know of
    std::deque<TimePoint> touches;  // newer ones
    std::deque<Request> requests;
    std::deque<Delivery> deliveries;
  };

  // For MemorySession.
  void Enqueue(SessionNumber number, Kind kind, std::function<Callback()> apply,
               std::function<void(absl::Status)> fail);
  void EnqueueLocal(SessionNumber number, Callback deliver);
  void CloseSession(SessionNumber number);
  void AddWatch(SessionNumber number, WatchKind kind, const std::string& path);
  WriteResult Write(SessionNumber number, const std::vector<WriteOp>& ops);
  // What the session's server knows.
  const MemoryTree& view(SessionNumber number) const {
    const Session& s = sessions_.at(number);
    return s.stale != nullptr ? *s.stale : tree_;
  }
  std::chrono::milliseconds granted_timeout(SessionNumber number) const {
    return sessions_.at(number).timeout;
  }

  bool CanApply(const Session& s) const;
  bool CanDeliver(const Session& s) const;
  // Lets the client connect if nothing is in the way.
  void TryConnect(SessionNumber number);
  // Queues the change of state, then `status` as the answer to all that is in flight.
  void TellClient(Session& s, SessionState state, const absl::Status& status);
  void TellExpired(Session& s);
  void RemoveFromStore(SessionNumber number);
  void FireWatches(const std::vector<TreeEvent>& events);
  void Fire(Session& s, const TreeEvent& event);
  void CatchUp(SessionNumber number);
  bool Silent(const Session& s) const {
    return !s.connected || s.cut_at || (s.stale != nullptr && !s.lags_until);
  }
  void RememberSeen(Session& s);
  void ForgetLag(Session& s);
  TimePoint DeadlineOf(const Session& s) const;
  // When the store last heard of a session whose connection breaks now.
  TimePoint LastHeard(Session& s) const;
  void Touch(Session& s);

  const MemoryEnsembleOptions options_;
  MemoryTree tree_;
  TimePoint now_{};
  bool store_up_ = true;
  std::optional<Duration> touch_lag_;
  SessionNumber last_session_ = 0;
  uint64_t next_order_ = 0;
  std::map<SessionNumber, Session> sessions_;
  std::map<std::pair<WatchKind, std::string>, std::set<SessionNumber>> watches_;
};

}  // namespace shardmanager
