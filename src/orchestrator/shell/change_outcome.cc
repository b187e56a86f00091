#include "orchestrator/shell/change_outcome.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager::orchestrator {

absl::Status NobodyWaits() {
  return absl::CancelledError("nobody waits for the answer any more; nothing was changed");
}

absl::Status NothingWasChanged() {
  return absl::UnavailableError("nothing was changed: the connection to ZooKeeper broke");
}

absl::Status OutcomeUnknown(std::string_view whether, std::string_view how) {
  return absl::UnavailableError(absl::StrCat(
      "whether ", std::string(whether),
      " is unknown: the connection to ZooKeeper broke before it answered. ", std::string(how)));
}

absl::Status OutcomeOf(const WriteResult& result, const absl::Status& unknown,
                       std::string_view conflict) {
  if (result.status.ok() || absl::IsResourceExhausted(result.status)) return result.status;
  if (absl::IsAborted(result.status)) return unknown;  // the session has expired
  if (result.failed_op == 0) return absl::AbortedError("another process leads now; try again");
  return absl::AbortedError(
      absl::StrCat(std::string(conflict), " (", std::string(result.status.message()), ")"));
}

}  // namespace shardmanager::orchestrator
