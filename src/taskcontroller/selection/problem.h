// Which operations may go ahead together? The question in plain numbers.
//
// Each candidate takes one replica of some shards away. Of a shard, only so many replicas may go
// (its room), and only so many candidates in all. Wanted is a maximum set: a set packing with
// capacities, which is NP-hard in general. See select.h for how it is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/dense_id.h"

namespace shardmanager::taskcontroller {

using CandidateIndex = DenseId<struct CandidateTag>;

// Where a candidate stands: numbers that differ wherever the domains differ (racks of two
// datacenters have different numbers, whatever their names).
struct DomainNumbers {
  uint32_t region = 0;
  uint32_t datacenter = 0;
  uint32_t rack = 0;
};

struct Candidate {
  DomainNumbers domain;
  // It is chosen before all that are not urgent, if it can be chosen at all.
  bool urgent = false;
  // Of an urgent one that cannot be chosen now: no candidate after it may take the room that it
  // needs, so that its turn comes. Only for one whose obstacles are sure to go away.
  bool reserves = false;
};

class Problem {
 public:
  // `room`: by shard, how many of its replicas may go. `most`: how many candidates may be chosen.
  Problem(std::vector<uint32_t> room, uint32_t most) : room_(std::move(room)), most_(most) {}

  // Candidates are added in the order of their priority, the urgent ones first.
  // `shards`: those that lose a replica, each once.
  void Add(const Candidate& candidate, absl::Span<const ShardIndex> shards) {
    candidates_.push_back(candidate);
    shards_.insert(shards_.end(), shards.begin(), shards.end());
    ends_.push_back(static_cast<uint32_t>(shards_.size()));
  }

  size_t size() const { return candidates_.size(); }
  size_t shard_count() const { return room_.size(); }
  // Replicas that candidates take away, over all of them.
  size_t entries() const { return shards_.size(); }
  uint32_t most() const { return most_; }
  uint32_t room(ShardIndex shard) const { return room_[shard.index()]; }
  const Candidate& candidate(CandidateIndex id) const { return candidates_[id.index()]; }
  absl::Span<const ShardIndex> shards(CandidateIndex id) const {
    const uint32_t begin = id.index() == 0 ? 0 : ends_[id.index() - 1];
    return {shards_.data() + begin, ends_[id.index()] - begin};
  }
  IdRange<CandidateIndex> candidates() const { return IdRange<CandidateIndex>(size()); }

 private:
  std::vector<uint32_t> room_;
  uint32_t most_;
  std::vector<Candidate> candidates_;
  std::vector<ShardIndex> shards_;  // of all candidates, one after the other
  std::vector<uint32_t> ends_;      // by candidate: where its shards end
};

}  // namespace shardmanager::taskcontroller
