// Which shards this server holds, loads and drops: the part of the server library's
// core that decides about shards.
//
// One entry per shard that was ever granted here; it remembers the highest epoch
// seen, also after the drop, so that nothing old is ever obeyed:
//
//             add                 loaded
//   absent ---------> loading ---------------> serving
//     ^                  | failed, or            | drop, or a newer grant
//     |                  | dropped meanwhile     v
//     +---- dropping <---+--------------- draining
//            handler.DropShard            requests in flight finish
//
// A newer grant of a shard that is being drained or dropped waits for that to end;
// of several wishes the last one counts.
//
// A handover puts a state before each end, in which this server serves nobody, or only
// what the old owner forwards:
//
//   new:  absent --prepare-add--> preparing --> prepared --add, or a request that the old
//                                               owner forwards--> loading --> serving
//   old:  serving --prepare-drop--> leaving --> draining --> dropping --> forwarding
//                          handler.PrepareDropShard         until dropped, and a while on
//
// In the two moments in which nobody may serve (draining and dropping here, loading there),
// requests are held.
//
// A newer grant in the other role, of a shard that is held, changes its role in place:
//
//   serving --> draining --> turning --> serving      while it is not open, requests are held
//                      handler.ChangeRole
//
// A former primary that is dropped soon after goes on sending requests to the next one, too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "base/state_machine.h"
#include "model/command_kind.h"
#include "server/grant.h"
#include "server/handover.h"
#include "server/member_changes.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

enum class ResultState : uint8_t { kLoading, kDone, kFailed, kStale, kCalledOff };
struct ShardResult {
  ShardId shard;
  ShardEpoch epoch;
  ResultState state = ResultState::kDone;
  double progress = 0;
  std::string error;
  ShardEpoch serving_epoch = ShardEpoch();  // with kCalledOff: of its grant
};

// ---- events ----
struct Command {
  CommandKind kind = CommandKind::kAdd;
  ReplyId reply = 0;
  std::string app;
  std::string server;
  Incarnation incarnation;
  LeaderEpoch leader_epoch;
  std::vector<Grant> grants;
  std::string old_owner = {};  // of kPrepareAdd
  // Of kPrepareDrop, and of kChangeRole to secondary: one for each grant.
  std::vector<Successor> successors = {};
};
// This process is that life now; commands for it are obeyed from here on.
struct Registered {
  Incarnation incarnation;
};
// What the stored record grants, read after registration.
struct Assigned {
  std::vector<Grant> grants;
  std::vector<Grant> preparing = {};  // of handovers: to be asked for again
};
struct Prepared {
  ShardId shard;
  ShardEpoch epoch;
  absl::Status status;
};
// The old owner forwards a request of a shard that is prepared: it has let go.
struct Forwarded {
  ShardId shard;
};
struct Loaded {
  ShardId shard;
  ShardEpoch epoch;
  absl::Status status;
};
// ChangeRole has ended.
struct Turned {
  ShardId shard;
  ShardEpoch epoch;
  absl::Status status;
};
struct MembersSet {
  ShardId shard;
  ShardEpoch epoch;
  absl::Status status;
};
struct Progress {
  ShardId shard;
  ShardEpoch epoch;
  double fraction = 0;
};
// No request of the shard is in flight (may come more than once).
struct Drained {
  ShardId shard;
};
struct DropPrepared {
  ShardId shard;
  absl::Status status;
};
struct Dropped {
  ShardId shard;
  absl::Status status;
};
// The process stops: every shard is to go, none is to come.
struct Stop {};

