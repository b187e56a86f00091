#include "server/shards/shard_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace shardmanager::server {
namespace {

// A load that failed while nobody waited for it (the control plane may be down) is
// tried again after this, doubled each time.
constexpr Duration kFirstRetry = Seconds(1);
constexpr uint32_t kMostDoublings = 5;

}  // namespace

// ---- what begins ----

void ShardSteps::Begin(ShardEntry& entry, const WantedGrant& given) {
  const WantedGrant wanted = given;  // may be the entry's own
  entry.grant = wanted.grant;
  entry.old_owner = wanted.old_owner;
  entry.primary = wanted.primary;
  entry.next.reset();
  if (IsBehindOthers(book_, wanted)) {
    Enter(entry, ShardState::kAbsent);
    entry.next = wanted;
    book_.behind.insert(entry.grant.shard);
    return;
  }
  if (wanted.old_owner.empty()) return Load(entry);
  Enter(entry, ShardState::kPreparing);
  book_.out.actions.emplace_back(HandlerCall{CommandKind::kPrepareAdd, entry.grant});
}

void ShardSteps::BeginThoseBehind() {
  std::erase_if(book_.behind, [this](const ShardId& shard) {
    ShardEntry& entry = book_.shards[shard];
    if (entry.state != ShardState::kAbsent || !entry.next) return true;
    if (IsBehindOthers(book_, *entry.next)) return false;
    Begin(entry, *entry.next);
    return true;
  });
}

// REQUIRES: the application holds the shard under entry.grant, and nothing is in flight. A
// grant of the other role changes its role; one of the same role is added again.
void ShardSteps::Regrant(ShardEntry& entry, const WantedGrant& given) {
  if (given.grant.role == entry.grant.role) return Begin(entry, given);
  const WantedGrant wanted = given;  // may be the entry's own
  entry.former = WantedGrant{entry.grant, "", entry.primary};
  entry.grant = wanted.grant;
  entry.primary = wanted.primary;
  entry.next.reset();
  Enter(entry, ShardState::kChangingRole);
  book_.out.actions.emplace_back(HandlerCall{CommandKind::kChangeRole, entry.grant});
}

void ShardSteps::Load(ShardEntry& entry) {
  const bool prepared =
      entry.state == ShardState::kPreparing || entry.state == ShardState::kPrepared;
  Enter(entry, ShardState::kLoading);
  if (entry.old_owner.empty()) book_.out.actions.emplace_back(ShowLoading{entry.grant.shard});
  book_.out.actions.emplace_back(HandlerCall{CommandKind::kAdd, entry.grant, prepared});
}

// A role change that began in a former life may end in this one: that does not make its grant one
// of this life, so the shard is opened as one of the life that was granted it.
void ShardSteps::Open(ShardEntry& entry) {
  entry.opened = entry.life;
  if (entry.old_owner.empty()) {
    book_.out.actions.emplace_back(OpenShard{entry.grant, entry.primary});
  } else {
    book_.out.actions.emplace_back(OpenForwarded{entry.grant, entry.old_owner});
  }
}

void ShardSteps::Drain(ShardEntry& entry) {
  Enter(entry, ShardState::kDraining);
  entry.paused = ChangesRole(entry) || ForwardsAfterDrop(book_, entry);
  // Requests that are held for another server must still have time to reach it, so this drain is
  // shorter. While a secondary is promoted, no other server could serve them: it gets the long
  // time.
  const bool promoted = ChangesRole(entry) && entry.grant.role == Role::kSecondary;
  const bool for_another = entry.successor || (entry.paused && !promoted);
  const Duration patience =
      for_another ? book_.options.handover_drain_timeout : book_.options.drain_timeout;
  drains_.Set(entry.grant.shard, book_.now + patience, entry.drain_until);
  if (ChangesRole(entry)) {
    book_.out.actions.emplace_back(PauseShard{entry.grant.shard});
  } else if (entry.successor || entry.paused) {
    book_.out.actions.emplace_back(HoldShard{entry.grant.shard});
  } else {
    book_.out.actions.emplace_back(CloseShard{entry.grant.shard});
  }
}

