#include "security/policy.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/spec/spec_names.h"
#include "model/text.h"

namespace shardmanager::security {
namespace {

using Apps = std::set<std::string>;

absl::Status Wrong(std::string_view field, std::string_view found, std::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": found ", Quoted(found),
                                                 "; allowed: ", std::string(allowed)));
}

bool IsBefore(const v1::RoleGrant& a, const v1::RoleGrant& b) {
  return std::tie(a.identity(), a.role()) < std::tie(b.identity(), b.role());
}

// The cell's name is of no matter: a path is of any.
absl::Status CheckIdentity(const std::string& path) {
  if (path.size() > kLongestGrantee) {
    return Wrong("identity", path, absl::StrCat("at most ", kLongestGrantee, " bytes"));
  }
  const auto identity = IdentityOfPath("any", path);
  if (!identity.ok()) {
    return Wrong(
        "identity", path,
        "operator/NAME, client/APP[/APP...]/NAME or server/APP/NAME, as in the certificate, "
        "without the cell");
  }
  if (identity->kind == Kind::kAdmin) {
    return Wrong("identity", path,
                 "no admin's: its certificate makes it an admin, and nothing can be added to that");
  }
  if (identity->kind == Kind::kControlPlane || identity->kind == Kind::kRelay) {
    return Wrong("identity", path, "an operator's, a client's or a server's");
  }
  return absl::OkStatus();
}

absl::Status CheckRole(const v1::RoleGrant& grant) {
  const auto role = RoleOfName(grant.role());
  if (!role || !IsGranted(*role)) {
    return Wrong("role", grant.role(),
                 role ? "viewer, operator, app-owner or admin; this one a certificate gives: "
                        "`shardctl certs`"
                      : "viewer, operator, app-owner or admin");
  }
  if (!IsOfApps(*role) && !grant.apps().empty()) {
    return Wrong("apps", absl::StrJoin(grant.apps(), ","),
                 absl::StrCat("none: ", grant.role(),
                              " is a role for all apps; app-owner is for named ones"));
  }
  for (const std::string& app : grant.apps()) {
    if (!IsAppName(app)) return Wrong("apps", app, "names of apps");
  }
  return absl::OkStatus();
}

auto Find(v1::StoredPolicy& policy, const v1::RoleGrant& grant) {
  return std::find_if(policy.mutable_grants()->begin(), policy.mutable_grants()->end(),
                      [&](const v1::RoleGrant& g) {
                        return g.identity() == grant.identity() && g.role() == grant.role();
                      });
}

Apps AppsOf(const v1::RoleGrant& grant) { return {grant.apps().begin(), grant.apps().end()}; }

void PutApps(const Apps& apps, v1::RoleGrant& grant) {
  grant.mutable_apps()->Assign(apps.begin(), apps.end());
}

// Nothing: it gives nothing.
std::optional<HeldRole> HeldBy(const v1::RoleGrant& grant) {
  const auto role = RoleOfName(grant.role());
  if (!role || !IsGranted(*role)) return std::nullopt;
  if (IsOfApps(*role) && grant.apps().empty()) return std::nullopt;
  return HeldRole{*role, {grant.apps().begin(), grant.apps().end()}};
}

}  // namespace

std::vector<HeldRole> RolesOf(const Identity& identity, const v1::StoredPolicy& policy) {
  std::vector<HeldRole> roles = RolesOf(identity);
  const std::string path = ToPath(identity);
  for (const v1::RoleGrant& grant : policy.grants()) {
    if (grant.identity() != path) continue;
    if (auto held = HeldBy(grant)) roles.push_back(*std::move(held));
  }
  return roles;
}

std::vector<v1::RoleGrant> GrantsOf(const Identity& identity, const v1::StoredPolicy& policy) {
  const std::string path = ToPath(identity);
  std::vector<v1::RoleGrant> grants;
  for (const HeldRole& held : RolesOf(identity)) {
    v1::RoleGrant& grant = grants.emplace_back();
    grant.set_identity(path);
    grant.set_role(std::string(NameOf(held.role)));
    PutApps({held.apps.begin(), held.apps.end()}, grant);
  }
  for (const v1::RoleGrant& grant : policy.grants()) {
    if (grant.identity() == path && HeldBy(grant)) grants.push_back(grant);
  }
  return grants;
}

absl::StatusOr<v1::StoredPolicy> WithGrant(v1::StoredPolicy policy, const v1::RoleGrant& grant,
                                           v1::RoleGrant* stored) {
  if (absl::Status s = CheckIdentity(grant.identity()); !s.ok()) return s;
  if (absl::Status s = CheckRole(grant); !s.ok()) return s;
  if (IsOfApps(*RoleOfName(grant.role())) && grant.apps().empty()) {
    return Wrong("apps", "", absl::StrCat("1 to ", kMostAppsOfGrant, " apps for ", grant.role()));
  }
  auto found = Find(policy, grant);
  if (found == policy.mutable_grants()->end()) {
    if (policy.grants_size() >= kMostGrants) {
      return absl::ResourceExhaustedError(absl::StrCat("there are ", policy.grants_size(),
                                                       " grants; allowed: at most ", kMostGrants,
                                                       "; revoke some that nobody needs"));
    }
    *policy.add_grants() = grant;
    std::sort(policy.mutable_grants()->begin(), policy.mutable_grants()->end(), IsBefore);
    found = Find(policy, grant);
    found->clear_apps();
  }
  Apps apps = AppsOf(*found);
  apps.insert(grant.apps().begin(), grant.apps().end());
  if (apps.size() > kMostAppsOfGrant) {
    return Wrong("apps", absl::StrCat(apps.size(), " apps"),
                 absl::StrCat("at most ", kMostAppsOfGrant, " with those that it has"));
  }
  if (apps != AppsOf(*found)) {
    PutApps(apps, *found);
    found->set_by(grant.by());
    found->set_since_ms(grant.since_ms());
  }
  *stored = *found;
  return policy;
}

absl::StatusOr<v1::StoredPolicy> WithoutGrant(v1::StoredPolicy policy, const v1::RoleGrant& grant,
                                              std::vector<std::string>* left_apps) {
  left_apps->clear();
  const auto found = Find(policy, grant);
  if (found == policy.mutable_grants()->end()) {
    const auto identity = IdentityOfPath("any", grant.identity());
    if (identity.ok() && identity->kind == Kind::kAdmin) {
      return absl::InvalidArgumentError(
          "identity: an admin certificate stays one: its role follows from the certificate, so "
          "that "
          "nobody is ever locked out of a cell");
    }
    return absl::NotFoundError(absl::StrCat(Quoted(grant.identity()), " was not granted ",
                                            Quoted(grant.role()), ": see `shardctl get grants`"));
  }
  Apps left = AppsOf(*found);
  if (grant.apps().empty()) left.clear();
  for (const std::string& app : grant.apps()) {
    if (left.erase(app) == 0) {
      return absl::NotFoundError(absl::StrCat(Quoted(grant.identity()), " was not granted ",
                                              Quoted(grant.role()), " of app ", Quoted(app)));
    }
  }
  if (left.empty()) {
    policy.mutable_grants()->erase(found);
    return policy;
  }
  PutApps(left, *found);
  found->set_by(grant.by());
  found->set_since_ms(grant.since_ms());
  left_apps->assign(left.begin(), left.end());
  return policy;
}

}  // namespace shardmanager::security
