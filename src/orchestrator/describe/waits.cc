#include "orchestrator/describe/waits.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "model/pause.h"
#include "model/text.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/snapshot.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/view.h"

namespace shardmanager::orchestrator {
namespace {

// `$word` stands for what Describe() puts there.
struct Sentence {
  WaitReason reason;
  std::string_view name;
  const char* text;
};

constexpr std::array<Sentence, kWaitReasons> kSentences = {{
    {WaitReason::kWriteUnderWay, "WriteUnderWay",
     "its new assignment is being written to the coordination store"},
    {WaitReason::kWriteFailed, "WriteFailed",
     "the coordination store did not take the last write; it is tried again"},
    {WaitReason::kWriteQueued, "WriteQueued",
     "its new assignment is in the queue for the next write, with $others"},
    {WaitReason::kAssignmentUnread, "AssignmentUnread",
     "it may be on $unread: until that is mended or released, nobody else gets it"},
    {WaitReason::kMembersUnread, "MembersUnread",
     "a secondary that is in step may be on $unread: until every one of these servers has reported "
     "what it holds, nobody is promoted and the members stay as they are"},
    {WaitReason::kLiveRecordUnread, "LiveRecordUnread",
     "$server cannot be reached: its live record cannot be read"},
    {WaitReason::kServerLost, "ServerLost",
     "$server is lost; its replica is given to another server $until (failover.delay_ms)"},
    {WaitReason::kOldOwnerStops, "OldOwnerStops",
     "$server is to be the new owner: the old one has to stop first"},
    {WaitReason::kReportMissing, "ReportMissing", "$server has not said yet what it holds"},
    {WaitReason::kServerUnreachable, "ServerUnreachable",
     "$server: to $command the shard could not be reached ($detail); tried again $until"},
    {WaitReason::kCommandFailed, "CommandFailed",
     "$server: to $command the shard failed $times in a row ($detail); tried again $until"},
    {WaitReason::kCommandUnderWay, "CommandUnderWay", "$server $obeys$progress"},
    {WaitReason::kPoisoned, "Poisoned",
     "it failed on several servers in a row: it stays with the last one, and is tried elsewhere "
     "$until, or when the spec changes"},
    {WaitReason::kEpochsBehind, "EpochsBehind", kEpochsBehind},
    {WaitReason::kNoMajority, "NoMajority",
     "less than a majority of its members serve (replication.quorum): neither its primary nor its "
     "members can change"},
    {WaitReason::kNoSecondaryInStep, "NoSecondaryInStep",
     "no secondary is in step, to become the primary$last_resort"},
    {WaitReason::kMemberAwaited, "MemberAwaited",
     "$server has all that was acknowledged, and has not said yet that it serves: nobody who may "
     "lack something is promoted meanwhile"},
    {WaitReason::kPrimaryIsNew, "PrimaryIsNew",
     "another primary is wanted; its primary changed just now, and clients are given a moment to "
     "know of it"},
    {WaitReason::kSwitchoverBudget, "SwitchoverBudget",
     "another primary is wanted; $limits.max_concurrent: all $count changes of primaries are "
     "taken"},
    {WaitReason::kMembersUnderWay, "MembersUnderWay",
     "its primary was told of a change of its members, and has not said yes yet"},
    {WaitReason::kMembersRefused, "MembersRefused",
     "its primary did not take a change of its members ($detail); tried again soon"},
    {WaitReason::kMemberNotInStep, "MemberNotInStep",
     "$server is not in step: its primary failed $times in a row to bring it there ($detail); "
     "tried again $until"},
    {WaitReason::kPairHeld, "PairHeld",
     "nothing of which $server has the primary is moved to $other, as $server could not bring it "
     "into step; tried again $until"},
    {WaitReason::kPaused, "Paused", "$paused"},
    {WaitReason::kBalancePaused, "BalancePaused", "$balance_paused"},
    {WaitReason::kPinned, "Pinned",
     "it is not moved, and its primary does not change, before `shardctl unpin shard`: $detail"},
    {WaitReason::kNoPlace, "NoPlace",
     "no place was found for a replica: $detail; looked for again $within, and when a server "
     "joins"},
    {WaitReason::kFleetGathers, "FleetGathers",
     "servers are joining; its first place is looked for $until, when they have gathered"},
    {WaitReason::kPlanUnderWay, "PlanUnderWay", "a plan is being made that looks for a place"},
    {WaitReason::kPlanAwaited, "PlanAwaited", "the next plan looks for a place"},
    {WaitReason::kFailoverBudget, "FailoverBudget",
     "$failovers.max_concurrent: $count of $limit replicas are in failover"},
    {WaitReason::kFailoverBudgetOfShard, "FailoverBudgetOfShard",
     "failover.max_concurrent_per_shard: other replicas of it are in failover"},
    {WaitReason::kFailoverBudgetOfServers, "FailoverBudgetOfServers",
     "failover.max_concurrent_per_server: every server is being given as many replicas"},
    {WaitReason::kRoleChangePlanned, "RoleChangePlanned",
     "$other is to be the primary in place of $server, for balance: no data moves"},
    {WaitReason::kMovePlanned, "MovePlanned", "a move from $server to $other is planned ($detail)"},
    {WaitReason::kMoveHeld, "MoveHeld",
     "it could not be moved to $other$nor; that is tried again $until"},
    {WaitReason::kMovesFail, "MovesFail",
     "it could not be moved to several servers: another one is tried $until"},
    {WaitReason::kMoveCalledOff, "MoveCalledOff",
     "its last move was called off, as requests in flight did not end in time; the next one is "
     "tried $until"},
    {WaitReason::kMovedJustNow, "MovedJustNow",
     "it is to move on; it moved just now, and clients are given a moment to know of it"},
    {WaitReason::kMoveBudget, "MoveBudget",
     "$limits.max_concurrent: all $count moves are taken; none is planned until some are done"},
    {WaitReason::kMoveBudgetOfServer, "MoveBudgetOfServer",
     "$limits.max_concurrent_per_server: all $count moves of $server are taken"},
    {WaitReason::kDrainStuck, "DrainStuck",
     "$server is to be emptied, and the last plan found no other server that can take it: what "
     "rules "
     "them out is counted below"},
    {WaitReason::kRegionUnsteady, "RegionUnsteady",
     "the region where it is wanted comes and goes: $server was lost $times in a row, and is given "
     "nothing that others can hold before it has lived for a while ($until)"},
    {WaitReason::kMapMissing, "MapMissing", "$detail"},
    {WaitReason::kNotServing, "NotServing",
     "the app's own orchestrator says that $server does not serve it"},
    {WaitReason::kFewReplicas, "FewReplicas",
     "the app's own orchestrator names $count of $limit replicas"},
}};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kSentences.size(); ++i) {
    if (kSentences[i].reason != static_cast<WaitReason>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());

const Sentence& SentenceOf(WaitReason reason) { return kSentences[static_cast<size_t>(reason)]; }

std::string In(TimePoint when, TimePoint now) {
  return when > now ? absl::StrFormat("in %.1f s", InSeconds(when - now)) : "now";
}

bool IsAdd(CommandKind command) {
  return command == CommandKind::kAdd || command == CommandKind::kPrepareAdd;
}

const char* ToWhat(CommandKind command) {
  if (command == CommandKind::kChangeRole) return "change the role of";
  return IsAdd(command) ? "add" : "drop";
}

const char* Obeys(CommandKind command) {
  if (command == CommandKind::kChangeRole) return "was told to be a secondary";
  return IsAdd(command) ? "loads it" : "was told to drop it";
}

std::string WhilePaused(const PartitionState& state) {
  if (!state.ordered.pause) return "";
  return absl::StrCat(
      "nothing is moved", state.ordered.pause->failover() ? "" : ", placed or failed over",
      " before `shardctl resume app ", state.spec.name(), "`: ", PauseText(*state.ordered.pause));
}

std::string WhileBalanceIsPaused(const PartitionState& state) {
  if (!state.ordered.pause) return "";
  return absl::StrCat("it is not moved for balance before `shardctl resume app ", state.spec.name(),
                      "`: ", PauseText(*state.ordered.pause));
}

std::string LastResort(const PartitionState& state, TimePoint when, TimePoint now) {
  if (when <= now) return "";
  return absl::StrCat(
      "; ", In(when, now), " a replica that may lack acknowledged writes becomes it (",
      LastResortDelay(state) == FailoverDelay(state) ? "failover.delay_ms"
                                                     : "failover.mass_failure.patience_ms",
      ")");
}

// Whose limit it is.
const char* LimitOfFailovers(const PartitionState& state, uint32_t limit) {
  const bool capped = state.mass_failure.on && limit != state.spec.failover().max_concurrent();
  return capped ? "failover.mass_failure" : "failover";
}

std::string NameOf(const PartitionState& state, ServerIndex server) {
  return server.valid() ? state.tables.name(server) : "";
}

}  // namespace

std::string_view ToString(WaitReason reason) { return SentenceOf(reason).name; }

std::string Describe(const PartitionState& state, const Wait& wait, TimePoint now) {
  const std::vector<std::pair<std::string, std::string>> words = {
      {"$server", NameOf(state, wait.server)},
      {"$others", Counted(wait.count, "other shard")},
      {"$other", NameOf(state, wait.other)},
      {"$nor",
       wait.count == 0 ? "" : absl::StrCat(", nor to ", Counted(wait.count, "more server"))},
      {"$unread", UnreadServers(state)},
      {"$paused", WhilePaused(state)},
      {"$balance_paused", WhileBalanceIsPaused(state)},
      {"$until", In(wait.until, now)},
      {"$last_resort", LastResort(state, wait.until, now)},
      {"$within", absl::StrFormat("within %.0f s", std::ceil(InSeconds(wait.until - now)))},
      {"$command", ToWhat(wait.command)},
      {"$obeys", Obeys(wait.command)},
      {"$progress", wait.percent < 0 ? "" : absl::StrCat(", ", wait.percent, "% done")},
      {"$times", Counted(wait.count, "time")},
      {"$failovers", LimitOfFailovers(state, wait.limit)},
      {"$limits", wait.cause == Cause::kDrain ? "moves.drain" : "moves"},
      {"$limit", absl::StrCat(wait.limit)},
      {"$count", absl::StrCat(wait.count)},
      {"$detail", wait.detail}};
  return absl::StrReplaceAll(SentenceOf(wait.reason).text, words);
}

std::string UnreadServers(const PartitionState& state) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (ServerIndex id : state.unread.servers) {
    if (names.size() < kMostNamed) names.push_back(state.tables.name(id));
  }
  std::string text = absl::StrJoin(names, " or ");
  if (state.unread.servers.size() > kMostNamed) {
    absl::StrAppend(&text, " or ", state.unread.servers.size() - kMostNamed, " others");
  }
  return absl::StrCat(text, ", whose assignment record cannot be read");
}

