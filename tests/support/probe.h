// Is every shard served, as a client sees it?
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tests/support/kv_client.h"

namespace shardmanager::testing {

struct ProbeResult {
  // From the call until the last shard answered.
  std::chrono::milliseconds took{0};
  // Index and last error of each shard that did not answer in time.
  std::string unserved;

  bool ok() const { return unserved.empty(); }
};

// Gets a key of each shard (KeyOf) at once, again and again until it answers or
// `bound` is over.
ProbeResult ProbeShards(KvClient& client, int shards, std::chrono::milliseconds bound,
                        const std::set<int>& except = {});

}  // namespace shardmanager::testing
