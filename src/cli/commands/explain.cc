#include "cli/explain.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/suggest.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

// Names of a larger app are not fetched for a hint.
constexpr uint32_t kMostNamesForAHint = 100'000;

std::vector<std::string> ShardNames(const std::string& app, AdminClient& client) {
  std::vector<std::string> names;
  v1::GetShardsRequest request;
  request.set_app(app);
  const auto shards = client.GetShards(request);
  if (!shards.ok()) return names;
  for (const v1::ShardStatus& shard : shards->shards()) names.push_back(shard.shard());
  return names;
}

std::vector<std::string> ServerNames(const std::string& app, AdminClient& client) {
  std::vector<std::string> names;
  v1::GetServersRequest request;
  request.set_app(app);
  const auto servers = client.GetServers(request);
  if (!servers.ok()) return names;
  for (const v1::ServerStatus& server : servers->servers()) names.push_back(server.server());
  return names;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "" or " (did you mean "x"?)", for the first of the names that does not exist.
std::string Hint(const ExplainCommand& command, AdminClient& client) {
  const auto apps = client.GetApps({});
  if (!apps.ok()) return "";
  std::vector<std::string> names;
  bool small = true;
  for (const v1::AppStatus& app : apps->apps()) {
    names.push_back(app.spec().name());
    if (names.back() == command.app) {
      small = app.shards() <= kMostNamesForAHint && app.servers_known() <= kMostNamesForAHint;
    }
  }
  std::string wrong = command.app;
  if (Contains(names, command.app) && small) {
    wrong = command.shard;
    names = ShardNames(command.app, client);
    if (Contains(names, command.shard)) {
      wrong = command.server;
      names = ServerNames(command.app, client);
    }
  }
  const std::string meant = Suggest(wrong, names);
  return meant.empty() || meant == wrong ? ""
                                         : absl::StrCat(" (did you mean ", Quoted(meant), "?)");
}

}  // namespace

ExitCode Explain(const ExplainCommand& command, AdminClient& client, Terminal& terminal) {
  if (command.app == "operation") return ExplainOperation(command, client, terminal);
  v1::ExplainShardRequest request;
  request.set_app(command.app);
  request.set_shard(command.shard);
  request.set_server(command.server);
  request.set_most_candidates(command.most_candidates);
  const auto explained = client.ExplainShard(request);
  if (absl::IsNotFound(explained.status())) {
    return Fail(absl::NotFoundError(
                    absl::StrCat(std::string(explained.status().message()), Hint(command, client))),
                client, terminal);
  }
  if (!explained.ok()) return Fail(explained.status(), client, terminal);
  if (!ShowForPrograms(*explained, command.format, terminal)) {
    *terminal.out << ExplainText(command.app, *explained, !command.server.empty(), terminal.colour);
  }
  return kOk;
}

}  // namespace shardmanager::cli
