#include "taskcontroller/selection/improve.h"

namespace shardmanager::taskcontroller {

LocalSearch::LocalSearch(ChosenSet& set, const std::vector<CandidateIndex>& locked,
                         const Limits& limits)
    : set_(set),
      limits_(limits),
      steps_before_(set.steps()),
      random_(limits.seed),
      locked_(set.problem().size(), false) {
  for (const CandidateIndex id : locked) locked_[id.index()] = true;
  for (const CandidateIndex id : set.problem().candidates()) {
    if (!locked_[id.index()] && !set.excluded(id)) outside_.push_back(id);
  }
}

void LocalSearch::Run() {
  while (set_.size() < limits_.enough && !OutOfSteps() && !outside_.empty()) {
    const CandidateIndex id = Draw();
    if (set_.chosen(id)) continue;
    const uint32_t before = set_.size();
    added_.clear();
    removed_.clear();
    if (ForceIn(id)) FillUp();
    if (set_.size() < before) RollBack();
  }
}

CandidateIndex LocalSearch::Draw() {
  ++looks_;
  return outside_[random_.Below(outside_.size())];
}

// False: the room that it needs is not to be had.
bool LocalSearch::ForceIn(CandidateIndex id) {
  for (const ShardIndex shard : set_.problem().shards(id)) {
    ++looks_;
    if (set_.room_left(shard) == 0 && !MakeRoom(shard)) return false;
  }
  set_.Choose(id);
  added_.push_back(id);
  return true;
}

bool LocalSearch::MakeRoom(ShardIndex shard) {
  const auto holders = set_.holders(shard);
  const size_t first = random_.Below(holders.size());
  for (size_t i = 0; i < holders.size(); ++i) {
    const CandidateIndex id = holders[(first + i) % holders.size()];
    if (!set_.chosen(id) || locked_[id.index()]) continue;
    set_.Remove(id);
    removed_.push_back(id);
    return true;
  }
  return false;
}

void LocalSearch::FillUp() {
  while (!set_.free().empty() && set_.size() < limits_.enough) {
    const CandidateIndex id = set_.free()[random_.Below(set_.free().size())];
    set_.Choose(id);
    added_.push_back(id);
  }
}

void LocalSearch::RollBack() {
  for (const CandidateIndex id : added_) set_.Remove(id);
  for (const CandidateIndex id : removed_) set_.Choose(id);
}

}  // namespace shardmanager::taskcontroller
