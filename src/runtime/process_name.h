// What this process is called by others: in records, logs and statistics.
#pragma once

#include <string>

namespace shardmanager {

// Of this machine; "localhost" if it has none. Example: "sm-1".
std::string HostName();
// Example: "sm-1/4711".
std::string HostAndPid();

}  // namespace shardmanager
