// `shardctl pause app` and `shardctl resume app`.
#include "cli/commands/commands.h"
#include "cli/levers/preview.h"
#include "cli/render.h"

namespace shardmanager::cli {
namespace {

ExitCode Resume(const PauseCommand& command, AdminClient& client, Terminal& terminal) {
  v1::ResumeAppRequest request;
  request.set_app(command.app);
  request.set_who(User());
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.ResumeApp(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.app) << " goes on\n";
  return kOk;
}

const char* Paused(const PauseCommand& command) {
  if (command.only_balance) {
    return " is not balanced: only what has to leave its server moves, or what is lost";
  }
  return command.failover
             ? " is paused: nothing is moved, and no operation begins; what is lost is "
               "failed over"
             : " is paused: nothing is moved, and no operation begins; what is lost "
               "stays lost";
}

}  // namespace

ExitCode Pause(const PauseCommand& command, AdminClient& client, Terminal& terminal) {
  if (command.resume) return Resume(command, client, terminal);
  v1::PauseAppRequest request;
  request.set_app(command.app);
  request.mutable_pause()->set_failover(command.failover);
  request.mutable_pause()->set_only_balance(command.only_balance);
  request.mutable_pause()->set_reason(command.reason);
  request.mutable_pause()->set_who(User());
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.PauseApp(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.app) << Paused(command) << "\n" << AlreadyText(*response);
  return kOk;
}

}  // namespace shardmanager::cli
