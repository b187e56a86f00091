// Who may make which call: the roles, and a table with a row for each call of each service. Pure.
// docs/security-roles.md shows the table; a test compares the two, and the table with the services.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "security/identity.h"

namespace shardmanager::security {

enum class Role : uint8_t {
  kViewer,        // reads everything
  kOperator,      // drains, pauses, pins, maintenances, approvals, ... of all apps
  kAppOwner,      // of named apps: their specs, and an operator's calls
  kAdmin,         // everything that people may do; gives roles to others
  kServer,        // of one app
  kRelay,         // a shard-discoveryd
  kClient,        // of named apps
  kControlPlane,  // a shardmanagerd
};
inline constexpr size_t kRoles = static_cast<size_t>(Role::kControlPlane) + 1;

// Example: "app-owner".
std::string_view NameOf(Role role);
std::optional<Role> RoleOfName(std::string_view name);
// It is of named apps.
bool IsOfApps(Role role);
// It can be granted. The others a certificate gives, and nothing else does.
bool IsGranted(Role role);

// Of which app a role must be that is of named apps.
enum class AppRule : uint8_t {
  kNamed,  // the one that the request names; no app, where the request names none: of all apps
  kAny,    // whichever
  kOwn,    // the one of the server that is called
};

struct Rule {
  std::string_view service;  // Example: "Admin"
  std::string_view method;   // Example: "Drain"
  uint16_t roles;            // a bit for each role that may, by number
  AppRule app;
  bool anyone;  // every certificate of the cell, also one without a role

  bool Has(Role role) const { return (roles >> static_cast<size_t>(role) & 1) != 0; }
};

std::span<const Rule> AllRules();
// Null: there is no such call, and nobody may make it. Methods of two services have two names.
const Rule* RuleOf(std::string_view service, std::string_view method);
// The call with this request. Example: "DrainRequest".
const Rule* RuleOfRequest(std::string_view message);
// Example: "Admin.Drain".
std::string CallOf(const Rule& rule);

// One that somebody has.
struct HeldRole {
  Role role = Role::kViewer;
  std::vector<std::string> apps = {};  // of a role of named apps: empty for all of them
};
// By the kind of its certificate. An operator's gives none; one for trials gives all.
std::vector<HeldRole> RolesOf(const Identity& identity);

struct Caller {
  Identity identity = {};
  std::vector<HeldRole> roles = {};
};

// `app`: that of the rule (AppRule); "": it names none. PERMISSION_DENIED says who called, which
// role is missing, and how to get it.
absl::Status MayCall(const Caller& caller, const Rule& rule, std::string_view app);

// The roles any one of which is enough. Example: {"operator", "admin", "app-owner of app kv"}.
std::vector<std::string> RolesFor(const Rule& rule, std::string_view app);

// Lines of a table in Markdown: calls by role.
std::string RoleTableText();

}  // namespace shardmanager::security
