// `shardctl drain` and `shardctl undrain`.
#include "model/drain.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/levers/preview.h"
#include "cli/render.h"
#include "cli/scope_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

void ShowApps(const google::protobuf::RepeatedPtrField<v1::DrainedApp>& apps,
              const v1::DrainScope& scope, const char* done, Terminal& terminal) {
  for (const v1::DrainedApp& app : apps) {
    *terminal.out << app.app() << ": " << Shown(ToString(scope)) << " " << done << ": "
                  << Counted(app.replicas(), "replica") << " on "
                  << Counted(app.servers(), "server") << "\n";
  }
}

// Servers of the app that the scope covers and from which something is to go: by the drain,
// or because they were lost meanwhile.
absl::StatusOr<std::vector<v1::ServerStatus>> NotEmpty(const std::string& app,
                                                       const v1::DrainScope& scope,
                                                       AdminClient& client) {
  v1::GetServersRequest request;
  request.set_app(app);
  const auto servers = client.GetServers(request);
  if (!servers.ok()) return servers.status();
  std::vector<v1::ServerStatus> left;
  for (const v1::ServerStatus& server : servers->servers()) {
    const v1::FaultDomain& at = server.fault_domain();
    const bool covered = Covers(scope, server.server(), {at.region(), at.datacenter(), at.rack()});
    const bool lost = server.state() == "lost" && server.replicas() > 0;
    if (covered && (lost || server.state() == "draining")) left.push_back(server);
  }
  return left;
}

// Shows what changes, until nothing is left or somebody takes the drain back.
ExitCode Await(const v1::DrainResponse& drained, const v1::DrainScope& scope, AdminClient& client,
               Terminal& terminal) {
  std::set<std::string> said;
  for (bool empty = false; !empty;) {
    empty = true;
    std::set<std::string> lines;
    for (const v1::DrainedApp& app : drained.apps()) {
      const auto left = NotEmpty(app.app(), scope, client);
      if (!MayPass(left.status())) return Fail(left.status(), client, terminal);
      empty = empty && left.ok() && left->empty();
      if (!left.ok()) continue;  // the next leader will tell
      for (const v1::ServerStatus& server : *left) {
        lines.insert(absl::StrCat(app.app(), ": ", server.server(), ": ", server.reason()));
      }
    }
    for (const std::string& line : lines) {
      if (!said.contains(line)) *terminal.out << Shown(line) << "\n" << std::flush;
    }
    said = std::move(lines);
    if (!terminal.out->good()) return kOk;  // said by the caller
    if (!empty) client.AwaitChange(kLookAgain);
  }
  *terminal.out << "nothing is left to move off " << Shown(ToString(scope)) << "\n";
  return kOk;
}

ExitCode Undrain(const DrainCommand& command, const v1::DrainScope& scope, AdminClient& client,
                 Terminal& terminal) {
  v1::UndrainRequest request;
  request.set_app(command.app);
  *request.mutable_scope() = scope;
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.Undrain(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  ShowApps(response->apps(), scope, "may be used again", terminal);
  return kOk;
}

}  // namespace

ExitCode Drain(const DrainCommand& command, AdminClient& client, Terminal& terminal) {
  const auto scope = ParseScope(command.level, command.name);
  if (!scope.ok()) return Fail(scope.status(), client, terminal);
  if (command.undrain) return Undrain(command, *scope, client, terminal);
  v1::DrainRequest request;
  request.set_app(command.app);
  *request.mutable_drain()->mutable_scope() = *scope;
  request.mutable_drain()->set_primaries_only(command.primaries_only);
  request.mutable_drain()->set_reason(command.reason);
  request.mutable_drain()->set_who(User());
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.Drain(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  ShowApps(response->apps(), *scope, "is to be emptied", terminal);
  const std::string already = AlreadyText(*response);
  *terminal.out << (already.empty() ? FollowText(client) : already);
  return command.wait ? Await(*response, *scope, client, terminal) : kOk;
}

}  // namespace shardmanager::cli
