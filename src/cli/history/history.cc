#include "cli/history/history.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/history/history_text.h"
#include "cli/render.h"
#include "cli/time_text.h"

namespace shardmanager::cli {
namespace {

v1::GetHistoryRequest RequestOf(const HistoryCommand& command, int64_t now_ms) {
  v1::GetHistoryRequest request;
  request.set_app(command.resource == "app" ? command.name : command.app);
  if (command.resource == "server") request.set_server(command.name);
  if (command.resource == "shard") request.set_shard(command.name);
  if (command.resource == "operation") request.set_operation(command.name);
  for (const std::string& kind : command.kinds) request.add_kinds(kind);
  if (command.resource == "changes" && command.kinds.empty()) {
    request.add_kinds("AdminChange");
    request.add_kinds("ChangeDenied");
  }
  if (const auto age = ParseAge(command.since)) request.set_since_ms(now_ms - age->count());
  if (const auto moment = ParseMoment(command.since)) request.set_since_ms(*moment);
  request.set_limit(command.limit);
  return request;
}

}  // namespace

ExitCode ShowHistory(const HistoryCommand& command, AdminClient& client, Terminal& terminal) {
  if ((command.resource == "changes") != command.name.empty()) {
    *terminal.err << "error: "
                  << (command.name.empty()
                          ? absl::StrCat("NAME: found nothing; allowed: which ", command.resource)
                          : absl::StrCat("NAME: found \"", Shown(command.name),
                                         "\"; allowed with `changes`: nothing (--app APP: only "
                                         "those of one app)"))
                  << "\n";
    return kUsage;
  }
  const auto history = client.Send<v1::GetHistoryResponse>(RequestOf(command, terminal.now_ms));
  if (!history.ok()) return Fail(history.status(), client, terminal);
  if (ShowForPrograms(*history, command.format, terminal)) return kOk;
  for (const v1::ControlEvent& event : history->events()) {
    *terminal.out << HistoryLines(event, terminal.colour);
  }
  *terminal.err << HistoryNotes(*history);
  return kOk;
}

}  // namespace shardmanager::cli
