#include "server/shards/shard_state.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/defect.h"

namespace shardmanager::server {

bool IsVoid(const BookState& book, const ShardEntry& entry, const Grant& grant) {
  return entry.life == book.incarnation && entry.highest < grant.epoch &&
         grant.epoch <= entry.called_off && grant.role == Role::kSecondary;
}

bool IsOfThisLife(const BookState& book, const ShardEntry& entry) {
  return entry.opened == book.incarnation;
}

std::vector<ShardId> HeldBut(const BookState& book, const std::vector<Grant>& grants) {
  std::set<ShardId> granted;
  for (const Grant& grant : grants) granted.insert(grant.shard);
  std::vector<ShardId> held;
  for (const auto& [shard, entry] : book.shards) {
    if (IsBusy(entry.state) && !granted.contains(shard)) held.push_back(shard);
  }
  return held;
}

bool IsBehindOthers(const BookState& book, const WantedGrant& wanted) {
  if (Planted(Defect::kBeginsBesideTheOldShard)) return false;
  return std::any_of(wanted.after.begin(), wanted.after.end(), [&](const ShardId& shard) {
    const auto found = book.shards.find(shard);
    return found != book.shards.end() && IsBusy(found->second.state);
  });
}

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
