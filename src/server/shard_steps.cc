// ShardBook: what begins when something is wanted, and what comes of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "server/shard_book.h"

namespace shardmanager::server {
namespace {

// A load that failed while nobody waited for it (the control plane may be down) is
// tried again after this, doubled each time.
constexpr Duration kFirstRetry = Seconds(1);
constexpr uint32_t kMostDoublings = 5;

}  // namespace

// REQUIRES: nothing of the shard is at work.
void ShardBook::Begin(Entry& entry, const Wish& wished) {
  const Wish wish = wished;  // may be the entry's own
  entry.grant = wish.grant;
  entry.old_owner = wish.old_owner;
  entry.primary = wish.primary;
  entry.next.reset();
  if (wish.old_owner.empty()) return Load(entry);
  Enter(entry, State::kPreparing);
  out_.actions.emplace_back(RunPrepareAdd{entry.grant});
}

// REQUIRES: the application holds the shard under entry.grant, and nothing is in flight. A
// grant of the other role turns it; one of the same role is added again.
void ShardBook::Continue(Entry& entry, const Wish& wished) {
  if (wished.grant.role == entry.grant.role) return Begin(entry, wished);
  const Wish wish = wished;  // may be the entry's own
  entry.former = Wish{entry.grant, "", entry.primary};
  entry.grant = wish.grant;
  entry.primary = wish.primary;
  entry.next.reset();
  Enter(entry, State::kTurning);
  out_.actions.emplace_back(RunChangeRole{entry.grant});
}

// What waits is to be the same shard in its other role.
bool ShardBook::Turns(const Entry& entry) {
  return entry.next && !entry.drop_first && entry.next->old_owner.empty() &&
         entry.old_owner.empty() && entry.next->grant.role != entry.grant.role;
}

// It goes, and was the primary: its clients may not know the next one yet.
bool ShardBook::SendsOn(const Entry& entry) const {
  const bool goes = entry.dropped && !entry.next && !entry.successor && !stopping_;
  return goes && entry.primary && entry.grant.role == Role::kSecondary;
}

// After an error the shard goes on in its old role, unless that was overtaken: another life,
// a newer grant, or a drop.
void ShardBook::On(Turned& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kTurning || entry.grant.epoch != event.epoch) return;
  const bool failed = !event.status.ok();
  const bool goes = entry.drop_first || (entry.next && !entry.next->old_owner.empty());
  if (failed && !goes && !entry.next && entry.opened != incarnation_) {
    RetryLater(entry);
    AnswerWaiters(entry, Waits::kToCome, ResultState::kFailed, event.status.ToString());
    return RunDropOf(entry);
  }
  if (failed) {
    entry.grant = entry.former.grant;
    entry.primary = entry.former.primary;
    AnswerWaiters(entry, Waits::kToCome, ResultState::kFailed, event.status.ToString());
  }
  if (goes) return RunDropOf(entry);
  if (entry.next) return Continue(entry, *entry.next);
  Enter(entry, State::kServing);
  Open(entry);
  AnswerWaiters(entry, Waits::kToCome, ResultState::kDone, "");
}

// Unless somebody waits, who then decides.
void ShardBook::RetryLater(Entry& entry) {
  if (!entry.waiters.empty()) return;
  const uint32_t doublings = std::min(entry.failures++, kMostDoublings);
  retries_.insert({now_ + kFirstRetry * (1 << doublings), entry.grant.shard});
}

// Only under the grant that it is meant for. Begins when it is its turn.
void ShardBook::SetMembers(const Grant& grant, ReplyId reply) {
  Entry& entry = entries_[grant.shard];
  const bool serves = entry.state == State::kServing && entry.grant.epoch == grant.epoch &&
                      entry.grant.role == Role::kPrimary && entry.old_owner.empty();
  if (!serves) {
    return Answer(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                          "it does not serve as primary under this grant"});
  }
  if (grant.members_version < entry.grant.members_version && !Planted(Defect::kAnyMembers)) {
    return Answer(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                          "a later list of its members has been seen"});
  }
  entry.grant.members = grant.members;
  entry.grant.members_version = grant.members_version;
  if (const auto former = member_changes_.Want({entry.grant, reply})) {
    EndMemberChange(*former, ResultState::kStale, "a later list of its members has come");
  }
}

