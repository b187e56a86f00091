// What a client has to say of the servers of an app: discovery.proto, ReportServers.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/time.h"
#include "router/shard_map.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

// Pure. Not thread-safe.
class ServerReporter {
 public:
  // What was used so long ago says nothing of now.
  static constexpr Duration kRecent = Seconds(10);
  // Slow: by so much more than the median of its region, and at least this much.
  static constexpr int kSlowTimes = 10;
  static constexpr Duration kSlowLeast = Milliseconds(50);

  // Of the servers used recently: those that the client is in trouble with, and of the suspects
  // those that it is well with. A client in trouble with more than one, and more than a quarter of
  // them, says nothing of its trouble: it is more likely to be its own network.
  v1::ReportServersRequest Next(const ShardMap& map, TimePoint now) const;
  // Servers that some client is in trouble with, instead of those before.
  void SetSuspects(const std::vector<std::string>& suspects) {
    suspects_ = {suspects.begin(), suspects.end()};
  }

 private:
  absl::flat_hash_set<std::string> suspects_;
};

}  // namespace shardmanager::router
