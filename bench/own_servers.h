// Servers of a benchmark that are this very program, run as "serve".
#pragma once

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager {

inline std::string OwnProgram() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// "server-1" to "server-<count>", each in a rack of its own.
inline absl::Status StartOwnServers(local::Cluster& cluster, int count) {
  for (int i = 1; i <= count; ++i) {
    const std::string name = absl::StrCat("server-", i);
    absl::Status s =
        cluster.StartServer({.name = name, .rack = name, .program = {OwnProgram(), "serve"}});
    if (!s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace shardmanager
