// Which servers a drain is about. Pure; the one place that knows the rules written on
// Drain in types.proto.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

// INVALID_ARGUMENT, one problem a line, in the words of "<path>: found <x>; allowed: <y>".
absl::Status ValidateScope(const v1::DrainScope& scope);
absl::Status ValidateDrain(const v1::Drain& drain);

// REQUIRES of the rest: the scopes are valid.
bool Covers(const v1::DrainScope& scope, const std::string& server, const FaultDomain& at);
bool SameScope(const v1::DrainScope& a, const v1::DrainScope& b);
// "server kv-3", "region eu-west", "datacenter eu-west/dc-2", "rack eu-west/dc-2/r7".
std::string ToString(const v1::DrainScope& scope);

}  // namespace shardmanager
