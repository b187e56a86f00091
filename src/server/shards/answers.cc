#include "server/shards/answers.h"

#include <utility>

namespace shardmanager::server {

void Answers::Expect(ReplyId reply, size_t grants) {
  owed_[reply] = grants;
  said_[reply];
}

void Answers::Tell(ReplyId reply, ShardResult result) {
  if (reply != 0) said_[reply].push_back(std::move(result));
}

void Answers::Finish(ReplyId reply, ShardResult result) {
  if (reply == 0) return;
  said_[reply].push_back(std::move(result));
  --owed_[reply];
}

std::vector<Reply> Answers::Take() {
  std::vector<Reply> replies;
  for (auto& [reply, results] : std::exchange(said_, {})) {
    const bool last = owed_[reply] == 0;
    if (last) owed_.erase(reply);
    replies.push_back({reply, std::move(results), last});
  }
  return replies;
}

}  // namespace shardmanager::server
