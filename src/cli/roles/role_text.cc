#include "cli/roles/role_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string AppsText(const v1::RoleGrant& grant) {
  return absl::StrJoin(grant.apps(), ", ", [](std::string* out, const std::string& app) {
    absl::StrAppend(out, Shown(app));
  });
}

}  // namespace

std::string RoleText(const v1::RoleGrant& grant) {
  const std::string apps = AppsText(grant);
  return absl::StrCat(Shown(grant.role()), apps.empty() ? "" : " of ", apps);
}

std::string GrantsTable(const v1::GetPolicyResponse& response, Style style) {
  Table table({"IDENTITY", "ROLE", "APPS", "BY", "SINCE"});
  for (const v1::RoleGrant& grant : response.grants()) {
    const std::string apps = AppsText(grant);
    table.AddRow({{Shown(grant.identity())},
                  {Shown(grant.role())},
                  {apps.empty() ? "all" : apps},
                  {Shown(grant.by())},
                  {TimeText(grant.since_ms())}});
  }
  return table.Render(style.colour);
}

std::string WhoText(const v1::WhoAmIResponse& who, bool colour) {
  if (who.insecure()) {
    return absl::StrCat("nobody knows: cell ", Shown(who.cell()),
                        " is insecure, so callers have no identity and everybody may do "
                        "everything\n");
  }
  FieldList fields(colour);
  fields.Add("Identity", Shown(who.identity()));
  fields.Add("Cell", Shown(who.cell()));
  if (who.roles().empty()) {
    fields.Add("Roles", {absl::StrCat("none; an admin gives one with `shardctl grant ",
                                      Shown(who.identity()), " ROLE`"),
                         Tone::kWarning});
  }
  const char* name = "Roles";
  for (const v1::RoleGrant& role : who.roles()) {
    const std::string from =
        role.by().empty() && role.since_ms() == 0
            ? "by the certificate"
            : absl::StrCat("granted by ", role.by().empty() ? "an admin" : Shown(role.by()), " at ",
                           TimeText(role.since_ms()));
    fields.Add(name, absl::StrCat(RoleText(role), " (", from, ")"));
    name = "";
  }
  return fields.Render();
}

}  // namespace shardmanager::cli
