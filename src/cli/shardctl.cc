#include "cli/shardctl.h"

#include <sstream>
#include <utility>
#include <variant>

#include "absl/strings/str_split.h"
#include "base/state_machine.h"
#include "cli/admin_client.h"
#include "cli/cell/cell.h"
#include "cli/certs/certs.h"
#include "cli/commands/commands.h"
#include "cli/completion/complete.h"
#include "cli/completion/completion.h"
#include "cli/history/history.h"
#include "cli/levers/levers.h"
#include "cli/roles/roles.h"
#include "cli/status/status.h"
#include "runtime/operation_id.h"
#include "shardmanager/version.h"
#include "wire/transport.h"

namespace shardmanager::cli {
namespace {

// What follows from a snapshot in a file.
bool AsksNobody(const CommandLine& line) {
  const auto* simulate = std::get_if<SimulateCommand>(&line.command);
  const auto* capacity = std::get_if<CapacityCommand>(&line.command);
  return (simulate != nullptr && !simulate->snapshot.empty()) ||
         (capacity != nullptr && !capacity->snapshot.empty());
}

ExitCode Run(const CommandLine& line, Terminal& terminal) {
  if (const auto* completion = std::get_if<CompletionCommand>(&line.command)) {
    *terminal.out << CompletionScript(completion->shell);
    return kOk;
  }
  if (std::holds_alternative<VersionCommand>(line.command)) {
    *terminal.out << "shardctl " << SHARDMANAGER_VERSION_TEXT << "\n";
    return kOk;
  }
  if (const auto* place = std::get_if<PlaceCommand>(&line.command)) {
    return Place(*place, terminal);
  }
  if (const auto* certs = std::get_if<CertsCommand>(&line.command)) {
    return RunCerts(*certs, terminal);
  }
  if (const auto* cell = std::get_if<CellCommand>(&line.command)) {
    return RunCell(*cell, line.timeout, terminal);
  }
  const auto transport = AsksNobody(line)
                             ? wire::Transport::Insecure()
                             : wire::Transport::Make(line.security, "", {security::Anybody()});
  if (!transport.ok()) {
    *terminal.err << "error: " << transport.status().message() << "\n";
    return kUsage;
  }
  const std::string operation = line.operation.empty() ? MakeOperationId() : line.operation;
  AdminClient client({line.server, line.timeout, operation}, *transport);
  return std::visit(
      Overloaded{
          [&](const ApplyCommand& command) { return Apply(command, client, terminal); },
          [&](const GetCommand& command) { return Get(command, client, terminal); },
          [&](const DescribeCommand& command) { return Describe(command, client, terminal); },
          [&](const ExplainCommand& command) { return Explain(command, client, terminal); },
          [&](const DrainCommand& command) { return Drain(command, client, terminal); },
          [&](const DeleteCommand& command) { return Delete(command, client, terminal); },
          [&](const ReleaseCommand& command) { return Release(command, client, terminal); },
          [&](const LeverCommand& command) { return PullLever(command, client, terminal); },
          [&](const ApproveCommand& command) { return Approve(command, client, terminal); },
          [&](const EndCommand& command) { return End(command, client, terminal); },
          [&](const PauseCommand& command) { return Pause(command, client, terminal); },
          [&](const PinCommand& command) { return Pin(command, client, terminal); },
          [&](const PreferCommand& command) { return Prefer(command, client, terminal); },
          [&](const ReshapeCommand& command) { return Reshape(command, client, terminal); },
          [&](const MaintenanceCommand& command) { return Maintenance(command, client, terminal); },
          [&](const RolloutCommand& command) { return Rollout(command, client, terminal); },
          [&](const SnapshotCommand& command) { return Snapshot(command, client, terminal); },
          [&](const SimulateCommand& command) { return Simulate(command, client, terminal); },
          [&](const CapacityCommand& command) { return Capacity(command, client, terminal); },
          [&](const TopCommand& command) { return Top(command, client, terminal); },
          [&](const WatchCommand& command) { return Watch(command, client, terminal); },
          [&](const HistoryCommand& command) { return ShowHistory(command, client, terminal); },
          [&](const RoleCommand& command) { return RunRoles(command, client, terminal); },
          [&](const StatusCommand& command) { return ShowStatus(command, client, terminal); },
          [&](const auto&) { return kOk; }},
      line.command);
}

// Quick to give up: a person has pressed Tab, and the control plane may be away.
constexpr char kNamesWithin[] = "2s";

std::vector<std::string> NamesFor(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--timeout", kNamesWithin, "get", "-o", "name"});
  std::istringstream in;
  std::ostringstream out, err;
  Terminal quiet{.in = &in, .out = &out, .err = &err};
  if (RunShardctl(arguments, quiet) != kOk) return {};
  return absl::StrSplit(out.str(), '\n', absl::SkipEmpty());
}

}  // namespace

ExitCode RunShardctl(const std::vector<std::string>& arguments, Terminal& terminal) {
  if (!arguments.empty() && arguments.front() == kCompleteCommand) {
    *terminal.out << ToLines(Complete({arguments.begin() + 1, arguments.end()}, NamesFor));
    return kOk;
  }
  const auto parsed = ParseCommandLine(arguments);
  if (const auto* answer = std::get_if<Answer>(&parsed)) {
    *(answer->code == kOk ? terminal.out : terminal.err) << answer->text;
    return answer->code;
  }
  const ExitCode code = Run(std::get<CommandLine>(parsed), terminal);
  terminal.out->flush();
  if (terminal.out->good() || code != kOk) return code;
  *terminal.err << "error: the output cannot be written\n";
  return kRefused;
}

}  // namespace shardmanager::cli