// Until PrepareDropShard has returned, the shard is served on.
void ShardSteps::Leave(ShardEntry& entry) {
  Enter(entry, ShardState::kLeaving);
  PrepareDrop(entry);
}

// Calls for one shard never overlap.
void ShardSteps::PrepareDrop(ShardEntry& entry) {
  if (book_.member_changes.AtWork(entry.grant.shard)) return;
  book_.out.actions.emplace_back(HandlerCall{CommandKind::kPrepareDrop, entry.grant});
}

void ShardSteps::BeginDrop(ShardEntry& entry) {
  const bool closed = entry.state == ShardState::kDraining;  // or held; else it shows as loading
  entry.drop_first = false;
  Enter(entry, ShardState::kDropping);
  if (!closed && !entry.successor) {
    entry.paused = false;
    book_.out.actions.emplace_back(CloseShard{entry.grant.shard});
  }
  book_.out.actions.emplace_back(HandlerCall{CommandKind::kDrop, entry.grant});
}

void ShardSteps::Forward(ShardEntry& entry) {
  Enter(entry, ShardState::kForwarding);
  book_.out.actions.emplace_back(ForwardShard{entry.grant.shard, *entry.successor});
}

void ShardSteps::Linger(ShardEntry& entry) {
  lingers_.Set(entry.grant.shard, book_.now + book_.options.forward_linger, entry.forward_until);
}

void ShardSteps::EndForwarding(ShardEntry& entry) {
  lingers_.Clear(entry.grant.shard, entry.forward_until);
  entry.successor.reset();
  Enter(entry, ShardState::kAbsent);
  book_.out.actions.emplace_back(CloseShard{entry.grant.shard});
}

void ShardSteps::EndHandover(ShardEntry& entry) {
  entry.successor.reset();
  book_.out.actions.emplace_back(CloseShard{entry.grant.shard});
}

// Unless somebody waits, who then decides. REQUIRES: it is absent.
void ShardSteps::RetryLater(ShardEntry& entry) {
  if (!entry.waiters.empty()) return;
  const uint32_t doublings = std::min(entry.failures++, kMostDoublings);
  retries_.Set(entry.grant.shard, book_.now + kFirstRetry * (1 << doublings), entry.retry_at);
}

// Before a shard is drained, a change of its members that has not begun is called off: the drain
// would wait for it. A retry is of the grant that failed: whatever begins takes its place.
void ShardSteps::Enter(ShardEntry& entry, ShardState state) {
  if (state != ShardState::kAbsent) retries_.Clear(entry.grant.shard, entry.retry_at);
  if (entry.state == ShardState::kServing && state != ShardState::kServing) {
    if (const auto change = book_.member_changes.CallOff(entry.grant.shard)) {
      AnswerMemberChange(book_, *change, ResultState::kStale, "the shard is closing");
    }
  }
  book_.busy -= IsBusy(entry.state);
  entry.state = state;
  book_.busy += IsBusy(entry.state);
}

// ---- what the application's methods answer ----

void ShardSteps::On(const HandlerDone& done) {
  ShardEntry& entry = book_.shards[done.shard];
  const bool of_this_grant = entry.grant.epoch == done.epoch;
  const auto in = [&](ShardState state) { return entry.state == state; };
  switch (done.method) {
    case CommandKind::kPrepareAdd:
      if (in(ShardState::kPreparing) && of_this_grant) Prepared(entry, done.status);
      return;
    case CommandKind::kAdd:
      if (in(ShardState::kLoading) && of_this_grant) Loaded(entry, done.status);
      return;
    case CommandKind::kChangeRole:
      if (in(ShardState::kChangingRole) && of_this_grant) RoleChanged(entry, done.status);
      return;
    case CommandKind::kPrepareDrop:
      if (in(ShardState::kLeaving)) DropPrepared(entry, done.status);
      return;
    case CommandKind::kDrop:
      if (in(ShardState::kDropping)) Dropped(entry, done.status);
      return;
    case CommandKind::kSetMembers:  // the book's own
      return;
  }
}

