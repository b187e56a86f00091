#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/commands/top_report.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

ExitCode TopShards(const TopCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetShardsRequest request;
  request.set_app(command.app);
  auto response = client.GetShards(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  KeepTopShards(*response, command.most);
  if (!ShowForPrograms(*response, command.format, terminal)) {
    *terminal.out << TopShardsTable(*response, {.colour = terminal.colour});
  }
  return kOk;
}

ExitCode TopKeys(const TopCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetAppsRequest request;
  request.set_app(command.app);
  auto response = client.GetApps(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (response->apps().empty()) {
    return Fail(absl::NotFoundError(absl::StrCat("no app ", Quoted(command.app))), client,
                terminal);
  }
  v1::AppSkew& skew = *response->mutable_apps(0)->mutable_skew();
  const int most = static_cast<int>(command.most);
  if (skew.keys_size() > most) skew.mutable_keys()->DeleteSubrange(most, skew.keys_size() - most);
  if (!ShowForPrograms(skew, command.format, terminal)) {
    *terminal.out << TopKeysTable(skew, {.colour = terminal.colour});
  }
  return kOk;
}

}  // namespace

ExitCode Top(const TopCommand& command, AdminClient& client, Terminal& terminal) {
  return command.keys ? TopKeys(command, client, terminal) : TopShards(command, client, terminal);
}

}  // namespace shardmanager::cli