void ShardBook::EndMemberChange(const MemberChanges::Change& change, ResultState state,
                                const std::string& error) {
  Answer(change.reply, {change.grant.shard, change.grant.epoch, state, 0, error});
}

void ShardBook::BeginMemberChanges() {
  while (auto begun = member_changes_.BeginNext()) {
    out_.actions.emplace_back(RunSetMembers{std::move(begun->grant), begun->brings});
  }
}

void ShardBook::On(MembersSet& event) {
  const bool well = event.status.ok();
  const auto change = member_changes_.End(event.shard, well);
  if (!change) return;
  EndMemberChange(*change, well ? ResultState::kDone : ResultState::kFailed,
                  well ? "" : event.status.ToString());
  Entry& entry = entries_[event.shard];
  if (entry.state == State::kLeaving) PrepareDrop(entry);
}

// Calls for one shard never overlap.
void ShardBook::PrepareDrop(Entry& entry) {
  const ShardId& shard = entry.grant.shard;
  if (!member_changes_.AtWork(shard)) out_.actions.emplace_back(RunPrepareDrop{shard});
}

void ShardBook::Load(Entry& entry) {
  const bool prepared = entry.state == State::kPreparing || entry.state == State::kPrepared;
  Enter(entry, State::kLoading);
  if (entry.old_owner.empty()) out_.actions.emplace_back(ShowLoading{entry.grant.shard});
  out_.actions.emplace_back(RunAdd{entry.grant, prepared});
}

void ShardBook::On(Prepared& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kPreparing || entry.grant.epoch != event.epoch) return;
  if (!event.status.ok()) return ComeFailed(entry, event.status);
  if (entry.drop_first) return RunDropOf(entry);
  if (entry.next && entry.next->grant.epoch == entry.grant.epoch) {  // asked to serve meanwhile
    entry.grant = entry.next->grant;                                 // with its members
    entry.next.reset();
    entry.old_owner.clear();
    return Load(entry);
  }
  if (entry.next) return RunDropOf(entry);
  Enter(entry, State::kPrepared);
  out_.actions.emplace_back(AwaitForwarded{entry.grant, entry.old_owner});
  AnswerWaiters(entry, Waits::kToPrepare, ResultState::kDone, "");
}

void ShardBook::On(Forwarded& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state == State::kPrepared) Load(entry);
}

// May be repeated: the wait begins anew.
void ShardBook::Drain(Entry& entry) {
  EndDrain(entry);
  Enter(entry, State::kDraining);
  entry.paused = Turns(entry) || SendsOn(entry);
  // What is held for another server is let go before it is refused. While a secondary is promoted,
  // no other server could serve what it holds.
  const bool promoted = Turns(entry) && entry.grant.role == Role::kSecondary;
  const bool for_another = entry.successor || (entry.paused && !promoted);
  entry.drain_until =
      now_ + (for_another ? options_.handover_drain_timeout : options_.drain_timeout);
  deadlines_.insert({entry.drain_until, entry.grant.shard});
  if (Turns(entry)) {
    out_.actions.emplace_back(PauseShard{entry.grant.shard});
  } else if (entry.successor || entry.paused) {
    out_.actions.emplace_back(HoldShard{entry.grant.shard});
  } else {
    out_.actions.emplace_back(CloseShard{entry.grant.shard});
  }
}

// Or: it has no deadline any more.
void ShardBook::EndDrain(Entry& entry) {
  deadlines_.erase({entry.drain_until, entry.grant.shard});
  entry.drain_until = kNever;
}

void ShardBook::On(Loaded& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kLoading || entry.grant.epoch != event.epoch) return;
  if (!event.status.ok()) return ComeFailed(entry, event.status);
  if (entry.drop_first) return RunDropOf(entry);
  if (entry.next)
    return entry.next->old_owner.empty() ? Continue(entry, *entry.next) : RunDropOf(entry);
  entry.failures = 0;
  Enter(entry, State::kServing);
  Open(entry);
  AnswerWaiters(entry, Waits::kToCome, ResultState::kDone, "");
}

