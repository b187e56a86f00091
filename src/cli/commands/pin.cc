// `shardctl pin shard` and `shardctl unpin shard`.
#include <string>

#include "cli/commands/commands.h"
#include "cli/levers/preview.h"
#include "cli/render.h"

namespace shardmanager::cli {
namespace {

ExitCode Unpin(const PinCommand& command, const std::string& app, AdminClient& client,
               Terminal& terminal) {
  v1::UnpinShardRequest request;
  request.set_app(app);
  request.set_shard(command.shard);
  request.set_who(User());
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.UnpinShard(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.shard) << " may move again\n";
  return kOk;
}

}  // namespace

ExitCode Pin(const PinCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  if (command.unpin) return Unpin(command, *app, client, terminal);
  v1::PinShardRequest request;
  request.set_app(*app);
  request.mutable_pin()->set_shard(command.shard);
  request.mutable_pin()->set_reason(command.reason);
  request.mutable_pin()->set_who(User());
  if (command.dry_run) return ShowPreview(request, client, terminal);
  const auto response = client.PinShard(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.shard) << " stays where it is; what is lost is failed over\n"
                << AlreadyText(*response);
  return kOk;
}

}  // namespace shardmanager::cli
