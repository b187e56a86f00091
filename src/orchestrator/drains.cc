// Servers that are to be emptied, and get nothing new.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/drain.h"
#include "model/text.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {

void Partition::AdoptDrains(const std::vector<v1::Drain>& drains) {
  drains_ = drains;
  for (uint32_t i = 0; i < tables_.server_count(); ++i) UpdateDrain(ServerIndex(i));
}

const v1::Drain* Partition::DrainOf(ServerIndex id) const {
  const auto covers = [&](const v1::Drain& drain) {
    return Empties(drain) &&
           Covers(drain.scope(), tables_.name(id), tables_.server(id).fault_domain);
  };
  const auto found = std::find_if(drains_.begin(), drains_.end(), covers);
  return found == drains_.end() ? nullptr : &*found;
}

// Takes all its replicas, and not only their roles.
bool Partition::Empties(const v1::Drain& drain) const {
  return !drain.primaries_only() || !HasSecondaries();
}

// A server that is to be no primary, and keeps its replicas otherwise.
void Partition::UpdateShedding(ServerIndex id) {
  Server& server = tables_.server(id);
  const bool sheds = std::any_of(drains_.begin(), drains_.end(), [&](const v1::Drain& drain) {
    return Covers(drain.scope(), tables_.name(id), server.fault_domain);
  });
  if (std::exchange(server.sheds_primaries, sheds) == sheds || !HasBothRoles()) return;
  server.drain_since = now_;
  MarkServerDirty(id);
}

// The drains changed, or where the server stands.
void Partition::UpdateDrain(ServerIndex id) {
  UpdateShedding(id);
  Server& server = tables_.server(id);
  const v1::Drain* drain = DrainOf(id);
  if (server.draining == (drain != nullptr)) return;
  server.draining = drain != nullptr;
  server.drain_since = now_;
  server.drain_replicas = static_cast<uint32_t>(server.replicas.size());
  at_rest_ = false;
  balance_soon_ = true;
  RetryUnplaceable();
  AddNote(drain != nullptr ? NoteKind::kDrainStarted : NoteKind::kDrainEnded, id, ShardIndex(),
          absl::StrCat(Counted(server.replicas.size(), "replica"), " there",
                       drain == nullptr || drain->reason().empty() ? "" : ": ",
                       drain == nullptr ? "" : drain->reason()));
  NoteDrained(id);
}

// Perhaps the last one has left it.
void Partition::NoteDrained(ServerIndex id) {
  const Server& server = tables_.server(id);
  if (!server.draining || !server.replicas.empty()) return;
  AddNote(NoteKind::kDrained, id, ShardIndex(), "it is empty, and is given nothing");
}

std::pair<const char*, std::string> Partition::DrainState(ServerIndex id, TimePoint now) const {
  const Server& server = tables_.server(id);
  if (!server.draining && server.sheds_primaries && HasBothRoles()) {
    if (server.primaries == 0) return {"live", "no primaries left; its secondaries stay"};
    return {"draining", absl::StrCat(server.primaries,
                                     " of its shards have their primary here, until a secondary "
                                     "elsewhere is in step; its secondaries stay")};
  }
  if (!server.draining) return {"live", ""};
  const v1::Drain* drain = DrainOf(id);
  std::string text = server.replicas.empty() ? "empty" : LeftToDrain(server, now);
  if (drain != nullptr && !drain->reason().empty()) {
    absl::StrAppend(&text, " (", drain->reason(), ")");
  }
  return {server.replicas.empty() ? "drained" : "draining", std::move(text)};
}

std::string Partition::LeftToDrain(const Server& server, TimePoint now) const {
  const size_t left = server.replicas.size();
  std::string text = absl::StrCat(
      left, " of ", Counted(std::max<size_t>(left, server.drain_replicas), "replica"), " left");
  const double gone = static_cast<double>(server.drain_replicas) - static_cast<double>(left);
  const double elapsed = std::chrono::duration<double>(now - server.drain_since).count();
  if (at_rest_ && budgets_.planned_moves() == 0 && !plan_out_) {
    const Replica& first = tables_.replica(server.replicas.front());
    absl::StrAppend(&text, ", and no other server can take them: see `shardctl explain ",
                    spec_.name(), " ", tables_.name(first.shard), "`");
  } else if (gone > 0) {
    absl::StrAppendFormat(&text, ", about %.0f s to go",
                          std::max(1.0, elapsed / gone * static_cast<double>(left)));
  }
  return text;
}

}  // namespace shardmanager::orchestrator
