#include "server/shards/member_changes.h"

#include <algorithm>
#include <utility>

namespace shardmanager::server {

// kAdds: the list has a member that was not in the last list that the application accepted under
// this grant.
MemberChanges::Kind MemberChanges::KindOf(const Work& work) {
  const Grant& grant = work.waits->grant;
  if (!work.agreed || work.agreed->epoch != grant.epoch) return kAdds;
  const Members& agreed = *work.agreed->members;
  const bool all_known =
      std::all_of(grant.members->begin(), grant.members->end(), [&](const Peer& member) {
        return std::find(agreed.begin(), agreed.end(), member) != agreed.end();
      });
  return all_known ? kRemovesOnly : kAdds;
}

std::optional<MemberChanges::Change> MemberChanges::Want(Change change) {
  Work& work = works_[change.grant.shard];
  std::optional<Change> former = std::exchange(work.waits, std::move(change));
  if (work.at_work) return former;
  if (work.ticket == 0 || KindOf(work) != work.kind) {
    Dequeue(work);
    Enqueue(work);
  }
  return former;
}

std::optional<MemberChanges::Change> MemberChanges::CallOff(const ShardId& shard) {
  const auto found = works_.find(shard);
  if (found == works_.end()) return std::nullopt;
  Dequeue(found->second);
  return std::exchange(found->second.waits, std::nullopt);
}

std::optional<MemberChanges::Begun> MemberChanges::BeginNext() {
  for (Queue& queue : queues_) {
    if (queue.waiting.empty() || queue.at_work == at_once_) continue;
    Work& work = works_[queue.waiting.begin()->second];
    Dequeue(work);
    work.at_work = std::exchange(work.waits, std::nullopt);
    ++queue.at_work;
    return Begun{work.at_work->grant, work.kind == kAdds};
  }
  return std::nullopt;
}

std::optional<MemberChanges::Change> MemberChanges::End(const ShardId& shard, bool well) {
  const auto found = works_.find(shard);
  if (found == works_.end() || !found->second.at_work) return std::nullopt;
  Work& work = found->second;
  --queues_[work.kind].at_work;
  Change ended = *std::exchange(work.at_work, std::nullopt);
  if (well) work.agreed = ended.grant;
  if (work.waits) Enqueue(work);
  return ended;
}

bool MemberChanges::AtWork(const ShardId& shard) const {
  const auto found = works_.find(shard);
  return found != works_.end() && found->second.at_work;
}

// REQUIRES: none of its changes is at work, and one waits.
void MemberChanges::Enqueue(Work& work) {
  work.kind = KindOf(work);
  work.ticket = ++last_ticket_;
  queues_[work.kind].waiting.emplace(work.ticket, work.waits->grant.shard);
}

void MemberChanges::Dequeue(Work& work) {
  if (work.ticket != 0) queues_[work.kind].waiting.erase(std::exchange(work.ticket, 0));
}

}  // namespace shardmanager::server
