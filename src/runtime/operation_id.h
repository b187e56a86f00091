// Ids of what somebody asked for, which follow it through logs and the history:
// ControlEvent.operation.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace shardmanager {

// A new one that nobody else has, almost surely. Example: "op-4f8a01c2". Thread-safe.
std::string MakeOperationId();

// INVALID_ARGUMENT, as "found <x>; allowed: <y>": it is not 1 to 64 letters, digits, and - _ . : /
absl::Status CheckOperationId(std::string_view id);

}  // namespace shardmanager
