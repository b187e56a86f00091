// What a ShardBook knows: of each shard, and of this life of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/state_machine.h"
#include "base/time.h"
#include "model/command_kind.h"
#include "server/grant.h"
#include "server/handover.h"
#include "server/shards/answers.h"
#include "server/shards/member_changes.h"
#include "server/shards/shard_events.h"
#include "shardmanager/types.h"

namespace shardmanager::server {

struct ShardBookOptions {
  std::string app;
  std::string server;
  Duration drain_timeout = Seconds(10);
  // The same while new requests are held; shorter, so that there is time to answer them afterwards.
  Duration handover_drain_timeout = Milliseconds(1'500);
  // How long it goes on forwarding after the drop, for clients that do not know yet.
  Duration forward_linger = Seconds(10);
  // Most changes of members that run at a time, of those that add a member and of the others.
  size_t member_changes_at_once = 4;
};

// See the pictures in shard_book.h.
enum class ShardState : uint8_t {
  kAbsent,
  kPreparing,
  kPrepared,
  kLoading,
  kServing,
  kLeaving,
  kDraining,
  kChangingRole,
  kDropping,
  kForwarding,
};
// The server holds the shard, or is about to. (Forwarding does not keep a server from stopping.)
constexpr bool IsBusy(ShardState state) {
  return state != ShardState::kAbsent && state != ShardState::kForwarding;
}

// A grant that the control plane wants to be served here.
struct WantedGrant {
  Grant grant;
  std::string old_owner = {};                       // not "": only what it forwards is served
  std::optional<Successor> primary = std::nullopt;  // as in OpenShard
  std::vector<ShardId> after = {};                  // begins when none of these is held here
};

// What the caller of a command waits for.
enum class Outcome : uint8_t {
  kServed,  // answers those who wait for kPrepared, too
  kPrepared,
  kLetGo,
};
struct Waiter {
  ReplyId reply;
  CommandKind kind;  // kDrop: of kPrepareDrop, too
  ShardEpoch epoch;
};

// What is known of a shard that was ever granted here.
struct ShardEntry {
  ShardState state = ShardState::kAbsent;
  bool drop_first = false;             // DropShard is owed before `next` may load
  uint32_t failures = 0;               // loads in a row that failed and nobody waited for
  Grant grant;                         // that is loading, serving or going
  std::string old_owner;               // as in WantedGrant, of `grant`
  std::optional<Successor> primary;    // likewise
  WantedGrant former;                  // while it changes its role: what it was
  bool paused = false;                 // while draining: what comes is held
  ShardEpoch highest;                  // ever seen
  bool dropped = false;                // the newest command for `highest` was a drop
  bool replaced = false;               // others take its place: it is not opened again
  std::optional<WantedGrant> next;     // begins when the step that is at work has ended
  std::optional<Successor> successor;  // to forward to, once it is dropped
  // The newest grant for which letting go, or a demotion, was called off: neither is done any
  // more for that one or an older one.
  ShardEpoch called_off;
  Incarnation life;    // in which the newest grant came
  Incarnation opened;  // the life whose grant it was last opened under, or that found it open
  // When the drain is given up. kNever: it is not draining, or that time has passed and the shard
  // stays closed until it is drained.
  TimePoint drain_until = kNever;
  TimePoint retry_at = kNever;  // while absent: when `grant` is loaded again
  TimePoint forward_until = kNever;
  std::vector<Waiter> waiters;
};

struct BookState {
  explicit BookState(ShardBookOptions given)
      : options(std::move(given)), member_changes(options.member_changes_at_once) {}

  const ShardBookOptions options;
  TimePoint now{};
  Output<ShardAction> out;  // of the event at work
  std::map<ShardId, ShardEntry> shards;
  size_t busy = 0;           // of them
  std::set<ShardId> behind;  // that may wait for others (WantedGrant::after)
  MemberChanges member_changes;
  Answers answers;
  Incarnation incarnation;
  bool stopping = false;
};

// A repeat of a demotion that was called off: the control plane has been told, or will be, that the
// shard is still served under the previous grant. (Another life obeys what its record says.)
bool IsVoid(const BookState& book, const ShardEntry& entry, const Grant& grant);
// This life was granted what it serves. What a former life was granted may have been overtaken, so
// after a change of role that fails it is dropped (ShardSteps::RoleChanged): the control plane must
// not count on it before it has granted it anew.
bool IsOfThisLife(const BookState& book, const ShardEntry& entry);
// What is held here and not among them.
std::vector<ShardId> HeldBut(const BookState& book, const std::vector<Grant>& grants);
// A shard that it is to come after is held here yet.
bool IsBehindOthers(const BookState& book, const WantedGrant& wanted);
// What comes next is the same shard in its other role.
bool ChangesRole(const ShardEntry& entry);
// It goes, and was the primary: its clients may not know the next one yet.
bool ForwardsAfterDrop(const BookState& book, const ShardEntry& entry);
// Of a repeat of what was called off: the shard is served on, under the grant that it has.
ShardResult CalledOffResult(const ShardEntry& entry, ShardEpoch asked);
// Does a command of this kind wait for that?
bool WaitsFor(CommandKind kind, Outcome outcome);
// Those who wait for that get a final result.
void AnswerWaiters(BookState& book, ShardEntry& entry, Outcome outcome, ResultState result,
                   const std::string& error);
// The caller of kSetMembers gets its result.
void AnswerMemberChange(BookState& book, const MemberChanges::Change& change, ResultState result,
                        const std::string& error);

}  // namespace shardmanager::server