void ShardSteps::Prepared(ShardEntry& entry, const absl::Status& status) {
  if (!status.ok()) return GrantFailed(entry, status);
  if (entry.drop_first) return BeginDrop(entry);
  if (entry.next && entry.next->grant.epoch == entry.grant.epoch) {  // asked to serve meanwhile
    entry.grant = entry.next->grant;                                 // with its members
    entry.next.reset();
    entry.old_owner.clear();
    return Load(entry);
  }
  if (entry.next) return BeginDrop(entry);
  Enter(entry, ShardState::kPrepared);
  book_.out.actions.emplace_back(AwaitForwarded{entry.grant, entry.old_owner});
  AnswerWaiters(book_, entry, Outcome::kPrepared, ResultState::kDone, "");
}

void ShardSteps::Loaded(ShardEntry& entry, const absl::Status& status) {
  if (!status.ok()) return GrantFailed(entry, status);
  if (entry.drop_first) return BeginDrop(entry);
  if (entry.next && entry.next->old_owner.empty()) return Regrant(entry, *entry.next);
  if (entry.next) return BeginDrop(entry);
  entry.failures = 0;
  Enter(entry, ShardState::kServing);
  Open(entry);
  AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kDone, "");
}

// After an error the shard goes on in its old role, unless that was overtaken: another life,
// a newer grant, or a drop.
void ShardSteps::RoleChanged(ShardEntry& entry, const absl::Status& status) {
  const bool failed = !status.ok();
  const bool goes = entry.drop_first || (entry.next && !entry.next->old_owner.empty());
  if (failed && !goes && !entry.next && entry.opened != book_.incarnation) {
    AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kFailed, status.ToString());
    return BeginDrop(entry);
  }
  if (failed) {
    entry.grant = entry.former.grant;
    entry.primary = entry.former.primary;
    AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kFailed, status.ToString());
  }
  if (goes) return BeginDrop(entry);
  if (entry.next) return Regrant(entry, *entry.next);
  Enter(entry, ShardState::kServing);
  Open(entry);
  AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kDone, "");
}

// The application holds nothing now.
void ShardSteps::GrantFailed(ShardEntry& entry, const absl::Status& status) {
  const ShardId shard = entry.grant.shard;
  const bool loaded = entry.state == ShardState::kLoading;
  Enter(entry, ShardState::kAbsent);
  entry.drop_first = false;
  book_.out.actions.emplace_back(CloseShard{shard});
  AnswerWaiters(book_, entry, Outcome::kLetGo, ResultState::kDone, "");
  if (entry.successor) return Forward(entry);
  if (entry.next) return Begin(entry, *entry.next);
  if (entry.dropped) return;
  if (loaded) RetryLater(entry);
  // Its storage has seen a newer grant: this one is of no use here or anywhere.
  const auto state = absl::IsAborted(status) ? ResultState::kStale : ResultState::kFailed;
  AnswerWaiters(book_, entry, Outcome::kServed, state, status.ToString());
}

// Drains also after an error. What follows the drain is decided when the drain ends.
void ShardSteps::DropPrepared(ShardEntry& entry, const absl::Status& status) {
  if (!status.ok()) {
    book_.out.actions.emplace_back(Warn{absl::StrCat(
        "PrepareDropShard of ", entry.grant.shard.value(), " failed: ", status.ToString())});
  }
  Drain(entry);
}

void ShardSteps::Dropped(ShardEntry& entry, const absl::Status& status) {
  if (!status.ok()) {
    book_.out.actions.emplace_back(
        Warn{absl::StrCat("DropShard of ", entry.grant.shard.value(),
                          " failed; it counts as dropped: ", status.ToString())});
  }
  Enter(entry, ShardState::kAbsent);
  AnswerWaiters(book_, entry, Outcome::kLetGo, ResultState::kDone, "");
  if (entry.next) return Begin(entry, *entry.next);
  if (ForwardsAfterDrop(book_, entry)) {
    entry.successor = std::exchange(entry.primary, std::nullopt);
    Linger(entry);
  } else if (entry.paused && !entry.successor) {
    book_.out.actions.emplace_back(CloseShard{entry.grant.shard});  // nobody to send it on to
  }
  entry.paused = false;
  if (entry.successor) return Forward(entry);
  if (!entry.dropped) RetryLater(entry);  // its change of role failed, and it is still granted
}

// ---- requests, and time ----

