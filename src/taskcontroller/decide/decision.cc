#include "taskcontroller/decide/decision.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "taskcontroller/decide/away.h"
#include "taskcontroller/decide/blame.h"
#include "taskcontroller/decide/docket.h"
#include "taskcontroller/decide/sweep.h"
#include "taskcontroller/selection/select.h"

namespace shardmanager::taskcontroller {
namespace {

class Decider {
 public:
  Decider(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
          const FleetView& view, TimePoint now)
      : policy_(policy), reports_(reports), view_(view), now_(now) {
    decision_.next = held;
  }

  Decision Run() {
    if (view_.map_missing.empty()) Sweep();  // else nobody knows what is over
    AnswerWhatIsOver();
    for (const auto& [key, operation] : decision_.next) {
      decision_.at_once += operation.stage == HeldStage::kBegun || operation.forced;
    }
    if (!view_.map_missing.empty()) {
      Hold({.reason = DelayReason::kMapMissing, .text = view_.map_missing}, view_.map_missing);
      StopTheClocks();
      BeginForced();
    } else if (!view_.complete) {
      Hold({.reason = DelayReason::kNotReady}, "some servers have not said yet what they hold");
    } else if (!view_.closed.empty()) {
      Hold({.reason = DelayReason::kClosed, .text = view_.closed}, view_.closed);
    } else {
      Choose();
    }
    for (const auto& [key, operation] : decision_.next) {
      if (operation.stage != HeldStage::kBegun) continue;
      const WantedOperation* wanted = reports_.Find(key);
      if (wanted != nullptr && !IsSame(operation.info, wanted->reported.info)) {
        decision_.outcomes[key] = {.delays = {{.reason = DelayReason::kOtherOperation,
                                               .text = key.manager + "/" + key.id}}};
        continue;
      }
      Outcome& outcome = decision_.outcomes[key];
      if (outcome.verdict != v1::OPERATION_DONE) outcome = {.verdict = v1::OPERATION_GO};
    }
    return std::move(decision_);
  }

 private:
  void Sweep() {
    std::erase_if(decision_.next, [&](const auto& entry) {
      const auto& [key, operation] = entry;
      const Ending ending = EndingOf(key, operation, policy_, reports_, view_, now_);
      if (ending == Ending::kGoesOn) return false;
      if (ending == Ending::kLapsed || ending == Ending::kStalled) {
        const bool lapsed = ending == Ending::kLapsed;
        decision_.requeued.push_back({key, !lapsed});
        decision_.outcomes[key].delays = {
            {.reason = lapsed ? DelayReason::kLapsed : DelayReason::kStalled}};
      }
      if (ending == Ending::kFinished) decision_.finished.push_back(key);
      AddNote(NoteOf(ending), key, operation.info);
      return true;
    });
  }

  static NoteKind NoteOf(Ending ending) {
    switch (ending) {
      case Ending::kFinished:
        return NoteKind::kOperationFinished;
      case Ending::kLapsed:
        return NoteKind::kOperationLapsed;
      case Ending::kStalled:
        return NoteKind::kOperationStalled;
      case Ending::kGone:
      case Ending::kGoesOn:
        break;
    }
    return NoteKind::kOperationWithdrawn;
  }

  // What needs no decision: the end of an operation, and starts.
  void AnswerWhatIsOver() {
    reports_.ForEach([this](const OperationKey& key, const WantedOperation& wanted) {
      if (wanted.reported.stage == ReportedStage::kFinished) {
        decision_.outcomes[key] = {.verdict = v1::OPERATION_DONE};
      } else if (wanted.reported.info.kind == v1::START) {
        decision_.outcomes[key] = {.verdict = v1::OPERATION_GO};
      }
    });
  }

  // Nothing new is approved, and nothing begins. `held_back`: why, for people.
  void Hold(const Delay& why, const std::string& held_back) {
    decision_.held_back = held_back;
    reports_.ForEach([&](const OperationKey& key, const WantedOperation&) {
      decision_.outcomes.try_emplace(key, Outcome{.delays = {why}});
    });
  }

