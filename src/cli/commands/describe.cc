#include "cli/describe.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/operations.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

// The events are a help beside the answer: without them it is still shown.
Surroundings Around(const std::string& app, AdminClient& client, const Terminal& terminal) {
  Surroundings around{.now_ms = terminal.now_ms, .colour = terminal.colour};
  v1::WatchEventsRequest request;
  request.set_app(app);
  request.set_no_follow(true);
  const absl::Status status = client.WatchEvents(
      request, [&](const v1::ControlEvent& event) { around.events.push_back(event); });
  if (!status.ok()) *terminal.err << "events cannot be shown: " << status.message() << "\n";
  return around;
}

ExitCode DescribeApp(const DescribeCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetAppsRequest request;
  request.set_app(command.name);
  const auto apps = client.GetApps(request);
  if (!apps.ok()) return Fail(apps.status(), client, terminal);
  if (apps->apps().empty()) {
    return Fail(absl::NotFoundError(absl::StrCat("no app ", Quoted(command.name))), client,
                terminal);
  }
  v1::GetServersRequest of_app;
  of_app.set_app(command.name);
  const auto servers = client.GetServers(of_app);
  if (!MayPass(servers.status())) return Fail(servers.status(), client, terminal);
  *terminal.out << DescribeApp(apps->apps(0), servers, Around(command.name, client, terminal));
  return kOk;
}

ExitCode DescribeServer(const DescribeCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetServersRequest request;
  request.set_app(command.app);
  request.set_server(command.name);
  const auto servers = client.GetServers(request);
  if (!servers.ok()) return Fail(servers.status(), client, terminal);
  if (servers->servers().empty()) {
    return Fail(absl::NotFoundError(absl::StrCat("no server ", Quoted(command.name))), client,
                terminal);
  }
  // The same name may serve several apps.
  for (int i = 0; i < servers->servers_size(); ++i) {
    const v1::ServerStatus& server = servers->servers(i);
    v1::GetShardsRequest of_app;
    of_app.set_app(server.app());
    const auto shards = client.GetShards(of_app);
    if (!shards.ok()) return Fail(shards.status(), client, terminal);
    *terminal.out << (i == 0 ? "" : "\n")
                  << DescribeServer(server, *shards, Around(server.app(), client, terminal));
  }
  return kOk;
}

ExitCode DescribeShard(const DescribeCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::GetShardsRequest request;
  request.set_app(*app);
  request.set_shard(command.name);
  const auto shards = client.GetShards(request);
  if (!shards.ok()) return Fail(shards.status(), client, terminal);
  if (shards->shards().empty()) {
    return Fail(absl::NotFoundError(
                    absl::StrCat("app ", Quoted(*app), " has no shard ", Quoted(command.name))),
                client, terminal);
  }
  *terminal.out << DescribeShard(*app, shards->shards(0), Around(*app, client, terminal));
  return kOk;
}

ExitCode ShowOperation(const DescribeCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetOperationsRequest request;
  request.set_app(command.app);
  request.set_id(command.name);
  const auto operations = client.GetOperations(request);
  if (!operations.ok()) return Fail(operations.status(), client, terminal);
  // Ids are unique in one manager only.
  for (int i = 0; i < operations->operations_size(); ++i) {
    *terminal.out << (i == 0 ? "" : "\n") << DescribeOperation(operations->operations(i));
  }
  return kOk;
}

}  // namespace

ExitCode Describe(const DescribeCommand& command, AdminClient& client, Terminal& terminal) {
  switch (command.resource) {
    case Resource::kApps:
      return DescribeApp(command, client, terminal);
    case Resource::kServers:
      return DescribeServer(command, client, terminal);
    case Resource::kShards:
      return DescribeShard(command, client, terminal);
    case Resource::kOperations:
      return ShowOperation(command, client, terminal);
    case Resource::kGrants:
      break;  // there is no more to say of them than `get` does
  }
  return kUsage;
}

}  // namespace shardmanager::cli
