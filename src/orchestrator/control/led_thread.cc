#include "orchestrator/control/led_thread.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::orchestrator {

absl::Status LedThread::MayAnswer() const {
  if (!context_.apps.begun()) return context_.leadership.NotLeading();
  if (!context_.leadership.InTouch()) return context_.leadership.OutOfTouch();
  if (context_.apps.listed()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      context_.leadership.process(), " was elected just now, and reads what is stored; try again"));
}

// A write that waits for a connection would happen long after its caller was told that it
// failed.
absl::Status LedThread::MayChange(const Wanted& wanted) const {
  if (absl::Status may = MayAnswer(); !may.ok()) return may;
  if (!IsWanted(wanted)) return NobodyWaits();
  if (context_.session.connected()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("nothing was changed: ", context_.leadership.process(),
                   " leads, but has lost its connection to ZooKeeper and tries to connect again"));
}

}  // namespace shardmanager::orchestrator
