#include "server/shards/member_changes.h"

#include <algorithm>
#include <utility>

namespace shardmanager::server {

// Somebody is new who was not in the last list to which the application said yes under this grant.
MemberChanges::Lane MemberChanges::LaneOf(const Work& work) {
  const Grant& grant = work.waits->grant;
  if (!work.agreed || work.agreed->epoch != grant.epoch) return kBrings;
  const Members& agreed = *work.agreed->members;
  const bool all_known =
      std::all_of(grant.members->begin(), grant.members->end(), [&](const Peer& member) {
        return std::find(agreed.begin(), agreed.end(), member) != agreed.end();
      });
  return all_known ? kRemoves : kBrings;
}

std::optional<MemberChanges::Change> MemberChanges::Want(Change change) {
  Work& work = works_[change.grant.shard];
  std::optional<Change> former = std::exchange(work.waits, std::move(change));
  if (work.at_work) return former;
  if (work.ticket == 0 || LaneOf(work) != work.lane) {
    Unqueue(work);
    Queue(work);
  }
  return former;
}

std::optional<MemberChanges::Change> MemberChanges::CallOff(const ShardId& shard) {
  const auto found = works_.find(shard);
  if (found == works_.end()) return std::nullopt;
  Unqueue(found->second);
  return std::exchange(found->second.waits, std::nullopt);
}

std::optional<MemberChanges::Begun> MemberChanges::BeginNext() {
  for (LaneState& lane : lanes_) {
    if (lane.waiting.empty() || lane.at_work == at_once_) continue;
    Work& work = works_[lane.waiting.begin()->second];
    Unqueue(work);
    work.at_work = std::exchange(work.waits, std::nullopt);
    ++lane.at_work;
    return Begun{work.at_work->grant, work.lane == kBrings};
  }
  return std::nullopt;
}

std::optional<MemberChanges::Change> MemberChanges::End(const ShardId& shard, bool well) {
  const auto found = works_.find(shard);
  if (found == works_.end() || !found->second.at_work) return std::nullopt;
  Work& work = found->second;
  --lanes_[work.lane].at_work;
  Change ended = *std::exchange(work.at_work, std::nullopt);
  if (well) work.agreed = ended.grant;
  if (work.waits) Queue(work);
  return ended;
}

bool MemberChanges::AtWork(const ShardId& shard) const {
  const auto found = works_.find(shard);
  return found != works_.end() && found->second.at_work;
}

// REQUIRES: none of its changes is at work, and one waits.
void MemberChanges::Queue(Work& work) {
  work.lane = LaneOf(work);
  work.ticket = ++last_ticket_;
  lanes_[work.lane].waiting.emplace(work.ticket, work.waits->grant.shard);
}

void MemberChanges::Unqueue(Work& work) {
  if (work.ticket != 0) lanes_[work.lane].waiting.erase(std::exchange(work.ticket, 0));
}

}  // namespace shardmanager::server
