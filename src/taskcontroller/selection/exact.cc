#include "taskcontroller/selection/exact.h"

#include <algorithm>

namespace shardmanager::taskcontroller {

ExactSearch::ExactSearch(ChosenSet& set, const std::vector<CandidateIndex>& order,
                         const Limits& limits)
    : set_(set),
      order_(order),
      limits_(limits),
      steps_before_(set.steps()),
      best_size_(limits.known),
      places_(set.problem().shard_count(), 0) {}

bool ExactSearch::Run() { return Search(0); }

// Candidates before `from` are decided. False: out of steps.
bool ExactSearch::Search(size_t from) {
  if (set_.size() > best_size_) Note();
  if (best_size_ >= limits_.most) return true;
  if (OutOfSteps()) return false;
  while (from < order_.size() && !set_.CanJoin(order_[from])) ++from;
  if (from == order_.size() || !MayBeLarger()) return true;

  const CandidateIndex id = order_[from];
  set_.Choose(id);
  bool done = Search(from + 1);
  set_.Remove(id);
  if (!done || InNobodysWay(id)) return done;  // then some largest set has it
  set_.Exclude(id);
  done = Search(from + 1);
  set_.Include(id);
  return done;
}

// Its shards have room for all who could join.
bool ExactSearch::InNobodysWay(CandidateIndex id) const {
  const auto shards = set_.problem().shards(id);
  return std::all_of(shards.begin(), shards.end(), [&](ShardIndex shard) {
    const auto holders = set_.holders(shard);
    return set_.room_left(shard) >=
           std::count_if(holders.begin(), holders.end(),
                         [&](CandidateIndex holder) { return set_.CanJoin(holder); });
  });
}

// Every free candidate is counted at one of its shards; of each shard no more can be chosen than it
// has room.
bool ExactSearch::MayBeLarger() {
  uint32_t most = set_.size();
  std::vector<ShardIndex> used;
  for (const CandidateIndex id : set_.free()) {
    const auto shards = set_.problem().shards(id);
    cover_steps_ += shards.size();
    const auto covered = std::find_if(shards.begin(), shards.end(), [&](ShardIndex shard) {
      return places_[shard.index()] >= set_.room_left(shard);
    });
    if (covered != shards.end()) continue;
    ++most;
    // Counted at the shard where most others want to be counted, too.
    const auto crowded =
        std::max_element(shards.begin(), shards.end(), [&](ShardIndex a, ShardIndex b) {
          return set_.holders(a).size() * set_.room_left(b) <
                 set_.holders(b).size() * set_.room_left(a);
        });
    if (crowded == shards.end()) continue;
    ++places_[crowded->index()];
    used.push_back(*crowded);
  }
  for (const ShardIndex shard : used) places_[shard.index()] = 0;
  return most > best_size_;
}

void ExactSearch::Note() {
  best_size_ = set_.size();
  best_ = set_.List();
}

}  // namespace shardmanager::taskcontroller
