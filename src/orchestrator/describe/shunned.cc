#include "orchestrator/describe/shunned.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"

namespace shardmanager::orchestrator {

std::string ShunText(const ClientTrouble::Case& found) {
  return absl::StrCat(Counted(found.in_trouble, "client"), " cannot use it",
                      found.problem.empty() ? "" : absl::StrCat(" (", found.problem, ")"), ", ",
                      found.well, " can");
}

std::string ShunState(const PartitionState& state, ServerIndex id, TimePoint now) {
  const ClientTrouble::Case* found = state.failures.by_clients.Find(id);
  if (found == nullptr || !found->shunned) return "";
  const double left = InSeconds(std::max(Duration(0), found->trial_at - now));
  return absl::StrCat("shunned: ", ShunText(*found),
                      absl::StrFormat("; tried again in %.0f s, or when it is restarted", left));
}

}  // namespace shardmanager::orchestrator
