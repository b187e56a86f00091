// What a client says of the servers of an app: discovery.proto, ReportServers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "router/shard_map.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Not thread-safe.
class ServerReporter {
 public:
  // Since the last report: those that it used and is in trouble with, and of the suspects those
  // that it used and is well with. Nothing: it used none, and has said so. A client that is in
  // trouble with more than one, and more than a quarter of those that it used, says nothing of
  // them: it is more likely to be its own network.
  std::optional<v1::ReportServersRequest> Next(const ShardMap& map);
  // Servers that somebody is in trouble with, instead of those before.
  void SetSuspects(const std::vector<std::string>& suspects) {
    suspects_ = {suspects.begin(), suspects.end()};
  }

 private:
  absl::flat_hash_set<std::string> suspects_;
  bool said_something_ = false;
};

}  // namespace shardmanager::router
