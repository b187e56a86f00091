#include "server/shards/shard_state.h"

#include <utility>

namespace shardmanager::server {

bool ChangesRole(const ShardEntry& entry) {
  return entry.next && !entry.drop_first && entry.next->old_owner.empty() &&
         entry.old_owner.empty() && entry.next->grant.role != entry.grant.role;
}

bool ForwardsAfterDrop(const BookState& book, const ShardEntry& entry) {
  const bool goes = entry.dropped && !entry.next && !entry.successor && !book.stopping;
  return goes && entry.primary && entry.grant.role == Role::kSecondary;
}

ShardResult CalledOffResult(const ShardEntry& entry, ShardEpoch asked) {
  return {entry.grant.shard,
          asked,
          ResultState::kCalledOff,
          0,
          "requests in flight did not finish in time; the shard stays",
          entry.grant.epoch};
}

bool WaitsFor(CommandKind kind, Outcome outcome) {
  switch (outcome) {
    case Outcome::kPrepared:
      return kind == CommandKind::kPrepareAdd;
    case Outcome::kServed:
      return kind == CommandKind::kPrepareAdd || kind == CommandKind::kAdd ||
             kind == CommandKind::kChangeRole;
    case Outcome::kLetGo:
      return kind == CommandKind::kDrop;
  }
  return false;
}

void AnswerWaiters(BookState& book, ShardEntry& entry, Outcome outcome, ResultState result,
                   const std::string& error) {
  std::vector<Waiter> others;
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    if (!WaitsFor(waiter.kind, outcome)) {
      others.push_back(waiter);
      continue;
    }
    const bool called_off = result == ResultState::kCalledOff;
    book.answers.Finish(
        waiter.reply, called_off ? CalledOffResult(entry, waiter.epoch)
                                 : ShardResult{entry.grant.shard, waiter.epoch, result, 0, error});
  }
  entry.waiters = std::move(others);
}

void AnswerMemberChange(BookState& book, const MemberChanges::Change& change, ResultState result,
                        const std::string& error) {
  book.answers.Finish(change.reply, {change.grant.shard, change.grant.epoch, result, 0, error});
}

}  // namespace shardmanager::server