  void Choose() {
    const Away away(policy_, view_, decision_.next);
    const HeldOperations held = decision_.next;  // the docket refers to it
    Docket docket = MakeDocket(policy_, reports_, held, view_, away, now_);
    // What had its turn is not considered before the next decision.
    std::erase_if(docket.entries, [&](const Entry& entry) {
      const auto& gone = decision_.requeued;
      return std::any_of(gone.begin(), gone.end(),
                         [&](const auto& requeued) { return requeued.key == entry.key; });
    });
    for (const Excluded& excluded : docket.excluded) {
      const bool never = excluded.delay.reason == DelayReason::kFormerLife;
      decision_.outcomes[excluded.key] = {
          .verdict = never ? v1::OPERATION_REFUSED : v1::OPERATION_DELAYED,
          .delays = {excluded.delay}};
    }
    std::vector<bool> chosen(docket.entries.size(), false);
    decision_.at_most = Select(docket, away, chosen);
    decision_.at_once += decision_.at_most;
    const Blame blame(view_, away, docket, chosen);
    for (size_t i = 0; i < docket.entries.size(); ++i) {
      const Entry& entry = docket.entries[i];
      const bool blind = Planted(Defect::kBeginsWithoutALook) && entry.held != nullptr &&
                         entry.held->stage == HeldStage::kApproved;
      if (!chosen[i] && !blind) {
        Refuse(entry, blame.Of(i));
      } else if (entry.pinned.valid()) {
        Refuse(entry, {.reason = DelayReason::kPinned, .shard = entry.pinned});
      } else if (auto other = InItsWay(entry)) {
        Refuse(entry, *std::move(other));
      } else if (entry.held == nullptr && !FitsIntoRecord(entry)) {
        Refuse(entry, {.reason = DelayReason::kTooManyUnderWay,
                       .count = static_cast<uint32_t>(decision_.next.size())});
      } else {
        GoOn(entry);
      }
    }
    BeginForced();
  }

  bool IsPreparedAlone(const OperationKey& key) const {
    const WantedOperation* wanted = reports_.Find(key);
    return wanted != nullptr && wanted->alone;
  }
  // Servers that are emptied at the same time may be each other's only place: none of them can be
  // emptied then. So an operation that has stalled is prepared while no other one is.
  std::optional<Delay> InItsWay(const Entry& entry) const {
    if (entry.held != nullptr || entry.left == 0) return std::nullopt;
    const bool alone = IsPreparedAlone(entry.key);
    for (const auto& [key, operation] : decision_.next) {
      if (operation.stage != HeldStage::kPreparing) continue;
      if (!alone && !IsPreparedAlone(key)) continue;
      Delay delay{.reason = DelayReason::kPreparedAlone, .text = key.manager + "/" + key.id};
      const ServerIndex server = view_.Find(operation.info.server);
      if (server.valid()) delay.servers = {server};
      return delay;
    }
    return std::nullopt;
  }

  // `chosen`: by entry of the docket. Returns how many can be chosen at most.
  uint32_t Select(const Docket& docket, const Away& away, std::vector<bool>& chosen) const {
    std::vector<size_t> entries;  // by candidate
    uint32_t free = 0;            // chosen in any case
    Problem problem(away.Room(), away.left());
    for (size_t i = 0; i < docket.entries.size(); ++i) {
      const Entry& entry = docket.entries[i];
      if (entry.away) {
        chosen[i] = CanSpare(away, entry) || Planted(Defect::kStopsWhatIsInTrouble);
        free += chosen[i];
        continue;
      }
      problem.Add({.domain = view_.server(entry.server).domain,
                   .urgent = entry.urgent,
                   .reserves = entry.urgent && IsBlockedByBegunOnly(away, entry)},
                  entry.shards);
      entries.push_back(i);
    }
    const Selection selection = taskcontroller::Select(problem);
    for (const CandidateIndex id : selection.chosen) chosen[entries[id.index()]] = true;
    return free + selection.at_most;
  }

  static size_t RecordBytes(const OperationKey& key, const OperationInfo& info) {
    constexpr size_t kNumbers = 48;  // and what the encoding adds
    return kNumbers + key.manager.size() + key.id.size() + info.server.size() +
           info.container.size() + info.reason.size();
  }
  bool FitsIntoRecord(const Entry& entry) {
    if (record_bytes_ == 0) {
      for (const auto& [key, held] : decision_.next) record_bytes_ += RecordBytes(key, held.info);
    }
    const size_t bytes = record_bytes_ + RecordBytes(entry.key, entry.info);
    if (bytes > kMostRecordBytes) return false;
    record_bytes_ = bytes;
    return true;
  }

  // A server that is down takes nothing away. One that is in trouble, but lives, may still serve:
  // what it has counts for nothing, so the others must suffice.
  static bool CanSpare(const Away& away, const Entry& entry) {
    return std::all_of(entry.shards.begin(), entry.shards.end(),
                       [&](ShardIndex shard) { return away.healthy(shard) >= away.least(shard); });
  }

