// `shardctl maintenance add`, `list` and `cancel`.
#include <chrono>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/maintenances.h"
#include "cli/render.h"
#include "cli/scope_text.h"
#include "model/drain.h"
#include "model/text.h"
#include "runtime/clock.h"

namespace shardmanager::cli {
namespace {

using Action = MaintenanceCommand::Action;

// `label`: as EnumLabel() writes it.
v1::MaintenanceImpact ImpactOf(const std::string& label) {
  const auto& type = *v1::MaintenanceImpact_descriptor();
  for (int i = 0; i < type.value_count(); ++i) {
    const auto impact = static_cast<v1::MaintenanceImpact>(type.value(i)->number());
    if (EnumLabel(impact) == label) return impact;
  }
  return v1::MAINTENANCE_IMPACT_UNSPECIFIED;
}

ExitCode Add(const MaintenanceCommand& command, AdminClient& client, Terminal& terminal) {
  const auto scope = ParseScope(command.level, command.name);
  if (!scope.ok()) return Fail(scope.status(), client, terminal);
  if (!command.length && !command.end_ms && ImpactOf(command.impact) != v1::MACHINE_LOSS) {
    return Fail(
        absl::InvalidArgumentError("--for, --end: found neither; allowed: how long it lasts, "
                                   "as in --for 2h, or when it is over, as in --end "
                                   "2026-03-01T12:00Z"),
        client, terminal);
  }
  v1::AddMaintenanceRequest request;
  v1::Maintenance& notice = *request.mutable_maintenance();
  notice.set_id(command.id);
  *notice.mutable_scope() = *scope;
  notice.set_impact(ImpactOf(command.impact));
  notice.set_start_ms(command.start_ms.value_or(
      WallMilliseconds() + command.begins_in.value_or(std::chrono::milliseconds(0)).count()));
  if (command.length) notice.set_end_ms(notice.start_ms() + command.length->count());
  if (command.end_ms) notice.set_end_ms(*command.end_ms);
  notice.set_reason(command.reason);
  notice.set_who(User());
  const auto response = client.AddMaintenance(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  for (const v1::DrainedApp& app : response->apps()) {
    *terminal.out << Shown(absl::StrCat(app.app(), ": notice of maintenance ", command.id, " of ",
                                        ToString(*scope), ": ", Counted(app.replicas(), "replica"),
                                        " on ", Counted(app.servers(), "server"), " now"))
                  << "\n";
  }
  return kOk;
}

ExitCode List(const MaintenanceCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetMaintenancesRequest request;
  request.set_app(command.app);
  request.set_id(command.id);
  const auto response = client.GetMaintenances(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (ShowForPrograms(*response, command.format, terminal)) return kOk;
  const Style style{.colour = terminal.colour};
  if (response->maintenances().empty()) {
    *terminal.err << "no maintenance is ahead\n";
  } else if (command.id.empty()) {
    *terminal.out << MaintenancesTable(*response, style);
  } else {
    for (const v1::MaintenanceStatus& status : response->maintenances()) {
      *terminal.out << DescribeMaintenance(status, style);
    }
  }
  return kOk;
}

ExitCode Cancel(const MaintenanceCommand& command, AdminClient& client, Terminal& terminal) {
  v1::CancelMaintenanceRequest request;
  request.set_id(command.id);
  request.set_who(User());
  const auto response = client.CancelMaintenance(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  for (const v1::DrainedApp& app : response->apps()) {
    *terminal.out << Shown(absl::StrCat(app.app(), ": maintenance ", command.id, " is cancelled: ",
                                        Counted(app.servers(), "server"), " may be used again"))
                  << "\n";
  }
  return kOk;
}

}  // namespace

ExitCode Maintenance(const MaintenanceCommand& command, AdminClient& client, Terminal& terminal) {
  switch (command.action) {
    case Action::kAdd:
      return Add(command, client, terminal);
    case Action::kList:
      return List(command, client, terminal);
    case Action::kCancel:
      return Cancel(command, client, terminal);
  }
  return kUsage;
}

}  // namespace shardmanager::cli