// ---- actions ----
struct RunAdd {
  Grant grant;
  bool prepared = false;  // PrepareAddShard came before it
};
struct RunDrop {
  ShardId shard;
};
struct RunChangeRole {
  Grant grant;
};
// While the shard is open; a drain waits for its end.
struct RunSetMembers {
  Grant grant;
  bool brings = false;  // somebody new; only so many of either kind run at a time
};
struct RunPrepareAdd {
  Grant grant;
};
struct RunPrepareDrop {
  ShardId shard;
};
// Admit requests of the shard under this grant.
struct OpenShard {
  Grant grant;
  std::optional<Successor> primary = std::nullopt;  // of a secondary that was the primary
};
// Refuse them as "loading" until OpenShard (what AwaitForwarded holds is held on).
struct ShowLoading {
  ShardId shard;
};
// Admit no more; send Drained when none is in flight.
struct CloseShard {
  ShardId shard;
};
// The same, but what comes is held, until it is opened in its other role.
struct PauseShard {
  ShardId shard;
};
// The same, but what comes is held, unless it was forwarded.
struct HoldShard {
  ShardId shard;
};
// Hold what the old owner forwards (and send Forwarded); refuse the rest.
struct AwaitForwarded {
  Grant grant;
  std::string old_owner;
};
// Admit what the old owner forwards; refuse the rest.
struct OpenForwarded {
  Grant grant;
  std::string old_owner;
};
// Nothing is in flight. Send on what is held and what comes.
struct ForwardShard {
  ShardId shard;
  Successor to;
};
struct Reply {
  ReplyId reply = 0;
  std::vector<ShardResult> results;
  bool last = false;  // nothing more will come for this reply
};
// The whole command is refused.
struct Refuse {
  ReplyId reply = 0;
  absl::Status status;
};
struct Warn {
  std::string text;
};
// After Stop: no shard is held any more.
struct Emptied {};

struct ShardBookOptions {
  std::string app;
  std::string server;
  Duration drain_timeout = Seconds(10);
  // The same where what comes meanwhile is held: it is not to be held in vain.
  Duration handover_drain_timeout = Milliseconds(1'500);
  // How long it goes on forwarding after the drop, for clients that do not know yet.
  Duration forward_linger = Seconds(10);
  // Most changes of members that run at a time, of those that bring somebody new and of the others.
  size_t member_changes_at_once = 4;
};

class ShardBook {
 public:
  using Event = std::variant<Command, Registered, Assigned, Prepared, Forwarded, Loaded, Turned,
                             MembersSet, Progress, Drained, DropPrepared, Dropped, Stop>;
  using Action =
      std::variant<RunAdd, RunDrop, RunChangeRole, RunSetMembers, RunPrepareAdd, RunPrepareDrop,
                   OpenShard, ShowLoading, CloseShard, PauseShard, HoldShard, AwaitForwarded,
                   OpenForwarded, ForwardShard, Reply, Refuse, Warn, Emptied>;

  explicit ShardBook(ShardBookOptions options)
      : options_(std::move(options)), member_changes_(options_.member_changes_at_once) {}

  Output<Action> OnEvent(TimePoint now, Event event);
  Output<Action> OnAdvance(TimePoint now);

  struct Held {
    Grant grant;
    bool serving = false;
  };
  // Is a request in flight, or DropShard at work, or may a request be admitted?
  bool in_use() const;
  // Loading and serving ones, ascending by shard.
  std::vector<Held> held() const;

 private:
  enum class State : uint8_t {
    kAbsent,
    kPreparing,
    kPrepared,
    kLoading,
    kServing,
    kLeaving,
    kDraining,
    kTurning,
    kDropping,
    kForwarding,
  };
  // Holds the shard, or is about to. (What it only forwards, it forwards to the end.)
  static bool IsBusy(State state) { return state != State::kAbsent && state != State::kForwarding; }
  // What is wanted here: all of it, or (of a handover) what the old owner forwards.
  struct Wish {
    Grant grant;
    std::string old_owner = {};                       // "": everything
    std::optional<Successor> primary = std::nullopt;  // as in OpenShard
  };
  enum class Waits : uint8_t { kToCome, kToPrepare, kToGo };
  struct Waiter {
    ReplyId reply;
    CommandKind kind;  // kDrop: of kPrepareDrop, too
    ShardEpoch epoch;
  };
  struct Entry {
    State state = State::kAbsent;
    bool drop_first = false;             // DropShard is owed before `next` may load
    uint32_t failures = 0;               // loads in a row that failed and nobody waited for
    Grant grant;                         // that is loading, serving or going
    std::string old_owner;               // not "": only what it forwards is served
    std::optional<Successor> primary;    // of the grant, as in OpenShard
    Wish former;                         // while turning: what it was
    bool paused = false;                 // while draining: what comes is held
    ShardEpoch highest;                  // ever seen
    bool dropped = false;                // the wish for `highest` is: not here
    std::optional<Wish> next;            // to begin when what goes on now has ended
    std::optional<Successor> successor;  // to forward to, once it is dropped
    // The newest grant for which letting go, or a demotion, was called off: neither is done any
    // more for that one or an older one.
    ShardEpoch called_off;
    Incarnation life;         // in which the newest grant came
    Incarnation opened;       // the last life that opened it, or found it open
    TimePoint drain_until{};  // kNever: the drain was called off, and goes on
    TimePoint forward_until = kNever;
    std::vector<Waiter> waiters;
  };