  void Refuse(const Entry& entry, Delay delay) {
    Outcome& outcome = decision_.outcomes[entry.key];
    outcome.delays.push_back(std::move(delay));
    if (entry.held == nullptr) return;
    if (entry.held->stage == HeldStage::kPreparing) {
      Track(entry);
      outcome.left = entry.left;
      return;
    }
    AddNote(NoteKind::kOperationWithdrawn, entry.key, entry.info);
    decision_.next.erase(entry.key);
  }

  void GoOn(const Entry& entry) {
    Outcome& outcome = decision_.outcomes[entry.key];
    outcome.left = entry.left;
    if (entry.left + entry.in_transition > 0 && !Planted(Defect::kApprovesBeforeTheDrain)) {
      if (entry.held != nullptr && entry.held->stage == HeldStage::kApproved) {
        // Something came back: it is to leave again.
        decision_.next.at(entry.key).stage = HeldStage::kPreparing;
      }
      Enter(entry, HeldStage::kPreparing);
      Track(entry);
      outcome.delays.push_back(
          entry.left > 0
              ? Delay{.reason = DelayReason::kDraining, .count = entry.left}
              : Delay{.reason = DelayReason::kInTransition, .count = entry.in_transition});
      return;
    }
    Enter(entry, HeldStage::kApproved);
    outcome.verdict = v1::OPERATION_APPROVED;
    const bool claimed =
        entry.wanted != nullptr && entry.wanted->reported.stage == ReportedStage::kBegin;
    if (claimed && !reports_.IsSilent(entry.key.manager, now_)) {
      Enter(entry, HeldStage::kBegun);
    }
  }

  // Stages are entered one after the other; one that was entered before stays.
  void Enter(const Entry& entry, HeldStage stage) {
    const auto [found, is_new] = decision_.next.try_emplace(entry.key);
    HeldOperation& operation = found->second;
    if (!is_new && operation.stage >= stage) return;
    operation.info = entry.info;
    operation.leaving = entry.leaving;
    operation.stage = stage;
    operation.since = now_;
    operation.progress_at = now_;
    operation.left = entry.left;
    const NoteKind note = stage == HeldStage::kPreparing  ? NoteKind::kOperationPreparing
                          : stage == HeldStage::kApproved ? NoteKind::kOperationApproved
                                                          : NoteKind::kOperationBegun;
    AddNote(note, entry.key, entry.info);
  }

  // How far the drain is.
  void Track(const Entry& entry) {
    HeldOperation& operation = decision_.next.at(entry.key);
    const uint32_t left = entry.left + entry.in_transition;
    if (left < operation.left) operation.progress_at = now_;
    operation.left = left;
  }

  // What could not get on, as nobody knew what is where, has as much time left as before.
  void StopTheClocks() {
    for (auto& [key, operation] : decision_.next) {
      if (operation.stage == HeldStage::kPreparing) operation.progress_at = now_;
      if (operation.stage == HeldStage::kApproved) operation.since = now_;
    }
  }

  // An operator has approved them: no limit counts.
  void BeginForced() {
    for (auto& [key, operation] : decision_.next) {
      if (!operation.forced || operation.stage == HeldStage::kBegun) continue;
      const WantedOperation* wanted = reports_.Find(key);
      decision_.outcomes[key] = {.verdict = v1::OPERATION_APPROVED};
      if (wanted == nullptr || wanted->reported.stage != ReportedStage::kBegin) continue;
      operation.stage = HeldStage::kBegun;
      operation.since = now_;
      AddNote(NoteKind::kOperationBegun, key, operation.info);
    }
  }

  void AddNote(NoteKind kind, const OperationKey& key, const OperationInfo& info) {
    decision_.notes.push_back(
        {kind, info.server,
         absl::StrCat(key.manager, "/", key.id, info.reason.empty() ? "" : ": ", info.reason),
         key.id});
  }

  const Policy& policy_;
  const ReportBook& reports_;
  const FleetView& view_;
  const TimePoint now_;
  Decision decision_;
  size_t record_bytes_ = 0;  // of what is held; 0: not counted yet
};

}  // namespace

Decision Decide(const Policy& policy, const ReportBook& reports, const HeldOperations& held,
                const FleetView& view, TimePoint now) {
  return Decider(policy, reports, held, view, now).Run();
}

}  // namespace shardmanager::taskcontroller
