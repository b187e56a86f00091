// What the callers of commands are owed: one final result for each grant of the command.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "server/grant.h"
#include "server/shards/shard_events.h"

namespace shardmanager::server {

// Results are collected, and taken together after each event. Results for reply 0, for which nobody
// waits, are dropped.
class Answers {
 public:
  // A command came with `grants` grants. The next Take() has a reply for it, even an empty one.
  void Expect(ReplyId reply, size_t grants);
  // An intermediate result.
  void Tell(ReplyId reply, ShardResult result);
  // The final result of one grant.
  void Finish(ReplyId reply, ShardResult result);
  // The replies with what was collected since the last call.
  std::vector<Reply> Take();

 private:
  std::map<ReplyId, size_t> owed_;                    // final results
  std::map<ReplyId, std::vector<ShardResult>> said_;  // since Take()
};

}  // namespace shardmanager::server
