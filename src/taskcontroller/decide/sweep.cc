#include "taskcontroller/decide/sweep.h"

#include "base/defect.h"

namespace shardmanager::taskcontroller {
namespace {

// An operation that its manager does not report any more, and never said to be finished, is waited
// for at least so long beyond its expected length: the manager may have lost its memory, and what
// it asked for may still happen.
constexpr Duration kGrace = Seconds(60);

bool HasNewLife(const HeldOperation& operation, const FleetView& view) {
  if (Planted(Defect::kApprovesFormerLives)) return false;
  const ServerIndex id = view.Find(operation.info.server);
  return id.valid() && view.server(id).incarnation > operation.info.life;
}

// What was to happen has happened, as far as can be seen.
bool IsSeenToBeOver(const HeldOperation& operation, const FleetView& view) {
  if (operation.info.kind != v1::STOP) return HasNewLife(operation, view);
  const ServerIndex id = view.Find(operation.info.server);
  return !id.valid() || !view.server(id).live || HasNewLife(operation, view);
}

// A manager's word that it is finished is not enough: a process that was killed is live until its
// session ends, and one that was started has to register first. `wanted`: null if its manager does
// not report it.
Ending EndingOfBegun(const OperationKey& key, const HeldOperation& operation,
                     const WantedOperation* wanted, const ReportBook& reports,
                     const FleetView& view, TimePoint now) {
  const bool said_to_be = wanted != nullptr && wanted->reported.stage == ReportedStage::kFinished;
  const bool goes_on = wanted != nullptr && !said_to_be;
  if (goes_on && !reports.IsSilent(key.manager, now)) return Ending::kGoesOn;
  if (IsSeenToBeOver(operation, view)) return Ending::kFinished;
  // A manager that was not heard may be in the middle of it, however long that takes; but when the
  // time is over, and the server is down and has nothing any more, nothing is left to wait for.
  const ServerIndex server = view.Find(operation.info.server);
  const bool nothing_left =
      !server.valid() || (!view.server(server).live && view.held(server).empty());
  const bool given_up =
      said_to_be || nothing_left || (wanted == nullptr && reports.Find(key.manager) != nullptr);
  const bool in_time = now < operation.since + operation.info.expected + kGrace;
  return given_up && !in_time ? Ending::kFinished : Ending::kGoesOn;
}

}  // namespace

bool IsSame(const OperationInfo& held, const OperationInfo& reported) {
  return held.server == reported.server && held.life == reported.life && held.kind == reported.kind;
}

Ending EndingOf(const OperationKey& key, const HeldOperation& operation, const Policy& policy,
                const ReportBook& reports, const FleetView& view, TimePoint now) {
  const WantedOperation* wanted = reports.Find(key);
  if (wanted != nullptr && !IsSame(operation.info, wanted->reported.info)) wanted = nullptr;
  if (operation.stage == HeldStage::kBegun) {
    return EndingOfBegun(key, operation, wanted, reports, view, now);
  }
  const bool heard = reports.Find(key.manager) != nullptr;
  const bool missed = now - operation.since > kSilent && reports.IsSilent(key.manager, now);
  const bool unwanted = heard && wanted == nullptr;
  if (missed || unwanted || HasNewLife(operation, view)) return Ending::kGone;
  if (wanted != nullptr && wanted->reported.stage == ReportedStage::kFinished) return Ending::kGone;
  const bool begins = wanted != nullptr && wanted->reported.stage == ReportedStage::kBegin;
  if (operation.stage == HeldStage::kApproved) {
    return !begins && now >= operation.since + policy.approval() ? Ending::kLapsed
                                                                 : Ending::kGoesOn;
  }
  return now - operation.progress_at > kStalled ? Ending::kStalled : Ending::kGoesOn;
}

}  // namespace shardmanager::taskcontroller
