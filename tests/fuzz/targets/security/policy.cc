// Grants and revocations, in any order, onto any record: who has which role is what was granted and
// not revoked, and nobody's but theirs.
#include "security/policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {
namespace {

using security::HeldRole;
using security::Identity;
using Apps = std::set<std::string>;
using Model = std::map<std::pair<std::string, std::string>, Apps>;  // by identity and role

constexpr std::array kWho = {"operator/alice", "operator/bob", "client/kv/web", "server/kv/kv-1",
                             "admin/root"};
constexpr std::array kRoles = {"viewer", "operator", "app-owner", "admin", "server", "king"};
constexpr std::array kApps = {"kv", "shop", "search", "not an app"};

v1::RoleGrant GrantFrom(fuzz::FuzzInput& input) {
  v1::RoleGrant grant;
  grant.set_identity(kWho[input.Below(kWho.size())]);
  grant.set_role(kRoles[input.Below(kRoles.size())]);
  const uint8_t apps = input.Byte();
  for (size_t i = 0; i < kApps.size(); ++i) {
    if ((apps >> i & 1) != 0) grant.add_apps(kApps[i]);
  }
  return grant;
}

// Those that its certificate does not give.
std::map<std::string, Apps> GrantedTo(const Identity& who, const v1::StoredPolicy& policy) {
  const size_t own = security::RolesOf(who).size();
  const std::vector<HeldRole> all = security::RolesOf(who, policy);
  std::map<std::string, Apps> granted;
  for (size_t i = own; i < all.size(); ++i) {
    SM_CHECK(security::IsGranted(all[i].role), "what only a certificate gives is not granted");
    SM_CHECK(!security::IsOfApps(all[i].role) || !all[i].apps.empty(),
             "a role of named apps is not one of all apps");
    granted[std::string(NameOf(all[i].role))].insert(all[i].apps.begin(), all[i].apps.end());
  }
  return granted;
}

void CheckAll(const v1::StoredPolicy& policy, const Model* model) {
  for (const char* path : kWho) {
    const Identity who = *security::IdentityOfPath("cell", path);
    const auto granted = GrantedTo(who, policy);
    if (model == nullptr) continue;
    std::map<std::string, Apps> expected;
    for (const auto& [key, apps] : *model) {
      if (key.first == path) expected[key.second] = apps;
    }
    SM_CHECK(granted == expected, "everybody has what was granted and not revoked");
  }
}

void Grant(const v1::RoleGrant& grant, v1::StoredPolicy& policy, Model& model) {
  v1::RoleGrant stored;
  auto next = security::WithGrant(policy, grant, &stored);
  if (!next.ok()) return;
  SM_CHECK(grant.identity() != "admin/root", "nothing is added to an admin's certificate");
  model[{grant.identity(), grant.role()}].insert(grant.apps().begin(), grant.apps().end());
  policy = *std::move(next);
  const auto again = security::WithGrant(policy, grant, &stored);
  SM_CHECK(again.ok() && again->SerializeAsString() == policy.SerializeAsString(),
           "the same grant once more changes nothing");
}

void Revoke(const v1::RoleGrant& grant, v1::StoredPolicy& policy, Model& model) {
  std::vector<std::string> left;
  auto next = security::WithoutGrant(policy, grant, &left);
  if (!next.ok()) return;
  policy = *std::move(next);
  const auto found = model.find({grant.identity(), grant.role()});
  if (found == model.end()) return;  // of a record that came from elsewhere
  for (const std::string& app : grant.apps()) found->second.erase(app);
  if (grant.apps().empty() || found->second.empty()) model.erase(found);
}

}  // namespace

SM_FUZZ_TARGET(policy) {
  v1::StoredPolicy policy;
  const bool is_new = input.Flag();
  if (!is_new && !policy.ParseFromString(input.Text(4'096))) return;
  Model model;
  CheckAll(policy, nullptr);
  while (!input.empty()) {
    const bool grants = input.Flag();
    const v1::RoleGrant grant = GrantFrom(input);
    grants ? Grant(grant, policy, model) : Revoke(grant, policy, model);
    CheckAll(policy, is_new ? &model : nullptr);
  }
}

}  // namespace shardmanager