void ShardSteps::On(const Progress& event) {
  ShardEntry& entry = book_.shards[event.shard];
  if (entry.state != ShardState::kLoading || entry.grant.epoch != event.epoch) return;
  for (const Waiter& waiter : entry.waiters) {
    if (!WaitsFor(waiter.kind, Outcome::kServed)) continue;
    book_.answers.Tell(waiter.reply,
                       {event.shard, event.epoch, ResultState::kLoading, event.fraction});
  }
}

void ShardSteps::On(const Forwarded& event) {
  ShardEntry& entry = book_.shards[event.shard];
  if (entry.state == ShardState::kPrepared) Load(entry);
}

void ShardSteps::On(const Drained& event) {
  ShardEntry& entry = book_.shards[event.shard];
  if (entry.state != ShardState::kDraining) return;
  drains_.Clear(entry.grant.shard, entry.drain_until);
  // A newer grant of a shard that was not dropped in between needs no DropShard.
  const bool goes_on = entry.next && !entry.drop_first && entry.next->old_owner.empty();
  if (goes_on) return Regrant(entry, *entry.next);
  BeginDrop(entry);
}

void ShardSteps::OnTime() {
  CheckDrains();
  CheckForwarding();
  CheckRetries();
  for (const ShardTimers* timers : {&drains_, &lingers_, &retries_}) {
    book_.out.next_wake = std::min(book_.out.next_wake, timers->next());
  }
}

// Drains whose time is over. The shard is opened again where that is allowed; elsewhere it stays
// closed, and a warning says so.
void ShardSteps::CheckDrains() {
  std::vector<std::string> stuck;
  while (drains_.next() <= book_.now) {
    ShardEntry& entry = book_.shards[drains_.shard()];
    drains_.Clear(entry.grant.shard, entry.drain_until);
    if (!CallOff(entry)) stuck.push_back(entry.grant.shard.value());
  }
  if (stuck.empty()) return;
  book_.out.actions.emplace_back(Warn{absl::StrCat(
      "requests are still in flight, and keep from being dropped: shard ", stuck.front(),
      stuck.size() == 1 ? "" : absl::StrCat(" and ", stuck.size() - 1, " more"))});
}

// Whoever asked hears why. When only a drop was asked for, the shard stays. When the
// process stops, a newer grant came, others take its place, or the grant is of a former life, it
// stays closed and goes on once it is drained (false): requests must never be admitted again under
// what was overtaken.
bool ShardSteps::CallOff(ShardEntry& entry) {
  const bool may_reopen = entry.paused && entry.opened == book_.incarnation;
  const bool overtaken = entry.replaced || entry.life != book_.incarnation;
  if (book_.stopping || (entry.next && !may_reopen) || overtaken) {
    AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kFailed,
                  "requests of the former grant did not finish in time");
    AnswerWaiters(book_, entry, Outcome::kLetGo, ResultState::kFailed,
                  "requests in flight did not finish in time; none is admitted any more");
    return false;
  }
  if (entry.successor) entry.called_off = std::max(entry.called_off, entry.successor->epoch);
  if (may_reopen && entry.grant.role == Role::kPrimary) {  // the grant that it had holds on
    entry.called_off = std::max(entry.called_off, entry.highest);
    entry.highest = entry.grant.epoch;
  }
  Enter(entry, ShardState::kServing);
  entry.next.reset();
  entry.dropped = false;
  entry.drop_first = false;
  entry.successor.reset();
  Open(entry);
  AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kCalledOff, "");
  AnswerWaiters(book_, entry, Outcome::kLetGo, ResultState::kCalledOff, "");
  return true;
}

// Those that have forwarded long enough since they were dropped.
void ShardSteps::CheckForwarding() {
  while (lingers_.next() <= book_.now) EndForwarding(book_.shards[lingers_.shard()]);
}

void ShardSteps::CheckRetries() {
  while (retries_.next() <= book_.now) {
    ShardEntry& entry = book_.shards[retries_.shard()];
    retries_.Clear(entry.grant.shard, entry.retry_at);
    const bool wanted = !book_.stopping && !entry.dropped && entry.grant.epoch == entry.highest;
    if (wanted) Load(entry);
  }
}

}  // namespace shardmanager::server
