// What a server's assignment record has room for (record_size.h), and what follows when it has
// none.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/partition.h"
#include "orchestrator/record_size.h"

namespace shardmanager::orchestrator {

bool Partition::RecordTakes(ServerIndex server, size_t bytes) const {
  return tables_.server(server).record_bytes + bytes <= kMostRecordBytes;
}

// Most replicas that the server's record may hold, whatever further shards are chosen for it.
uint32_t Partition::RecordCapacity(ServerIndex id) const {
  const Server& server = tables_.server(id);
  const auto held = static_cast<uint32_t>(server.replicas.size());
  if (most_replica_bytes_ == 0 || !RecordTakes(id, 0)) return std::max(held, 1U);
  const size_t more = (kMostRecordBytes - server.record_bytes) / most_replica_bytes_;
  return held + static_cast<uint32_t>(more);
}

// A batch with the server's record was larger than the store takes.
void Partition::RecordRefused(ServerIndex server) {
  const bool first = oversize_.Refused(server, now_);
  SetTimer(oversize_.RetryAt(server) - now_, TimerKind::kRecordRetry, server.index());
  if (first) AddNote(NoteKind::kRecordTooLarge, server, ShardIndex(), RecordState(server, now_));
}

// change_ would write a record that was refused just now.
bool Partition::AwaitsRecord() const {
  const auto waits = [&](ServerIndex server) { return oversize_.Waits(server, now_); };
  return std::any_of(
             change_.phases.begin(), change_.phases.end(),
             [&](const PhaseChange& c) { return waits(tables_.replica(c.replica).server); }) ||
         std::any_of(change_.news.begin(), change_.news.end(),
                     [&](const NewReplica& fresh) { return waits(fresh.server); });
}

std::string Partition::RecordState(ServerIndex id, TimePoint now) const {
  const Server& server = tables_.server(id);
  if (oversize_.Contains(id)) {
    const Duration left = std::max(oversize_.RetryAt(id) - now, Duration(0));
    return absl::StrCat(
        "its assignment record, of ", Counted(server.replicas.size(), "replica"),
        ", is larger than the coordination store takes in one write: nothing changes there; "
        "tried again ",
        absl::StrFormat("in %.0f s", std::chrono::duration<double>(left).count()),
        "; shorter shard names, or fewer shards in the spec, make it smaller");
  }
  if (server.state == ServerState::kLive && !RecordTakes(id, most_replica_bytes_)) {
    return absl::StrCat("its assignment record is full, with ",
                        Counted(server.replicas.size(), "replica"), " in ", server.record_bytes,
                        " of ", kMostRecordBytes,
                        " bytes: it gets no more; add servers, or shorten shard names");
  }
  return "";
}

}  // namespace shardmanager::orchestrator
