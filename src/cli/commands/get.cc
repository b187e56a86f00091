#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/operations.h"
#include "cli/render.h"
#include "cli/roles/roles.h"
#include "cli/yaml/proto_to_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string Names(const v1::GetAppsResponse& response) {
  std::string names;
  for (const v1::AppStatus& app : response.apps()) absl::StrAppend(&names, app.spec().name(), "\n");
  return names;
}
std::string Names(const v1::GetServersResponse& response) {
  std::string names;
  for (const v1::ServerStatus& server : response.servers()) {
    absl::StrAppend(&names, server.server(), "\n");
  }
  return names;
}
std::string Names(const v1::GetShardsResponse& response) {
  std::string names;
  for (const v1::ShardStatus& shard : response.shards()) {
    absl::StrAppend(&names, shard.shard(), "\n");
  }
  return names;
}

std::string Names(const v1::GetOperationsResponse& response) {
  std::string names;
  for (const v1::OperationStatus& operation : response.operations()) {
    absl::StrAppend(&names, operation.id(), "\n");
  }
  return names;
}

std::string Rendered(const v1::GetAppsResponse& response, Style style) {
  return AppsTable(response, style);
}
std::string Rendered(const v1::GetServersResponse& response, Style style) {
  return ServersTable(response, style);
}
std::string Rendered(const v1::GetShardsResponse& response, Style style) {
  return ShardsTable(response, style);
}

std::string Rendered(const v1::GetOperationsResponse& response, Style style) {
  return OperationsTable(response, style);
}

std::string KindOf(Resource resource) {
  switch (resource) {
    case Resource::kApps:
      return "app";
    case Resource::kServers:
      return "server";
    case Resource::kShards:
      return "shard";
    case Resource::kOperations:
      return "operation";
    case Resource::kGrants:
      return "grant";
  }
  return "";
}

std::string Specs(const v1::GetAppsResponse& response) {
  std::string documents;
  for (const v1::AppStatus& app : response.apps()) {
    absl::StrAppend(&documents, documents.empty() ? "" : "---\n", ToYaml(app.spec()));
  }
  return documents;
}

template <typename Response>
ExitCode Show(const absl::StatusOr<Response>& response, bool empty, const GetCommand& command,
              AdminClient& client, Terminal& terminal) {
  if (!response.ok()) return Fail(response.status(), client, terminal);
  const std::string kind = KindOf(command.resource);
  if (empty && !command.name.empty()) {
    return Fail(absl::NotFoundError(absl::StrCat("no ", kind, " ", Quoted(command.name))), client,
                terminal);
  }
  if (ShowForPrograms(*response, command.format, terminal)) return kOk;
  if (command.format == Format::kName) {
    *terminal.out << Names(*response);
  } else if (empty) {
    const bool reported = command.resource == Resource::kOperations;
    *terminal.err << "no " << kind
                  << (reported                   ? "s are reported\n"
                      : command.selects_shards() ? " is like that\n"
                                                 : "s yet\n");
  } else {
    *terminal.out << Rendered(*response, {terminal.colour, command.format == Format::kWide});
  }
  return kOk;
}

ExitCode GetApps(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetAppsRequest request;
  request.set_app(command.name.empty() ? command.app : command.name);
  const auto response = client.GetApps(request);
  if (response.ok() && command.format == Format::kSpec && !response->apps().empty()) {
    *terminal.out << Specs(*response);
    return kOk;
  }
  return Show(response, response.ok() && response->apps().empty(), command, client, terminal);
}

ExitCode GetServers(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetServersRequest request;
  request.set_app(command.app);
  request.set_server(command.name);
  const auto response = client.GetServers(request);
  return Show(response, response.ok() && response->servers().empty(), command, client, terminal);
}

ExitCode GetShards(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::GetShardsRequest request;
  request.set_app(*app);
  request.set_shard(command.name);
  request.mutable_states()->Assign(command.states.begin(), command.states.end());
  request.set_server(command.server);
  const auto response = client.GetShards(request);
  return Show(response, response.ok() && response->shards().empty(), command, client, terminal);
}

ExitCode GetOperations(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetOperationsRequest request;
  request.set_app(command.app);
  request.set_id(command.name);
  const auto response = client.GetOperations(request);
  return Show(response, response.ok() && response->operations().empty(), command, client, terminal);
}

}  // namespace

ExitCode Get(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  if (command.format == Format::kSpec && command.resource != Resource::kApps) {
    return Fail(absl::InvalidArgumentError("-o spec: only apps have a specification"), client,
                terminal);
  }
  if (command.selects_shards() && command.resource != Resource::kShards) {
    return Fail(absl::InvalidArgumentError("--state, --unserved and --on are for shards"), client,
                terminal);
  }
  switch (command.resource) {
    case Resource::kApps:
      return GetApps(command, client, terminal);
    case Resource::kServers:
      return GetServers(command, client, terminal);
    case Resource::kShards:
      return GetShards(command, client, terminal);
    case Resource::kOperations:
      return GetOperations(command, client, terminal);
    case Resource::kGrants:
      return GetGrants(command, client, terminal);
  }
  return kUsage;
}

}  // namespace shardmanager::cli
