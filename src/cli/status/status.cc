#include "cli/status/status.h"

#include <string>

#include "cli/status/status_text.h"

namespace shardmanager::cli {

ExitCode ShowStatus(const StatusCommand& command, AdminClient& client, Terminal& terminal) {
  const auto asked = client.GetStatus();
  if (!asked.ok()) return Fail(asked.status(), client, terminal);
  const std::string where = client.server();
  absl::StatusOr<v1::GetStatusResponse> leader = absl::NotFoundError("");
  if (!asked->leading() && !asked->leader_endpoint().empty()) {
    leader = client.GetStatusOfLeader();
  }
  const v1::GetStatusResponse& best = leader.ok() ? *leader : *asked;
  if (!ShowForPrograms(best, command.format, terminal)) {
    *terminal.out << StatusText(*asked, leader.ok() ? &*leader : nullptr, where, terminal.colour);
  }
  return best.leading() && best.problems().empty() ? kOk : kProblems;
}

}  // namespace shardmanager::cli
