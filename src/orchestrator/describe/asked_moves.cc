#include "orchestrator/describe/asked_moves.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/pause.h"
#include "orchestrator/decide/failures.h"
#include "orchestrator/decide/next_step.h"
#include "orchestrator/decide/pause.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/unread.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/servers.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
namespace {

std::string WhyItStays(const PartitionState& state, ShardIndex id) {
  const Shard& shard = state.tables.shard(id);
  if (MovesNothing(state)) return PauseText(*state.ordered.pause);
  if (const v1::Pin* pin = PinOf(state, id)) return absl::StrCat("the shard is ", PinText(*pin));
  return shard.replaced ? "the shard is to be split or merged" : "";
}

std::string WhyNotTo(const PartitionState& state, ShardIndex shard, ServerIndex id) {
  const std::string& name = state.tables.name(id);
  const Server& server = state.tables.server(id);
  if (server.state != ServerState::kLive) return absl::StrCat(name, " is not live");
  if (state.tables.FindReplica(shard, id).valid()) {
    return absl::StrCat(name, " has a replica of the shard already");
  }
  if (std::string why = WhyClosed(state, id); !why.empty()) return absl::StrCat(name, " ", why);
  if (!RecordTakes(state, id, ReplicaBytes(state.tables.name(shard)))) {
    return absl::StrCat("the record of ", name, " has no room for one more replica");
  }
  if (!CanBeTarget(state, shard, id)) return absl::StrCat(name, " can be given nothing now");
  return "";
}

// Something of it is being decided, written or carried out.
bool IsAtRest(const PartitionState& state, ShardIndex id) {
  const Shard& shard = state.tables.shard(id);
  if (shard.in_batch || HeldBack(state, id) || !NextStep(state, id).empty()) return false;
  uint32_t granted = 0;
  bool others = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    const bool serves = replica.phase == Phase::kGranted && Serves(state, replica);
    granted += serves;
    others |= !serves;
  });
  return !others && granted == shard.wanted;
}

std::string WhyHeld(const PartitionState& state, const AskedMove& move) {
  const TimePoint until = state.failures.holds.HeldUntil(move.shard, state.now);
  if (until > state.now) {
    return absl::StrFormat(
        "the last move of the shard failed or was called off, and is not tried "
        "again for %.0f s: `shardctl retry shard %s` ends that",
        InSeconds(until - state.now), state.tables.name(move.shard));
  }
  if (!MayMoveTo(state, move.shard, move.to)) {
    return absl::StrCat("moves of the shard to ", state.tables.name(move.to),
                        " failed a while ago: `shardctl retry shard ",
                        state.tables.name(move.shard), "` ends the pause");
  }
  if (state.replication.handover && MovedJustNow(state, move.shard)) {
    return "the shard moved just now, and clients are given a moment to know of it";
  }
  return "";
}

std::string WhyNoBudget(const PartitionState& state, const AskedMove& move) {
  const Budgets& budgets = state.moves.budgets;
  const Cause cause = CauseOfMove(state, move.from);
  const char* limits = cause == Cause::kDrain ? "moves.drain" : "moves";
  if (!budgets.Left(cause)) {
    return absl::StrCat(limits, ".max_concurrent: all ", budgets.under_way(cause),
                        " moves are taken");
  }
  for (const ServerIndex server : {move.from, move.to}) {
    if (budgets.Left(cause, server)) continue;
    return absl::StrCat(limits, ".max_concurrent_per_server: all ",
                        budgets.under_way(cause, server), " moves of ", state.tables.name(server),
                        " are taken");
  }
  return "";
}

}  // namespace

AskedMove FindAskedMove(const PartitionState& state, const MoveAsked& asked) {
  return {.shard = state.tables.FindShard(asked.shard),
          .from = state.tables.FindServer(asked.from),
          .to = state.tables.FindServer(asked.to)};
}

std::string WhyNotMoved(const PartitionState& state, const AskedMove& move) {
  if (Mirrors(state)) return "the app's own orchestrator decides where replicas are";
  if (state.deleting) return "the app is being deleted";
  if (!move.shard.valid() || !move.from.valid() || !move.to.valid()) {
    return "the shard, or a server, is not known";
  }
  if (std::string why = WhyItStays(state, move.shard); !why.empty()) return why;
  if (!state.tables.FindReplica(move.shard, move.from).valid()) {
    return absl::StrCat(state.tables.name(move.from), " has no replica of the shard");
  }
  if (std::string why = WhyNotTo(state, move.shard, move.to); !why.empty()) return why;
  if (!IsAtRest(state, move.shard)) {
    return absl::StrCat(
        "not all of its replicas serve, or a step of the shard is under way: "
        "`shardctl explain ",
        state.spec.name(), " ", state.tables.name(move.shard), "` shows it");
  }
  if (TakesNothing(state.tables.server(move.from))) {
    return absl::StrCat(state.tables.name(move.from), " cannot be told to stop now");
  }
  if (std::string why = WhyHeld(state, move); !why.empty()) return why;
  return WhyNoBudget(state, move);
}

}  // namespace shardmanager::orchestrator
