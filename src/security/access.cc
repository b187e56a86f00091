#include "security/access.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/text.h"

namespace shardmanager::security {
namespace {

constexpr std::array<std::string_view, kRoles> kNames = {
    "viewer", "operator", "app-owner", "admin", "server", "relay", "client", "control-plane"};

constexpr uint16_t Bits(std::initializer_list<Role> roles) {
  uint16_t bits = 0;
  for (const Role role : roles) bits |= static_cast<uint16_t>(1U << static_cast<unsigned>(role));
  return bits;
}
using enum Role;
constexpr uint16_t kReaders = Bits({kViewer, kOperator, kAppOwner, kAdmin});
constexpr uint16_t kReadersOfAll = Bits({kViewer, kOperator, kAdmin});
// Those whose work is to keep apps running.
constexpr uint16_t kKeepers = Bits({kOperator, kAppOwner, kAdmin});
constexpr uint16_t kKeepersOfAll = Bits({kOperator, kAdmin});
// Those who say what an app is.
constexpr uint16_t kOwners = Bits({kAppOwner, kAdmin});
constexpr uint16_t kAdmins = Bits({kAdmin});
constexpr uint16_t kMapUsers = Bits({kServer, kRelay, kClient, kControlPlane});
// Clients' reports have servers drained: they are no reading, so viewers make none.
constexpr uint16_t kReporters = kMapUsers | kAdmins;

using enum AppRule;
constexpr std::array kTable = {
    Rule{"Admin", "ApplyApp", kOwners, kNamed, false},
    Rule{"Admin", "DeleteApp", kOwners, kNamed, false},
    Rule{"Admin", "ReshapeShards", kOwners, kNamed, false},
    Rule{"Admin", "Drain", kKeepers, kNamed, false},
    Rule{"Admin", "Undrain", kKeepers, kNamed, false},
    Rule{"Admin", "PauseApp", kKeepers, kNamed, false},
    Rule{"Admin", "ResumeApp", kKeepers, kNamed, false},
    Rule{"Admin", "PinShard", kKeepers, kNamed, false},
    Rule{"Admin", "UnpinShard", kKeepers, kNamed, false},
    Rule{"Admin", "PreferRegions", kKeepers, kNamed, false},
    Rule{"Admin", "RetryShard", kKeepers, kNamed, false},
    Rule{"Admin", "MoveShard", kKeepers, kNamed, false},
    Rule{"Admin", "LiftQuarantine", kKeepers, kNamed, false},
    Rule{"Admin", "ForgetServer", kKeepers, kNamed, false},
    // As the change that it is of, for which the caller is checked, too.
    Rule{"Admin", "Preview", kKeepers, kNamed, false},
    Rule{"Admin", "ReleaseServer", kKeepers, kNamed, false},
    Rule{"Admin", "ApproveOperation", kKeepers, kNamed, false},
    Rule{"Admin", "EndOperation", kKeepers, kNamed, false},
    // A maintenance is of all apps that have servers there.
    Rule{"Admin", "AddMaintenance", kKeepersOfAll, kAny, false},
    Rule{"Admin", "CancelMaintenance", kKeepersOfAll, kAny, false},
    Rule{"Admin", "GetApps", kReaders, kNamed, false},
    Rule{"Admin", "GetServers", kReaders, kNamed, false},
    Rule{"Admin", "GetShards", kReaders, kNamed, false},
    Rule{"Admin", "ExplainShard", kReaders, kNamed, false},
    Rule{"Admin", "GetMaintenances", kReaders, kNamed, false},
    Rule{"Admin", "GetOperations", kReaders, kNamed, false},
    Rule{"Admin", "GetRollouts", kReaders, kNamed, false},
    // Standbys hear what the leader does, and keep it.
    Rule{"Admin", "WatchEvents", kReaders | Bits({kControlPlane}), kNamed, false},
    Rule{"Admin", "GetHistory", kReaders, kNamed, false},
    // Who leads must be known to find the process that knows one's roles.
    Rule{"Admin", "GetStatus", 0, kAny, true},
    Rule{"Access", "Grant", kAdmins, kAny, false},
    Rule{"Access", "Revoke", kAdmins, kAny, false},
    Rule{"Access", "GetPolicy", kReadersOfAll, kAny, false},
    Rule{"Access", "WhoAmI", 0, kAny, true},
    Rule{"Access", "CanI", 0, kAny, true},
    Rule{"TaskControl", "Report", kKeepers, kNamed, false},
    Rule{"TaskControl", "SupplyMap", kOwners | Bits({kServer}), kNamed, false},
    // It reads nothing of the cell, but takes a core.
    Rule{"Placer", "Place", kKeepers, kAny, false},
    Rule{"Discovery", "Watch", kMapUsers | kReaders, kNamed, false},
    Rule{"Discovery", "ReportServers", kReporters, kNamed, false},
    // Grants would get around the control plane here: its certificate alone may.
    Rule{"ShardServer", "AddShard", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "DropShard", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "ChangeRole", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "PrepareAddShard", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "PrepareDropShard", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "UpdateMembership", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "PrepareReshape", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardServer", "CollectLoad", Bits({kControlPlane}), kOwn, false},
    Rule{"ShardTransfer", "OpenTransfer", Bits({kServer}), kOwn, false},
    Rule{"ShardTransfer", "ReadRows", Bits({kServer}), kOwn, false},
    Rule{"ShardTransfer", "ReadChanges", Bits({kServer}), kOwn, false},
    Rule{"ShardTransfer", "ClaimShard", Bits({kServer}), kOwn, false},
    Rule{"ShardTransfer", "ConfirmShard", Bits({kServer}), kOwn, false},
};

constexpr std::string_view kRequest = "Request";

std::string OfApps(const HeldRole& held) {
  const std::string name(NameOf(held.role));
  return held.apps.empty() ? name : absl::StrCat(name, " of ", absl::StrJoin(held.apps, ", "));
}

bool IsEnough(const HeldRole& held, const Rule& rule, std::string_view app) {
  if (!rule.Has(held.role)) return false;
  if (!IsOfApps(held.role) || held.apps.empty() || rule.app == AppRule::kAny) return true;
  return !app.empty() && std::find(held.apps.begin(), held.apps.end(), app) != held.apps.end();
}

// The command that gives the least role of those that are enough; "": none can be granted.
std::string HowToGrant(const Caller& caller, const Rule& rule, std::string_view app) {
  for (const Role role : {kViewer, kAppOwner, kOperator, kAdmin}) {
    if (!rule.Has(role) || (IsOfApps(role) && app.empty() && rule.app == AppRule::kNamed)) continue;
    const std::string of_app =
        !IsOfApps(role) ? "" : absl::StrCat(" --app ", app.empty() ? "APP" : std::string(app));
    return absl::StrCat("`shardctl grant ", ToPath(caller.identity), " ", std::string(NameOf(role)),
                        of_app, "`");
  }
  return "";
}

std::string CellText(const Rule& rule, Role role) {
  if (rule.anyone) return "yes";
  if (!rule.Has(role)) return "-";
  if (!IsOfApps(role)) return "yes";
  switch (rule.app) {
    case AppRule::kNamed:
      return "of the app";
    case AppRule::kAny:
      return "of any app";
    case AppRule::kOwn:
      return "of the same app";
  }
  return "-";
}

}  // namespace

std::string_view NameOf(Role role) { return kNames[static_cast<size_t>(role)]; }

std::optional<Role> RoleOfName(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Role>(found - kNames.begin());
}

bool IsOfApps(Role role) { return role == kAppOwner || role == kServer || role == kClient; }

bool IsGranted(Role role) {
  return role == kViewer || role == kOperator || role == kAppOwner || role == kAdmin;
}

std::span<const Rule> AllRules() { return kTable; }

const Rule* RuleOf(std::string_view service, std::string_view method) {
  const auto* const found = std::find_if(kTable.begin(), kTable.end(), [&](const Rule& rule) {
    return rule.service == service && rule.method == method;
  });
  return found == kTable.end() ? nullptr : found;
}

const Rule* RuleOfRequest(std::string_view message) {
  if (message.size() <= kRequest.size()) return nullptr;
  const std::string_view method = message.substr(0, message.size() - kRequest.size());
  if (message.substr(method.size()) != kRequest) return nullptr;
  const auto* const found = std::find_if(kTable.begin(), kTable.end(),
                                         [&](const Rule& rule) { return rule.method == method; });
  return found == kTable.end() ? nullptr : found;
}

std::string CallOf(const Rule& rule) {
  return absl::StrCat(std::string(rule.service), ".", std::string(rule.method));
}

std::vector<HeldRole> RolesOf(const Identity& identity) {
  switch (identity.kind) {
    case Kind::kControlPlane:
      return {{kControlPlane}};
    case Kind::kRelay:
      return {{kRelay}};
    case Kind::kServer:
      return {{kServer, identity.apps}};
    case Kind::kClient:
      return {{kClient, identity.apps}};
    case Kind::kOperator:
      return {};
    case Kind::kAdmin:
      return {{kAdmin}};
    case Kind::kTrial:
      return {{kAdmin}, {kServer}, {kRelay}, {kClient}, {kControlPlane}};
  }
  return {};
}

absl::Status MayCall(const Caller& caller, const Rule& rule, std::string_view app) {
  if (rule.anyone) return absl::OkStatus();
  for (const HeldRole& held : caller.roles) {
    if (IsEnough(held, rule, app)) return absl::OkStatus();
  }
  const std::string of_app = rule.app != AppRule::kNamed ? ""
                             : app.empty()
                                 ? " for all apps"
                                 : absl::StrCat(" for app ", Printable(app.substr(0, 200)));
  const std::string has =
      caller.roles.empty()
          ? "none"
          : absl::StrJoin(caller.roles, ", ", [](std::string* out, const HeldRole& held) {
              absl::StrAppend(out, OfApps(held));
            });
  const std::string grant = HowToGrant(caller, rule, app);
  return absl::PermissionDeniedError(absl::StrCat(
      ToPath(caller.identity), " may not call ", CallOf(rule), of_app, ": missing role ",
      absl::StrJoin(RolesFor(rule, app), " or "), "; it has ", has, ". ",
      grant.empty() ? "Only a certificate gives that role"
                    : absl::StrCat("An admin gives it a role with ", grant)));
}

std::vector<std::string> RolesFor(const Rule& rule, std::string_view app) {
  std::vector<std::string> roles;
  if (rule.anyone) return {"any certificate of the cell"};
  for (size_t r = 0; r < kRoles; ++r) {
    const auto role = static_cast<Role>(r);
    if (!rule.Has(role)) continue;
    std::string text(NameOf(role));
    if (IsOfApps(role) && rule.app == AppRule::kNamed) {
      if (app.empty()) continue;  // of all apps nobody is
      absl::StrAppend(&text, " of app ", Printable(app.substr(0, 200)));
    }
    if (IsOfApps(role) && rule.app == AppRule::kOwn) text += " of the same app";
    roles.push_back(std::move(text));
  }
  return roles;
}

std::string RoleTableText() {
  std::string text = "| call | no role |";
  std::string line = "|---|---|";
  for (const std::string_view name : kNames) {
    absl::StrAppend(&text, " ", std::string(name), " |");
    line += "---|";
  }
  absl::StrAppend(&text, "\n", line, "\n");
  for (const Rule& rule : kTable) {
    absl::StrAppend(&text, "| `", CallOf(rule), "` | ", rule.anyone ? "yes" : "-", " |");
    for (size_t r = 0; r < kRoles; ++r) {
      absl::StrAppend(&text, " ", CellText(rule, static_cast<Role>(r)), " |");
    }
    text += "\n";
  }
  return text;
}

}  // namespace shardmanager::security
