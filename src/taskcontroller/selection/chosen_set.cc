#include "taskcontroller/selection/chosen_set.h"

#include "base/check.h"

namespace shardmanager::taskcontroller {

ChosenSet::ChosenSet(const Problem& problem, const Holders& holders)
    : problem_(&problem),
      holders_(&holders),
      shards_full_(problem.size(), 0),
      chosen_(problem.size(), false),
      excluded_(problem.size(), false),
      position_(problem.size(), kNowhere) {
  room_.reserve(problem.shard_count());
  for (const ShardIndex shard : IdRange<ShardIndex>(problem.shard_count())) {
    room_.push_back(problem.room(shard));
    if (problem.room(shard) > 0) continue;
    for (const CandidateIndex holder : holders.of(shard)) ++shards_full_[holder.index()];
  }
  for (const CandidateIndex id : problem.candidates()) UpdateFree(id);
}

void ChosenSet::Choose(CandidateIndex id) {
  SM_CHECK(CanJoin(id), "a chosen candidate breaks no limit");
  chosen_[id.index()] = true;
  ++size_;
  UpdateFree(id);
  ForEachShard(id, [this](ShardIndex shard) { TakeRoom(shard); });
}

void ChosenSet::Remove(CandidateIndex id) {
  SM_CHECK(chosen(id), "only what is chosen can be removed");
  ForEachShard(id, [this](ShardIndex shard) { GiveRoom(shard); });
  chosen_[id.index()] = false;
  --size_;
  UpdateFree(id);
}

void ChosenSet::Exclude(CandidateIndex id) {
  excluded_[id.index()] = true;
  UpdateFree(id);
}

void ChosenSet::Include(CandidateIndex id) {
  excluded_[id.index()] = false;
  UpdateFree(id);
}

void ChosenSet::Reserve(CandidateIndex id) {
  for (const ShardIndex shard : problem_->shards(id)) {
    if (room_[shard.index()] > 0) TakeRoom(shard);
  }
}

// What is known of a shard lies anywhere, and there is more of it than the near caches hold.
template <typename Visit>
void ChosenSet::ForEachShard(CandidateIndex id, const Visit& visit) {
  constexpr size_t kSoon = 6;
  const absl::Span<const ShardIndex> shards = problem_->shards(id);
  for (size_t i = 0; i < shards.size() + 2 * kSoon; ++i) {
    if (i < shards.size()) {
      __builtin_prefetch(&room_[shards[i].index()]);
      holders_->Expect(shards[i]);
    }
    if (i >= kSoon && i - kSoon < shards.size()) holders_->ExpectSoon(shards[i - kSoon]);
    if (i >= 2 * kSoon) visit(shards[i - 2 * kSoon]);
  }
}

void ChosenSet::TakeRoom(ShardIndex shard) {
  ++steps_;
  if (--room_[shard.index()] > 0) return;
  for (const CandidateIndex holder : holders(shard)) {
    ++steps_;
    ++shards_full_[holder.index()];
    UpdateFree(holder);
  }
}

void ChosenSet::GiveRoom(ShardIndex shard) {
  ++steps_;
  if (++room_[shard.index()] > 1) return;
  for (const CandidateIndex holder : holders(shard)) {
    ++steps_;
    --shards_full_[holder.index()];
    UpdateFree(holder);
  }
}

void ChosenSet::UpdateFree(CandidateIndex id) {
  uint32_t& position = position_[id.index()];
  const bool is_free =
      !chosen_[id.index()] && !excluded_[id.index()] && shards_full_[id.index()] == 0;
  if (is_free == (position != kNowhere)) return;
  if (is_free) {
    position = static_cast<uint32_t>(free_.size());
    free_.push_back(id);
    return;
  }
  free_[position] = free_.back();
  position_[free_[position].index()] = position;
  free_.pop_back();
  position = kNowhere;
}

std::vector<CandidateIndex> ChosenSet::List() const {
  std::vector<CandidateIndex> list;
  for (const CandidateIndex id : problem_->candidates()) {
    if (chosen(id)) list.push_back(id);
  }
  return list;
}

}  // namespace shardmanager::taskcontroller
