// By shard: the candidates that take one of its replicas away.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

class Holders {
 public:
  explicit Holders(const Problem& problem)
      : ends_(problem.shard_count() + 1, 0), holders_(problem.entries()) {
    // Counting sort: while the holders of a shard are being filled in, its end moves with them.
    for (const CandidateIndex id : problem.candidates()) {
      for (const ShardIndex shard : problem.shards(id)) ++ends_[shard.index() + 1];
    }
    for (size_t s = 1; s < ends_.size(); ++s) ends_[s] += ends_[s - 1];
    for (const CandidateIndex id : problem.candidates()) {
      for (const ShardIndex shard : problem.shards(id)) holders_[ends_[shard.index()]++] = id;
    }
  }

  // Ascending.
  absl::Span<const CandidateIndex> of(ShardIndex shard) const {
    const uint32_t begin = shard.index() == 0 ? 0 : ends_[shard.index() - 1];
    return {holders_.data() + begin, ends_[shard.index()] - begin};
  }

  // Hints: of() is asked of this shard soon, and sooner.
  void Expect(ShardIndex shard) const { __builtin_prefetch(&ends_[shard.index()]); }
  void ExpectSoon(ShardIndex shard) const { __builtin_prefetch(of(shard).data()); }

 private:
  std::vector<uint32_t> ends_;  // by shard: where its holders end
  std::vector<CandidateIndex> holders_;
};

}  // namespace shardmanager::taskcontroller
