// What the callers of commands are owed: one final result for each grant of the command.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "server/grant.h"
#include "server/shards/shard_events.h"

namespace shardmanager::server {

// Results are collected, and taken together after each event. Those for reply 0, for which nobody
// waits, go nowhere.
class Answers {
 public:
  // A command came with so many grants. Its caller hears of it even if there is nothing to say yet.
  void Expect(ReplyId reply, size_t grants);
  // How it goes; more follows.
  void Tell(ReplyId reply, ShardResult result);
  // The last word on one grant.
  void Finish(ReplyId reply, ShardResult result);
  // What was said since the last call.
  std::vector<Reply> Take();

 private:
  std::map<ReplyId, size_t> owed_;                    // final results
  std::map<ReplyId, std::vector<ShardResult>> said_;  // since Take()
};

}  // namespace shardmanager::server
