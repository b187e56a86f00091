// `shardctl explain operation` and `shardctl end operation`.
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/operations.h"
#include "model/text.h"

namespace shardmanager::cli {

ExitCode End(const EndCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::EndOperationRequest request;
  request.set_app(*app);
  request.set_id(command.operation);
  request.set_manager(command.manager);
  request.set_who(User());
  const auto response = client.EndOperation(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.operation) << " counts as finished\n";
  return kOk;
}

ExitCode ExplainOperation(const ExplainCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetOperationsRequest request;
  request.set_app(command.of_app);
  request.set_id(command.shard);
  const auto all = client.GetOperations(request);
  if (!all.ok()) return Fail(all.status(), client, terminal);
  v1::GetOperationsResponse meant;
  for (const v1::OperationStatus& operation : all->operations()) {
    const bool of_manager = command.manager.empty() || command.manager == operation.manager();
    if (of_manager) *meant.add_operations() = operation;
  }
  if (meant.operations().empty()) {
    const std::string who =
        command.manager.empty() ? "" : absl::StrCat("manager ", Quoted(command.manager), " has ");
    return Fail(absl::NotFoundError(absl::StrCat(who, "no operation ", Quoted(command.shard))),
                client, terminal);
  }
  if (ShowForPrograms(meant, command.format, terminal)) return kOk;
  // Ids are unique in one manager only.
  for (int i = 0; i < meant.operations_size(); ++i) {
    *terminal.out << (i == 0 ? "" : "\n") << DescribeOperation(meant.operations(i));
  }
  return kOk;
}

}  // namespace shardmanager::cli
