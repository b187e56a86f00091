// Which servers shards have left within the last hour, as their loads asked for it. Balance does
// not move them back there (decision 0033, decide/load/returns.h).
#pragma once

#include <cstddef>
#include <deque>

#include "absl/container/flat_hash_map.h"
#include "base/time.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// Of moves that this leader began; the next one begins without any.
class LeftServers {
 public:
  static constexpr Duration kRemembered = Seconds(3'600);
  // Where more have moved within the hour, the first ones are forgotten sooner.
  static constexpr size_t kMost = 100'000;

  // A replica of the shard was moved away from the server, and is gone there.
  void Left(ShardIndex shard, ServerIndex server, TimePoint now) {
    if (order_.size() == kMost) ForgetFirst();
    order_.push_back({shard, now});
    of_shard_[shard].push_back(server);
  }
  // Forgets what is an hour old. True: there was some of it.
  bool Forget(TimePoint now) {
    bool any = false;
    for (; !order_.empty() && now >= order_.front().at + kRemembered; any = true) ForgetFirst();
    return any;
  }
  // The first one that was left comes first; one may come twice.
  Servers Of(ShardIndex shard) const {
    const auto found = of_shard_.find(shard);
    return found == of_shard_.end() ? Servers() : found->second;
  }

 private:
  struct Move {
    ShardIndex shard;
    TimePoint at;
  };
  void ForgetFirst() {
    const auto found = of_shard_.find(order_.front().shard);
    order_.pop_front();
    found->second.erase(found->second.begin());
    if (found->second.empty()) of_shard_.erase(found);
  }

  std::deque<Move> order_;
  absl::flat_hash_map<ShardIndex, Servers> of_shard_;  // in the same order
};

}  // namespace shardmanager::orchestrator