std::string BalanceState(const PartitionState& state, TimePoint now) {
  if (!state.recovered) return "reading the app's records from the coordination store";
  if (Mirrors(state)) return "the app's own orchestrator decides where replicas are";
  if (state.balance.plan_out) return "a plan is being made";
  std::string text = "not looked at yet";
  if (state.balance.ever) {
    text = absl::StrFormat("the last plan, %.1f s ago, ", InSeconds(now - state.balance.last));
    if (state.balance.last_moves == 0) {
      absl::StrAppend(&text, "found nothing to improve");
    } else {
      absl::StrAppend(&text, "made ", state.balance.last_moves, " moves; ",
                      state.moves.budgets.planned_moves(), " are under way");
    }
  }
  if (const ServerOrder* order = OrderThatHoldsBalance(state); order != nullptr) {
    absl::StrAppend(&text, "; moves that only balance wait for the container operation on ",
                    order->server);
  }
  if (!state.switchovers.for_load.empty()) {
    absl::StrAppend(&text, "; moves that only balance wait for ",
                    Counted(state.switchovers.for_load.size(), "change"),
                    " of primaries, which may do without them");
  }
  if (OnlyBalanceIsPaused(state)) {
    absl::StrAppend(&text, "; moves that only balance wait for `shardctl resume app ",
                    state.spec.name(), "`");
  }
  if (state.mass_failure.on) {
    absl::StrAppend(&text, "; moves that only balance wait for the end of the mass failure");
  }
  if (state.balance.at_rest && state.balance.ever) {
    return absl::StrCat(text, "; at rest until a server, a shard or a load changes");
  }
  return absl::StrCat(text, "; next look ", In(state.balance.next, now));
}

}  // namespace shardmanager::orchestrator
