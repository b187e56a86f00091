// A set of candidates that breaks no limit of the shards, and who could join it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "taskcontroller/selection/holders.h"
#include "taskcontroller/selection/problem.h"

namespace shardmanager::taskcontroller {

// A change costs a look at each shard of the candidate, and at the holders of those that it fills
// or empties; questions cost nothing. A copy shares the problem, and changes by itself.
class ChosenSet {
 public:
  // Both must outlive it.
  ChosenSet(const Problem& problem, const Holders& holders);

  // REQUIRES: CanJoin(id).
  void Choose(CandidateIndex id);
  // REQUIRES: chosen(id).
  void Remove(CandidateIndex id);
  // It is neither chosen nor offered from now on. REQUIRES: not chosen(id).
  void Exclude(CandidateIndex id);
  void Include(CandidateIndex id);  // takes Exclude() back
  // Takes one from the room of each of its shards that has any, for a candidate that cannot join
  // now. For good.
  void Reserve(CandidateIndex id);

  bool chosen(CandidateIndex id) const { return chosen_[id.index()]; }
  bool excluded(CandidateIndex id) const { return excluded_[id.index()]; }
  // Not chosen, not excluded, and each of its shards has room.
  bool CanJoin(CandidateIndex id) const { return position_[id.index()] != kNowhere; }
  uint32_t size() const { return size_; }
  // All that can join, each by itself; in no particular, but a defined order.
  absl::Span<const CandidateIndex> free() const { return free_; }
  uint32_t room_left(ShardIndex shard) const { return room_[shard.index()]; }
  // The candidates that take a replica of the shard away, ascending.
  absl::Span<const CandidateIndex> holders(ShardIndex shard) const { return holders_->of(shard); }
  const Problem& problem() const { return *problem_; }
  std::vector<CandidateIndex> List() const;  // of the chosen ones, ascending

  // Replicas that were looked at so far: what all of this has cost.
  uint64_t steps() const { return steps_; }

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;

  template <typename Visit>
  void ForEachShard(CandidateIndex id, const Visit& visit);
  void TakeRoom(ShardIndex shard);
  void GiveRoom(ShardIndex shard);
  void UpdateFree(CandidateIndex id);

  const Problem* problem_;
  const Holders* holders_;
  std::vector<uint32_t> room_;         // left, by shard
  std::vector<uint32_t> shards_full_;  // by candidate: its shards that have no room
  std::vector<bool> chosen_;
  std::vector<bool> excluded_;
  std::vector<CandidateIndex> free_;
  std::vector<uint32_t> position_;  // by candidate: in free_
  uint32_t size_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace shardmanager::taskcontroller
