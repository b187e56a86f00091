// Why a shard is not yet as it should be, as data: decisions give it, and describe/waits.h says it
// in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/time.h"
#include "model/command_kind.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// In brackets: the members of Wait that belong to it.
enum class WaitReason : uint8_t {
  // Of writes to the coordination store.
  kWriteUnderWay,
  kWriteFailed,
  kWriteQueued,  // [count] other shards in the queue
  // Of records that cannot be read.
  kAssignmentUnread,  // nobody gets the shard until those who may hold it are known
  kMembersUnread,     // nobody is promoted until those who may be in step are known
  kLiveRecordUnread,  // [server]
  // Of servers and commands.
  kServerLost,         // [server, until]: its replica is given to another one then
  kOldOwnerStops,      // [server] gets the shard when the old owner has stopped
  kReportMissing,      // [server] has not said what it holds
  kServerUnreachable,  // [server, command, detail, until]
  kCommandFailed,      // [server, command, count] times, [detail, until]
  kCommandUnderWay,    // [server, command, percent]
  kPoisoned,           // [until]: failed on several servers in a row
  kEpochsBehind,
  // Of primaries and members.
  kNoMajority,
  kNoSecondaryInStep,  // [until] one is made the primary that may lack something, if that is known
  kMemberAwaited,      // [server] is in step, and is waited for rather than anybody else promoted
  kPrimaryIsNew,       // another one is wanted, and clients are to learn of this one first
  kSwitchoverBudget,   // [cause, count]: as many changes of primaries are under way as may be
  kMembersUnderWay,    // the primary was told of them
  kMembersRefused,     // [detail]
  kMemberNotInStep,    // [server, count] times in vain, [detail, until]
  kPairHeld,           // [server] could not bring [other] into step; [until]
  // Of places and moves.
  kPaused,         // the app is paused
  kBalancePaused,  // nothing is moved that need not leave its server
  kPinned,         // [detail]: since when, by whom
  kNoPlace,        // [detail, until]
  kFleetGathers,   // [until]
  kPlanUnderWay,
  kPlanAwaited,
  kFailoverBudget,  // [count] replicas, of [limit], are in failover
  kFailoverBudgetOfShard,
  kFailoverBudgetOfServers,
  kRoleChangePlanned,  // the primary's, from [server] to [other]
  kMovePlanned,        // from [server] to [other], [detail]
  kMoveHeld,           // those to [other], and to [count] more servers, failed; [until]
  kMovesFail,          // those to several servers failed; [until]
  kMoveCalledOff,      // [until]
  kMovedJustNow,
  kMoveBudget,          // [cause, count]
  kMoveBudgetOfServer,  // [cause, server, count]
  kDrainStuck,          // [server] is to be emptied, and no plan finds another place
  kRegionUnsteady,      // [server, until] and all others of its region are not steady
  // Of an app with an orchestrator of its own.
  kMapMissing,   // [detail]: nobody knows where it is
  kNotServing,   // [server] does not serve it, says the map
  kFewReplicas,  // [count] of [limit] are in the map
};

inline constexpr size_t kWaitReasons = static_cast<size_t>(WaitReason::kFewReplicas) + 1;

struct Wait {
  WaitReason reason;
  ServerIndex server = ServerIndex();
  ServerIndex other = ServerIndex();
  Cause cause = Cause::kBalance;
  CommandKind command = CommandKind::kAdd;
  uint32_t count = 0;
  uint32_t limit = 0;
  int percent = -1;  // -1: unknown
  TimePoint until{};
  std::string detail = {};  // the error, or why
};

}  // namespace shardmanager::orchestrator