  void On(Command& event);
  void On(Registered& event) { incarnation_ = event.incarnation; }
  void On(Assigned& event);
  void On(Prepared& event);
  void On(Forwarded& event);
  void On(Loaded& event);
  void On(Turned& event);
  void On(MembersSet& event);
  void On(Progress& event);
  void On(Drained& event);
  void On(DropPrepared& event);
  void On(Dropped& event);
  void On(Stop& event);

  absl::Status CheckHeader(const Command& command);
  void Obey(const Command& command, size_t index);
  void Come(const Wish& wish, ReplyId reply);
  static ShardResult CalledOff(const Entry& entry, ShardEpoch asked);
  bool IsVoid(const Entry& entry, const Grant& grant) const;
  bool HasCome(Entry& entry, const Wish& wish);
  void Join(Entry& entry, const Wish& wish, ReplyId reply, bool news);
  bool GoOn(Entry& entry, const Wish& wish);
  void Go(const ShardId& shard, ShardEpoch epoch, std::optional<Successor> successor,
          ReplyId reply);
  void StayOff(Entry& entry, ShardEpoch epoch, ReplyId reply);
  void Repeat(Entry& entry, ShardResult done, ReplyId reply);
  bool HasGone(Entry& entry, const std::optional<Successor>& successor);
  void Release(Entry& entry);
  void Begin(Entry& entry, const Wish& wish);
  void Continue(Entry& entry, const Wish& wish);
  void SetMembers(const Grant& grant, ReplyId reply);
  void EndMemberChange(const MemberChanges::Change& change, ResultState state,
                       const std::string& error);
  void BeginMemberChanges();
  void PrepareDrop(Entry& entry);
  void Load(Entry& entry);
  void Open(Entry& entry);
  static bool Turns(const Entry& entry);
  bool SendsOn(const Entry& entry) const;
  void RetryLater(Entry& entry);
  void Drain(Entry& entry);
  void EndDrain(Entry& entry);
  void RunDropOf(Entry& entry);
  void ComeFailed(Entry& entry, const absl::Status& status);
  void EndHandover(Entry& entry);
  void Forward(Entry& entry);
  void EndForwarding(Entry& entry);
  void Enter(Entry& entry, State state);
  void Answer(ReplyId reply, ShardResult result);
  static bool IsOf(CommandKind kind, Waits waits);
  void AnswerWaiters(Entry& entry, Waits waits, ResultState state, const std::string& error);
  void CheckDrains();
  void CheckForwarding();
  void CheckRetries();
  bool CallOff(Entry& entry);
  void CheckEmptied();
  Output<Action> Finish();

  const ShardBookOptions options_;
  TimePoint now_{};
  Output<Action> out_;
  std::map<ShardId, Entry> entries_;
  MemberChanges member_changes_;
  std::set<std::pair<TimePoint, ShardId>> deadlines_;  // of drains, by drain_until
  std::set<std::pair<TimePoint, ShardId>> retries_;    // loads to try again
  std::set<std::pair<TimePoint, ShardId>> lingers_;    // of forwarding, by forward_until
  size_t busy_ = 0;                                    // entries that are busy
  Incarnation incarnation_;
  LeaderEpoch leader_epoch_;
  bool stopping_ = false;
  bool emptied_ = false;
  std::map<ReplyId, size_t> open_;                       // results still owed
  std::map<ReplyId, std::vector<ShardResult>> results_;  // to be sent with this output
};

}  // namespace shardmanager::server
