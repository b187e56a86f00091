// Roles and grants as people read them. Pure.
#pragma once

#include <string>

#include "cli/render.h"
#include "shardmanager/v1/access.pb.h"

namespace shardmanager::cli {

// Example: "app-owner of kv, search".
std::string RoleText(const v1::RoleGrant& grant);
// IDENTITY ROLE APPS BY SINCE
std::string GrantsTable(const v1::GetPolicyResponse& response, Style style);
// Who it is, and a line for each role.
std::string WhoText(const v1::WhoAmIResponse& who, bool colour);

}  // namespace shardmanager::cli