// To everybody, or to what the old owner forwards.
void ShardBook::Open(Entry& entry) {
  entry.opened = incarnation_;
  if (entry.old_owner.empty()) {
    out_.actions.emplace_back(OpenShard{entry.grant, entry.primary});
  } else {
    out_.actions.emplace_back(OpenForwarded{entry.grant, entry.old_owner});
  }
}

// The application holds nothing now.
void ShardBook::ComeFailed(Entry& entry, const absl::Status& status) {
  const ShardId shard = entry.grant.shard;
  const bool loaded = entry.state == State::kLoading;
  Enter(entry, State::kAbsent);
  entry.drop_first = false;
  out_.actions.emplace_back(CloseShard{shard});
  AnswerWaiters(entry, Waits::kToGo, ResultState::kDone, "");
  if (entry.successor) return Forward(entry);
  if (entry.next) return Begin(entry, *entry.next);
  if (entry.dropped) return;
  if (loaded) RetryLater(entry);
  // Its storage has seen a newer grant: this one is of no use here or anywhere.
  const auto state = absl::IsAborted(status) ? ResultState::kStale : ResultState::kFailed;
  AnswerWaiters(entry, Waits::kToCome, state, status.ToString());
}

void ShardBook::RunDropOf(Entry& entry) {
  const bool closed = entry.state == State::kDraining;  // or held; else it shows as loading
  entry.drop_first = false;
  Enter(entry, State::kDropping);
  if (!closed && !entry.successor) {
    entry.paused = false;
    out_.actions.emplace_back(CloseShard{entry.grant.shard});
  }
  out_.actions.emplace_back(RunDrop{entry.grant.shard});
}

void ShardBook::On(Progress& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kLoading || entry.grant.epoch != event.epoch) return;
  for (const Waiter& waiter : entry.waiters) {
    if (!IsOf(waiter.kind, Waits::kToCome)) continue;
    results_[waiter.reply].push_back(
        {event.shard, event.epoch, ResultState::kLoading, event.fraction});
  }
}

// However it ended: what comes now is decided by what is wanted now.
void ShardBook::On(DropPrepared& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kLeaving) return;
  if (!event.status.ok()) {
    out_.actions.emplace_back(Warn{absl::StrCat("PrepareDropShard of ", event.shard.value(),
                                                " failed: ", event.status.ToString())});
  }
  Drain(entry);
}

void ShardBook::On(Drained& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kDraining) return;
  EndDrain(entry);
  // A newer grant of a shard that was not dropped in between needs no DropShard.
  const bool goes_on = entry.next && !entry.drop_first && entry.next->old_owner.empty();
  if (goes_on) return Continue(entry, *entry.next);
  RunDropOf(entry);
}

void ShardBook::On(Dropped& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kDropping) return;
  if (!event.status.ok()) {
    out_.actions.emplace_back(
        Warn{absl::StrCat("DropShard of ", event.shard.value(),
                          " failed; it counts as dropped: ", event.status.ToString())});
  }
  Enter(entry, State::kAbsent);
  AnswerWaiters(entry, Waits::kToGo, ResultState::kDone, "");
  if (entry.next) return Begin(entry, *entry.next);
  if (SendsOn(entry)) {
    entry.successor = std::exchange(entry.primary, std::nullopt);
    entry.forward_until = now_ + options_.forward_linger;
    lingers_.insert({entry.forward_until, entry.grant.shard});
  } else if (entry.paused && !entry.successor) {
    out_.actions.emplace_back(CloseShard{entry.grant.shard});  // nobody to send it on to
  }
  entry.paused = false;
  if (entry.successor) Forward(entry);
}

// Of the old owner: from here on nothing is served, held or forwarded. Whatever goes on ends
// with the drop all the same.
void ShardBook::EndHandover(Entry& entry) {
  entry.successor.reset();
  out_.actions.emplace_back(CloseShard{entry.grant.shard});
}

void ShardBook::Forward(Entry& entry) {
  Enter(entry, State::kForwarding);
  out_.actions.emplace_back(ForwardShard{entry.grant.shard, *entry.successor});
}

void ShardBook::EndForwarding(Entry& entry) {
  lingers_.erase({entry.forward_until, entry.grant.shard});
  entry.forward_until = kNever;
  entry.successor.reset();
  Enter(entry, State::kAbsent);
  out_.actions.emplace_back(CloseShard{entry.grant.shard});
}

}  // namespace shardmanager::server
