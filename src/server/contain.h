// Exceptions of the application end here: they become errors of what was asked of it.
#pragma once

#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace shardmanager::server {

// What `work` returns, or INTERNAL, logged, if an exception leaves it: "`what` threw an exception:
// ".
absl::Status Contained(std::string_view what, absl::FunctionRef<absl::Status()> work);

}  // namespace shardmanager::server
