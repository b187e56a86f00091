#include "orchestrator/core/maintenances.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/drain.h"
#include "model/text.h"
#include "orchestrator/decide/maintenance_hits.h"
#include "orchestrator/decide/supply.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::util::MessageDifferencer;

// Null: there is none of that id.
const PlannedMaintenance* Find(const std::vector<PlannedMaintenance>& all, const std::string& id) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.notice.id() == id; });
  return found == all.end() ? nullptr : &*found;
}

std::string Times(const v1::Maintenance& notice) {
  return absl::StrCat(ToString(notice.scope()), ", ", EnumLabel(notice.impact()), ", from ",
                      TimeText(notice.start_ms()), " to ", TimeText(notice.end_ms()));
}

}  // namespace

void Maintenances::Begin() {
  // A new leader repeats what holds, and not what is over.
  for (const PlannedMaintenance& maintenance : state_.ordered.maintenances) {
    if (StageOf(maintenance, state_.leaving, state_.now) != MaintenanceStage::kOver) continue;
    told_[maintenance.notice.id()].stage = MaintenanceStage::kOver;
  }
  Look();
}

void Maintenances::Adopt(std::vector<PlannedMaintenance> maintenances) {
  std::swap(state_.ordered.maintenances, maintenances);
  for (const PlannedMaintenance& before : maintenances) {
    if (Find(state_.ordered.maintenances, before.notice.id()) != nullptr) continue;
    const bool over = StageOf(before, state_.leaving, state_.now) == MaintenanceStage::kOver;
    told_.erase(before.notice.id());
    if (over) continue;  // it is forgotten
    agenda_.AddNote(NoteKind::kMaintenanceCancelled, ServerIndex(), ShardIndex(),
                    MaintenanceText(before.notice));
  }
  for (const PlannedMaintenance& maintenance : state_.ordered.maintenances) {
    const v1::Maintenance& notice = maintenance.notice;
    const PlannedMaintenance* before = Find(maintenances, notice.id());
    if (before != nullptr && MessageDifferencer::Equals(before->notice, notice)) continue;
    told_.erase(notice.id());
    agenda_.AddNote(NoteKind::kMaintenanceNotified, ServerIndex(), ShardIndex(),
                    absl::StrCat(MaintenanceText(notice), ": ", Times(notice)));
  }
  Look();
}

void Maintenances::Look() {
  TimePoint next = kNever;
  for (const PlannedMaintenance& maintenance : state_.ordered.maintenances) {
    if (!KnowsNoServerYet(state_)) Tell(maintenance);
    next = std::min(next, NextChange(maintenance, state_.leaving, state_.now));
  }
  if (next != kNever) agenda_.SetTimer(next - state_.now, TimerKind::kMaintenance);
}

void Maintenances::Tell(const PlannedMaintenance& maintenance) {
  Told& told = told_[maintenance.notice.id()];
  const MaintenanceStage stage = StageOf(maintenance, state_.leaving, state_.now);
  const bool entered = std::exchange(told.stage, stage) != stage;
  const std::string text = MaintenanceText(maintenance.notice);
  const auto note = [&](NoteKind kind, const std::string& what) {
    agenda_.AddNote(kind, ServerIndex(), ShardIndex(), absl::StrCat(text, what));
  };
  switch (stage) {
    case MaintenanceStage::kAhead:
      return;
    case MaintenanceStage::kPreparing:
      if (entered) {
        note(NoteKind::kMaintenancePreparing,
             absl::StrCat(" begins at ", TimeText(maintenance.notice.start_ms()), ": ",
                          Counted(LeftToLeave(state_, maintenance), "replica"), " to leave"));
      }
      if (state_.now < WarnAt(maintenance, state_.leaving)) return;
      if (!std::exchange(told.warned, true)) TellHits(maintenance, " is about to begin");
      return;
    case MaintenanceStage::kUnderWay:
      if (!entered) return;
      note(NoteKind::kMaintenanceBegun,
           absl::StrCat(" is under way until ", TimeText(maintenance.notice.end_ms())));
      return TellHits(maintenance, " has begun");
    case MaintenanceStage::kOver:
      if (entered) note(NoteKind::kMaintenanceOver, " is over");
  }
}

void Maintenances::TellHits(const PlannedMaintenance& maintenance, const std::string& when) {
  const std::vector<MaintenanceHit> hits = HitsOf(state_, maintenance);
  if (hits.empty()) return;
  constexpr size_t kNamed = 5;
  std::vector<std::string> named;
  for (size_t i = 0; i < std::min(hits.size(), kNamed); ++i) {
    named.push_back(absl::StrCat(state_.tables.name(hits[i].shard), " (", hits[i].what, ")"));
  }
  agenda_.AddNote(NoteKind::kMaintenanceHits, ServerIndex(), ShardIndex(),
                  absl::StrCat(MaintenanceText(maintenance.notice), when, ", and hits ",
                               Counted(hits.size(), "shard"), ": ", absl::StrJoin(named, ", "),
                               hits.size() > kNamed ? ", ..." : ""));
}

}  // namespace shardmanager::orchestrator
