#include "cli/levers/levers.h"

#include <string>

#include "cli/commands/commands.h"
#include "cli/levers/preview.h"
#include "cli/render.h"

namespace shardmanager::cli {
namespace {

ExitCode Retry(const v1::RetryShardRequest& request, AdminClient& client, Terminal& terminal) {
  const auto response = client.Send<v1::RetryShardResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(request.shard()) << " is tried again now; how it goes: shardctl explain "
                << request.app() << " " << Shown(request.shard()) << "\n";
  return kOk;
}

ExitCode Move(const v1::MoveShardRequest& request, AdminClient& client, Terminal& terminal) {
  const auto response = client.Send<v1::MoveShardResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(request.shard()) << " moves from " << Shown(response->from()) << " to "
                << Shown(request.to()) << "; how it goes: shardctl explain " << request.app() << " "
                << Shown(request.shard()) << "\n"
                << FollowText(client);
  if (response->verdict() == "worse") {
    *terminal.out << "balance may move it back, as " << Shown(response->reason())
                  << "; to keep it there: shardctl pin shard " << Shown(request.shard())
                  << " --app " << request.app() << "\n";
  }
  return kOk;
}

ExitCode Unquarantine(const v1::LiftQuarantineRequest& request, AdminClient& client,
                      Terminal& terminal) {
  const auto response = client.Send<v1::LiftQuarantineResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(request.server()) << " is given shards again; how it goes: shardctl "
                << "describe server " << Shown(request.server()) << " --app " << request.app()
                << "\n";
  return kOk;
}

ExitCode Forget(const v1::ForgetServerRequest& request, AdminClient& client, Terminal& terminal) {
  const auto response = client.Send<v1::ForgetServerResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  const std::string server = Shown(request.server());
  if (response->already()) {
    *terminal.out << server << " was forgotten before; nothing was changed\n";
  } else {
    *terminal.out << server << " is forgotten; what it did: shardctl history server " << server
                  << " --app " << request.app() << "\n";
  }
  return kOk;
}

template <typename Request>
Request OfServer(const std::string& app, const std::string& server) {
  Request request;
  request.set_app(app);
  request.set_server(server);
  return request;
}

}  // namespace

ExitCode PullLever(const LeverCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  const auto pull = [&](const auto& request, auto change) {
    return command.dry_run ? ShowPreview(request, client, terminal)
                           : change(request, client, terminal);
  };
  switch (command.kind) {
    case LeverCommand::Kind::kRetry: {
      v1::RetryShardRequest request;
      request.set_app(*app);
      request.set_shard(command.name);
      return pull(request, Retry);
    }
    case LeverCommand::Kind::kMove: {
      v1::MoveShardRequest request;
      request.set_app(*app);
      request.set_shard(command.name);
      request.set_to(command.to);
      request.set_from(command.from);
      return pull(request, Move);
    }
    case LeverCommand::Kind::kUnquarantine:
      return pull(OfServer<v1::LiftQuarantineRequest>(*app, command.name), Unquarantine);
    case LeverCommand::Kind::kForget:
      return pull(OfServer<v1::ForgetServerRequest>(*app, command.name), Forget);
  }
  return kUsage;  // there is no other one
}

}  // namespace shardmanager::cli
