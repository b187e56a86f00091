#include "orchestrator/describe/servers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/decide/drains.h"
#include "orchestrator/decide/roles.h"
#include "orchestrator/decide/room.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/decide/view.h"
#include "orchestrator/describe/maintenances.h"
#include "orchestrator/state/record_size.h"

namespace shardmanager::orchestrator {
namespace {

std::string LeftToDrain(const PartitionState& state, const Server& server, TimePoint now) {
  const size_t left = server.replicas.size();
  std::string text = absl::StrCat(
      left, " of ", Counted(std::max<size_t>(left, server.drain_begun.replicas), "replica"),
      " left");
  const double gone = static_cast<double>(server.drain_begun.replicas) - static_cast<double>(left);
  const double elapsed = InSeconds(now - server.drain_begun.at);
  if (NothingMoves(state)) {
    const Replica& first = state.tables.replica(server.replicas.front());
    const bool pinned = state.tables.shard(first.shard).pinned;
    absl::StrAppend(
        &text, pinned ? ", as a shard is pinned there" : ", and no other server can take them",
        ": see `shardctl explain ", state.spec.name(), " ", state.tables.name(first.shard), "`");
  } else if (gone > 0) {
    absl::StrAppendFormat(&text, ", about %.0f s to go",
                          std::max(1.0, elapsed / gone * static_cast<double>(left)));
  }
  return text;
}

// Why it is closed, or emptied, without an operator's drain.
std::string Reason(const PartitionState& state, ServerIndex id, TimePoint now) {
  const PlannedMaintenance* maintenance = MaintenanceOf(state, id);
  return maintenance != nullptr ? MaintenanceState(*maintenance, now)
                                : "a container operation is under way";
}

// Somebody has the role, whether it serves yet or not, and keeps it in what is being written.
bool HasPrimary(const PartitionState& state, ShardIndex id) {
  bool has = false;
  state.tables.ForEach(id, [&](ReplicaIndex, const Replica& replica) {
    has |= replica.role == Role::kPrimary && replica.phase == Phase::kGranted &&
           !replica.in_write && !IsGone(state.tables.server(replica.server));
  });
  return has;
}

// Empty: it is steady.
std::string WhyUnsteady(const Server& server, TimePoint now) {
  const Steadiness& steadiness = server.steadiness;
  if (steadiness.IsSteady(now)) return "";
  return absl::StrFormat(
      "lost %d times in a row: for another %.0f s it is given nothing that others can hold",
      steadiness.losses(), InSeconds(steadiness.steady_at() - now));
}

}  // namespace

uint32_t PrimariesAt(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  uint32_t count = server.primaries;
  for (const ReplicaIndex r : server.replicas) {
    const Replica& replica = state.tables.replica(r);
    if (replica.role != Role::kSecondary || HasPrimary(state, replica.shard)) continue;
    const bool promoted = replica.in_write && IsCurrent(state, replica);
    count += promoted || (state.switchovers.under_way.contains(replica.shard) &&
                          BestSecondary(state, replica.shard, /*in_step=*/true) == r);
  }
  return count;
}

bool IsFailedOver(const Server& server) {
  return server.state == ServerState::kLost && server.failing_over && server.replicas.empty();
}

std::string WhyClosed(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  if (server.draining) return "is to be emptied";
  if (server.planned.closed) {
    return "is given nothing: a container operation or a maintenance is about to stop it";
  }
  if (!RegionAllowed(state, id)) {
    return absl::StrCat("is in ",
                        server.location.fault_domain.region.empty()
                            ? "no region"
                            : absl::StrCat("region ", server.location.fault_domain.region),
                        ", and placement.regions names others");
  }
  if (state.failures.quarantine.IsSick(id)) {
    return "is quarantined: `shardctl unquarantine server` when it is well";
  }
  return "";
}

bool IsQuarantined(const PartitionState& state, ServerIndex id) {
  return state.tables.server(id).state == ServerState::kLive &&
         state.failures.quarantine.IsSick(id);
}

DrainStage DrainStageOf(const PartitionState& state, ServerIndex id) {
  const Server& server = state.tables.server(id);
  if (server.draining) {
    if (server.replicas.empty()) return DrainStage::kEmpty;
    return NothingMoves(state) ? DrainStage::kStuck : DrainStage::kUnderWay;
  }
  if (!server.sheds_primaries || !state.replication.both_roles()) return DrainStage::kNone;
  return PrimariesAt(state, id) == 0 ? DrainStage::kNone : DrainStage::kUnderWay;
}

std::pair<const char*, std::string> DrainState(const PartitionState& state, ServerIndex id,
                                               TimePoint now) {
  const Server& server = state.tables.server(id);
  if (!server.draining && server.sheds_primaries && state.replication.both_roles()) {
    const std::string why =
        server.planned.closed ? absl::StrCat(" (", Reason(state, id, now), ")") : "";
    const uint32_t primaries = PrimariesAt(state, id);
    if (primaries == 0) {
      return {"live", absl::StrCat("no primaries left; its secondaries stay", why)};
    }
    return {"draining", absl::StrCat(Counted(primaries, "shard"),
                                     " with their primary here, until a secondary elsewhere is in "
                                     "step; its secondaries stay",
                                     why)};
  }
  if (!server.draining) {
    if (!server.planned.closed) return {"live", WhyUnsteady(server, now)};
    return {"live", absl::StrCat(Reason(state, id, now), ": it is given nothing")};
  }
  const v1::Drain* drain = DrainOf(state, id);
  std::string text = server.replicas.empty() ? "empty" : LeftToDrain(state, server, now);
  if (drain == nullptr) absl::StrAppend(&text, " (", Reason(state, id, now), ")");
  if (drain != nullptr && !drain->reason().empty()) {
    absl::StrAppend(&text, " (", drain->reason(), ")");
  }
  return {server.replicas.empty() ? "drained" : "draining", std::move(text)};
}

std::string RecordState(const PartitionState& state, ServerIndex id, TimePoint now) {
  if (Mirrors(state)) return "";  // it has none
  const Server& server = state.tables.server(id);
  if (state.records.oversize.Contains(id)) {
    const Duration left = std::max(state.records.oversize.RetryAt(id) - now, Duration(0));
    return absl::StrCat(
        "its assignment record, of ", Counted(server.replicas.size(), "replica"),
        ", is larger than the coordination store takes in one write: nothing changes there; "
        "tried again ",
        absl::StrFormat("in %.0f s", InSeconds(left)),
        "; shorter shard names, or fewer shards in the spec, make it smaller");
  }
  if (server.state == ServerState::kLive &&
      !RecordTakes(state, id, state.records.most_replica_bytes)) {
    return absl::StrCat("its assignment record is full, with ",
                        Counted(server.replicas.size(), "replica"), " in ", server.record_bytes,
                        " of ", kMostRecordBytes,
                        " bytes: it gets no more; add servers, or shorten shard names");
  }
  return "";
}

std::string QuarantineState(const PartitionState& state, ServerIndex id, TimePoint now) {
  const Quarantine::Case* found = state.failures.quarantine.Find(id);
  if (found == nullptr || !found->sick) return "";
  const double seconds = InSeconds(found->trial_at - now);
  return absl::StrCat(
      Counted(found->failed.size(), "different shard"), " in a row could not be added (",
      found->error, "); it keeps what it serves and gets nothing new; ",
      seconds > 0 ? absl::StrFormat("tried with one shard in %.0f s", seconds)
                  : std::string("tried with the next shard that has no better place"));
}

}  // namespace shardmanager::orchestrator
