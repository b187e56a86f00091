// ZooKeeper's return codes as the port's statuses (coordination/store.h).
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace shardmanager {

// `what` starts the message, for example "set /cell/leader/epoch".
absl::Status ZookeeperStatus(int rc, std::string_view what);

}  // namespace shardmanager
