#include "cli/roles/roles.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/roles/role_text.h"
#include "cli/roles/verbs.h"
#include "model/text.h"
#include "shardmanager/v1/access.pb.h"

namespace shardmanager::cli {
namespace {

ExitCode Grant(const RoleCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GrantRequest request;
  request.set_identity(command.identity);
  request.set_role(command.role);
  request.mutable_apps()->Assign(command.apps.begin(), command.apps.end());
  request.set_who(User());
  const auto response = client.Send<v1::GrantResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(response->grant().identity())
                << (response->changed() ? " is " : " was before: ") << RoleText(response->grant())
                << (response->changed() ? " now\n" : "\n");
  return kOk;
}

ExitCode Revoke(const RoleCommand& command, AdminClient& client, Terminal& terminal) {
  v1::RevokeRequest request;
  request.set_identity(command.identity);
  request.set_role(command.role);
  request.mutable_apps()->Assign(command.apps.begin(), command.apps.end());
  request.set_who(User());
  const auto response = client.Send<v1::RevokeResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << Shown(command.identity) << " is no " << Shown(command.role);
  if (!command.apps.empty()) *terminal.out << " of " << Shown(absl::StrJoin(command.apps, ", "));
  *terminal.out << " any more";
  if (!response->left_apps().empty()) {
    *terminal.out << ", but still of " << Shown(absl::StrJoin(response->left_apps(), ", "));
  }
  *terminal.out << "\n";
  return kOk;
}

ExitCode WhoAmI(const RoleCommand& command, AdminClient& client, Terminal& terminal) {
  const auto who = client.Send<v1::WhoAmIResponse>(v1::WhoAmIRequest());
  if (!who.ok()) return Fail(who.status(), client, terminal);
  if (!ShowForPrograms(*who, command.format, terminal)) {
    *terminal.out << WhoText(*who, terminal.colour);
  }
  return kOk;
}

ExitCode CanI(const RoleCommand& command, AdminClient& client, Terminal& terminal) {
  v1::CanIRequest request;
  request.set_call(std::string(CallOfVerb(command.verb)));
  request.set_app(command.app);
  request.set_identity(command.as);
  const auto answer = client.Send<v1::CanIResponse>(request);
  if (!answer.ok()) return Fail(answer.status(), client, terminal);
  if (answer->allowed()) {
    *terminal.out << (answer->insecure()
                          ? "yes: the cell is insecure, so everybody may do everything\n"
                          : "yes\n");
    return kOk;
  }
  *terminal.out << "no: " << Shown(answer->reason()) << "\n";
  return kRefused;
}

}  // namespace

ExitCode RunRoles(const RoleCommand& command, AdminClient& client, Terminal& terminal) {
  switch (command.action) {
    case RoleCommand::Action::kGrant:
      return Grant(command, client, terminal);
    case RoleCommand::Action::kRevoke:
      return Revoke(command, client, terminal);
    case RoleCommand::Action::kWhoAmI:
      return WhoAmI(command, client, terminal);
    case RoleCommand::Action::kCanI:
      return CanI(command, client, terminal);
  }
  return kUsage;
}

ExitCode GetGrants(const GetCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetPolicyRequest request;
  request.set_identity(command.name);
  auto response = client.Send<v1::GetPolicyResponse>(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (!command.app.empty()) {
    auto& grants = *response->mutable_grants();
    grants.erase(std::remove_if(grants.begin(), grants.end(),
                                [&](const v1::RoleGrant& grant) {
                                  return std::find(grant.apps().begin(), grant.apps().end(),
                                                   command.app) == grant.apps().end();
                                }),
                 grants.end());
  }
  if (ShowForPrograms(*response, command.format, terminal)) return kOk;
  if (command.format == Format::kName) {
    for (const v1::RoleGrant& grant : response->grants()) {
      *terminal.out << Shown(grant.identity()) << "\n";
    }
  } else if (!response->grants().empty()) {
    *terminal.out << GrantsTable(*response, {.colour = terminal.colour});
  } else if (!command.name.empty()) {
    return Fail(
        absl::NotFoundError(absl::StrCat("nothing was granted to ", Quoted(command.name),
                                         "; what its certificate gives it is not listed here")),
        client, terminal);
  } else {
    *terminal.err << "no grants yet\n";
  }
  return kOk;
}

}  // namespace shardmanager::cli
