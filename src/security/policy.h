// What was granted to whom: changes of the policy, and what follows from it. Pure.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "security/access.h"
#include "security/identity.h"
#include "shardmanager/v1/access.pb.h"

namespace shardmanager::security {

inline constexpr int kMostGrants = 1'000;
inline constexpr int kMostAppsOfGrant = 64;
inline constexpr size_t kLongestGrantee = 256;  // its path, in bytes

// The roles of its certificate, then those that it was granted. What this build does not
// understand, in a grant of a newer one, gives nothing.
std::vector<HeldRole> RolesOf(const Identity& identity, const v1::StoredPolicy& policy);

// The same for people: with who granted them and when.
std::vector<v1::RoleGrant> GrantsOf(const Identity& identity, const v1::StoredPolicy& policy);

// The policy with this grant, whose `by` and `since_ms` stay as they are if nothing changes. Apps
// of app-owner are added to those that it has. `*stored`: the grant in it. INVALID_ARGUMENT,
// RESOURCE_EXHAUSTED: as in access.proto.
absl::StatusOr<v1::StoredPolicy> WithGrant(v1::StoredPolicy policy, const v1::RoleGrant& grant,
                                           v1::RoleGrant* stored);

// Without a grant, or without some apps of it: its `identity`, `role` and `apps` say which; `by`
// and `since_ms` are for what is left. `*left_apps`: what is left of it. INVALID_ARGUMENT,
// NOT_FOUND.
absl::StatusOr<v1::StoredPolicy> WithoutGrant(v1::StoredPolicy policy, const v1::RoleGrant& grant,
                                              std::vector<std::string>* left_apps);

}  // namespace shardmanager::security
