// `kv load` beside a test: clients that notice if they are not served.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/local_cluster/cluster.h"

namespace shardmanager::testing {

// Not thread-safe.
class KvLoad {
 public:
  // 200 calls a second until End(). `discovery`: as kv --discovery has it.
  KvLoad(const local::Cluster& cluster, local::ClusterSecurity& security,
         const std::string& discovery)
      : program_("kv-load", Flags(cluster, security, discovery), cluster.folder()) {}

  absl::Status Start() { return program_.Start(); }
  // 0: every call succeeded, and nothing was lost.
  int End() { return program_.Stop(); }
  // Its summary, and a line for each second before it.
  std::string Said() const { return program_.Log(); }

 private:
  static std::vector<std::string> Flags(const local::Cluster& cluster,
                                        local::ClusterSecurity& security,
                                        const std::string& discovery) {
    std::vector<std::string> flags = {cluster.Bin("kv"), "load", "--discovery", discovery,
                                      "--seconds",       "600",  "--rate",      "200",
                                      "--clients",       "16",   "--keys",      "120"};
    for (std::string& flag : security.FlagsOf("client/kv/kv-load"))
      flags.push_back(std::move(flag));
    return flags;
  }

  local::Program program_;
};

}  // namespace shardmanager::testing
