#include "cli/levers/preview.h"

#include "cli/commands/commands.h"
#include "cli/render.h"

namespace shardmanager::cli {

ExitCode ShowPreview(const v1::PreviewRequest& request, AdminClient& client, Terminal& terminal) {
  const auto response = client.Send<v1::PreviewResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (response->changes().empty()) {
    *terminal.out << "nothing would change: it is so already\n";
    return kOk;
  }
  *terminal.out << "nothing was changed; without --dry-run this would be:\n";
  for (const std::string& line : response->changes()) {
    *terminal.out << "  " << Shown(line) << "\n";
  }
  for (const std::string& sentence : response->follows()) *terminal.out << Shown(sentence) << "\n";
  return kOk;
}

}  // namespace shardmanager::cli
