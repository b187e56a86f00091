#include "server/shard_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::server {
namespace {

constexpr char kCalledOff[] = "requests in flight did not finish in time; the shard stays";

}  // namespace

Output<ShardBook::Action> ShardBook::OnEvent(TimePoint now, Event event) {
  now_ = now;
  std::visit([this](auto& e) { On(e); }, event);
  return Finish();
}

Output<ShardBook::Action> ShardBook::OnAdvance(TimePoint now) {
  now_ = now;
  return Finish();
}

Output<ShardBook::Action> ShardBook::Finish() {
  CheckDrains();
  CheckForwarding();
  CheckRetries();
  BeginMemberChanges();
  for (auto& [reply, results] : std::exchange(results_, {})) {
    const bool last = open_[reply] == 0;
    if (last) open_.erase(reply);
    out_.actions.emplace_back(Reply{reply, std::move(results), last});
  }
  CheckEmptied();
  return std::exchange(out_, {});
}

// Those that take too long are called off.
void ShardBook::CheckDrains() {
  std::vector<std::string> stuck;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_) {
    Entry& entry = entries_[deadlines_.begin()->second];
    EndDrain(entry);
    if (!CallOff(entry)) stuck.push_back(entry.grant.shard.value());
  }
  if (!deadlines_.empty()) out_.next_wake = std::min(out_.next_wake, deadlines_.begin()->first);
  if (stuck.empty()) return;
  out_.actions.emplace_back(Warn{absl::StrCat(
      "requests are still in flight, and keep from being dropped: shard ", stuck.front(),
      stuck.size() == 1 ? "" : absl::StrCat(" and ", stuck.size() - 1, " more"))});
}

// Whoever asked hears why. When only a drop was asked for, the shard stays. When the
// process stops, a newer grant came, or the grant is of a former life, it stays closed and
// goes on once it is drained (false): requests must never be admitted again under what was
// overtaken.
bool ShardBook::CallOff(Entry& entry) {
  const bool turns = entry.paused && entry.opened == incarnation_;
  if (stopping_ || (entry.next && !turns) || entry.life != incarnation_) {
    AnswerWaiters(entry, Waits::kToCome, ResultState::kFailed,
                  "requests of the former grant did not finish in time");
    AnswerWaiters(entry, Waits::kToGo, ResultState::kFailed,
                  "requests in flight did not finish in time; none is admitted any more");
    return false;
  }
  if (entry.successor) entry.called_off = std::max(entry.called_off, entry.successor->epoch);
  if (turns && entry.grant.role == Role::kPrimary) {  // the grant that it had holds on
    entry.called_off = std::max(entry.called_off, entry.highest);
    entry.highest = entry.grant.epoch;
  }
  Enter(entry, State::kServing);
  entry.next.reset();
  entry.dropped = false;
  entry.drop_first = false;
  entry.successor.reset();
  Open(entry);
  AnswerWaiters(entry, Waits::kToCome, ResultState::kCalledOff, kCalledOff);
  AnswerWaiters(entry, Waits::kToGo, ResultState::kCalledOff, kCalledOff);
  return true;
}

ShardResult ShardBook::CalledOff(const Entry& entry, ShardEpoch asked) {
  return {entry.grant.shard, asked, ResultState::kCalledOff, 0, kCalledOff, entry.grant.epoch};
}

// Those that have forwarded long enough since they were dropped.
void ShardBook::CheckForwarding() {
  while (!lingers_.empty() && lingers_.begin()->first <= now_) {
    EndForwarding(entries_[lingers_.begin()->second]);
  }
  if (!lingers_.empty()) out_.next_wake = std::min(out_.next_wake, lingers_.begin()->first);
}

void ShardBook::CheckRetries() {
  while (!retries_.empty() && retries_.begin()->first <= now_) {
    Entry& entry = entries_[retries_.begin()->second];
    retries_.erase(retries_.begin());
    const bool wanted = !stopping_ && !entry.dropped && entry.grant.epoch == entry.highest;
    if (wanted && entry.state == State::kAbsent) Load(entry);
  }
  if (!retries_.empty()) out_.next_wake = std::min(out_.next_wake, retries_.begin()->first);
}

// Before a shard is drained, the change of its members that waits for its turn is called off: the
// drain would wait for it.
void ShardBook::Enter(Entry& entry, State state) {
  if (entry.state == State::kServing && state != State::kServing) {
    if (const auto change = member_changes_.CallOff(entry.grant.shard)) {
      EndMemberChange(*change, ResultState::kStale, "the shard is closing");
    }
  }
  busy_ -= IsBusy(entry.state);
  entry.state = state;
  busy_ += IsBusy(entry.state);
}

// ---- commands ----

absl::Status ShardBook::CheckHeader(const Command& command) {
  if (command.app != options_.app || command.server != options_.server) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is server \"", options_.server, "\" of app \"", options_.app,
                     "\"; the command is for \"", command.server, "\" of \"", command.app, "\""));
  }
  if (incarnation_ == Incarnation()) {
    return absl::FailedPreconditionError("the server is not registered yet");
  }
  if (command.incarnation != incarnation_) {
    return absl::FailedPreconditionError(absl::StrCat("this is life ", incarnation_.value(),
                                                      " of the server; the command is for ",
                                                      command.incarnation.value()));
  }
  if (command.leader_epoch < leader_epoch_ && !Planted(Defect::kNoLeaderFence)) {
    return absl::AbortedError(absl::StrCat("leader epoch ", command.leader_epoch.value(),
                                           " is deposed; epoch ", leader_epoch_.value(),
                                           " has been seen"));
  }
  leader_epoch_ = command.leader_epoch;
  return absl::OkStatus();
}

void ShardBook::On(Command& command) {
  if (absl::Status status = CheckHeader(command); !status.ok()) {
    out_.actions.emplace_back(Refuse{command.reply, std::move(status)});
    return;
  }
  if (stopping_) {
    out_.actions.emplace_back(
        Refuse{command.reply, absl::UnavailableError("the server is shutting down")});
    return;
  }
  open_[command.reply] = command.grants.size();
  results_[command.reply];  // an answer goes out even if there is nothing to say yet
  for (size_t i = 0; i < command.grants.size(); ++i) Obey(command, i);
}

void ShardBook::Obey(const Command& command, size_t index) {
  const Grant& grant = command.grants[index];
  switch (command.kind) {
    case CommandKind::kAdd:
      return Come({grant}, command.reply);
    case CommandKind::kChangeRole: {
      Wish wish{grant};
      if (!command.successors.empty()) wish.primary = command.successors[index];
      return Come(wish, command.reply);
    }
    case CommandKind::kSetMembers:
      return SetMembers(grant, command.reply);
    case CommandKind::kPrepareAdd:
      return Come({grant, command.old_owner}, command.reply);
    case CommandKind::kDrop:
      return Go(grant.shard, grant.epoch, std::nullopt, command.reply);
    case CommandKind::kPrepareDrop:
      return Go(grant.shard, grant.epoch, command.successors[index], command.reply);
  }
}

void ShardBook::Come(const Wish& wish, ReplyId reply) {
  const Grant& grant = wish.grant;
  Entry& entry = entries_[grant.shard];
  if (IsVoid(entry, grant)) {
    const bool serves = entry.state == State::kServing || entry.state == State::kLeaving;
    if (serves) return Answer(reply, CalledOff(entry, grant.epoch));
    return Answer(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                          absl::StrCat("the change to epoch ", grant.epoch.value(),
                                       " was called off before")});
  }
  const bool trusts = Planted(Defect::kNoEpochCheck);
  const bool old = grant.epoch < entry.highest;
  if (!trusts && (old || (grant.epoch == entry.highest && entry.dropped))) {
    Answer(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                   absl::StrCat("epoch ", entry.highest.value(),
                                old ? " has been seen" : " has been dropped")});
    return;
  }
  const bool news = grant.epoch > entry.highest;
  entry.highest = grant.epoch;
  entry.dropped = false;
  entry.life = incarnation_;
  if (entry.grant.epoch == grant.epoch && HasCome(entry, wish)) {
    // It may have been opened in a former life: this one is granted it, too.
    if (entry.state == State::kServing) entry.opened = incarnation_;
    Answer(reply, {grant.shard, grant.epoch, ResultState::kDone});
    return;
  }
  if (reply != 0) results_[reply].push_back({grant.shard, grant.epoch, ResultState::kLoading});
  Join(entry, wish, reply, news);
}

// A repeat of a demotion that was called off: the control plane has heard, or will, that the shard
// is served on under the grant before. (Another life obeys what its record says.)
bool ShardBook::IsVoid(const Entry& entry, const Grant& grant) const {
  return entry.life == incarnation_ && entry.highest < grant.epoch &&
         grant.epoch <= entry.called_off && grant.role == Role::kSecondary;
}

// Of the same grant. May widen what is served from what is forwarded to everything.
bool ShardBook::HasCome(Entry& entry, const Wish& wish) {
  const bool prepared = entry.state == State::kPrepared || entry.state == State::kLoading;
  if (!wish.old_owner.empty()) return prepared || entry.state == State::kServing;
  if (entry.state == State::kServing && !entry.old_owner.empty()) {
    entry.old_owner.clear();
    Open(entry);
  }
  return entry.state == State::kServing;
}

// What is wanted now, on top of whatever goes on.
void ShardBook::Join(Entry& entry, const Wish& wish, ReplyId reply, bool news) {
  const bool add = wish.old_owner.empty();
  const bool held = entry.state == State::kDraining && entry.successor;
  if (news) {
    AnswerWaiters(entry, Waits::kToCome, ResultState::kStale, "a newer grant came");
    entry.failures = 0;
    entry.successor.reset();
  }
  const CommandKind kind = add ? CommandKind::kAdd : CommandKind::kPrepareAdd;
  if (reply != 0) entry.waiters.push_back({reply, kind, wish.grant.epoch});
  if (entry.state == State::kForwarding) EndForwarding(entry);
  if (entry.state == State::kAbsent) return Begin(entry, wish);
  if (entry.grant.epoch == wish.grant.epoch && GoOn(entry, wish)) return;
  if (news || !entry.next || add) entry.next = wish;
  if (news && entry.state == State::kLeaving) EndHandover(entry);
  if (entry.state == State::kDraining && entry.paused && !Turns(entry)) return Drain(entry);
  // A repeat of what a drain holds up is patient anew.
  const bool waits = entry.state == State::kDraining && entry.drain_until == kNever;
  if (entry.state == State::kPrepared) return RunDropOf(entry);
  if (entry.state == State::kServing || waits || (news && held)) Drain(entry);
}

// The same grant, on its way already: true.
bool ShardBook::GoOn(Entry& entry, const Wish& wish) {
  switch (entry.state) {
    case State::kPreparing:
      if (wish.old_owner.empty()) entry.next = wish;
      return true;
    case State::kPrepared:
      entry.old_owner = wish.old_owner;
      Load(entry);
      return true;
    case State::kLoading:
      entry.old_owner = wish.old_owner;
      return true;
    case State::kTurning:
      return true;
    default:
      return false;
  }
}

void ShardBook::Go(const ShardId& shard, ShardEpoch epoch, std::optional<Successor> successor,
                   ReplyId reply) {
  Entry& entry = entries_[shard];
  if (epoch < entry.highest && !entry.dropped) {
    Answer(reply, {shard, epoch, ResultState::kStale, 0,
                   absl::StrCat("it is held under the newer epoch ", entry.highest.value())});
    return;
  }
  if (epoch < entry.highest) return Repeat(entry, {shard, epoch, ResultState::kDone}, reply);
  if (successor && successor->epoch <= entry.called_off) return StayOff(entry, epoch, reply);
  entry.highest = epoch;
  // Also when it only lets go to forward: a late repeat of the grant must not open it again.
  entry.dropped = !successor || !Planted(Defect::kReopensAfterHandover);
  entry.next.reset();
  AnswerWaiters(entry, Waits::kToCome, ResultState::kFailed, "dropped meanwhile");
  if (HasGone(entry, successor)) {
    Answer(reply, {shard, epoch, ResultState::kDone});
    return;
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kDrop, epoch});
  const bool held = entry.successor.has_value();
  entry.successor = std::move(successor);
  entry.drop_first = entry.state != State::kDropping;
  if (reply != 0) results_[reply].push_back({shard, epoch, ResultState::kLoading});
  if (entry.state == State::kDraining && (entry.paused || held != entry.successor.has_value())) {
    return Drain(entry);  // what comes is not held any more, or is now
  }
  if (entry.state == State::kDropping && held && !entry.successor) EndHandover(entry);
  Release(entry);
}

// A repeat, asking to let go for a new owner for whom that was called off. The control plane goes
// by it that nothing is ever forwarded to that one.
void ShardBook::StayOff(Entry& entry, ShardEpoch epoch, ReplyId reply) {
  const bool leaves = entry.state == State::kLeaving ||
                      (entry.state == State::kDraining && entry.successor);  // for a later one
  const ShardId& shard = entry.grant.shard;
  if (entry.state == State::kServing || leaves) {
    return Answer(reply, CalledOff(entry, epoch));
  }
  Repeat(entry, {shard, epoch, ResultState::kDone}, reply);
}

// A late repeat, about an older grant than the one that goes or has gone: changes nothing.
void ShardBook::Repeat(Entry& entry, ShardResult done, ReplyId reply) {
  if (entry.state == State::kAbsent || entry.state == State::kForwarding) {
    return Answer(reply, std::move(done));
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kDrop, done.epoch});
}

// Nothing is served here. May begin or end the forwarding.
bool ShardBook::HasGone(Entry& entry, const std::optional<Successor>& successor) {
  if (entry.state == State::kForwarding) {
    if (successor) {
      entry.successor = successor;
      Forward(entry);
    } else if (entry.forward_until == kNever) {
      entry.forward_until = now_ + options_.forward_linger;
      lingers_.insert({entry.forward_until, entry.grant.shard});
    }
    return true;
  }
  return entry.state == State::kAbsent;
}

// Whatever goes on ends with the drop.
void ShardBook::Release(Entry& entry) {
  const bool waits = entry.state == State::kDraining && entry.drain_until == kNever;
  if (entry.state == State::kServing && entry.successor) {
    Enter(entry, State::kLeaving);
    PrepareDrop(entry);
  } else if (entry.state == State::kServing || waits) {
    Drain(entry);
  } else if (entry.state == State::kPrepared) {
    RunDropOf(entry);  // nothing is in flight
  }
}

// What the stored record grants. Held and not granted any more: goes. Held under the
// same epoch: stays as it is.
void ShardBook::On(Assigned& event) {
  if (stopping_) return;
  // What this life was told of a handover is newer than what was read.
  std::erase_if(event.preparing, [this](const Grant& grant) {
    const auto found = entries_.find(grant.shard);
    return found == entries_.end() || found->second.highest != grant.epoch ||
           found->second.dropped || found->second.life == incarnation_;
  });
  for (const Grant& grant : event.grants) Come({grant}, 0);
  for (auto& [shard, entry] : entries_) {
    if (entry.life == incarnation_) continue;
    if (entry.state == State::kForwarding) EndForwarding(entry);
    if (entry.state == State::kLeaving || entry.successor) EndHandover(entry);
    // Also what failed to load: it must not be tried again.
    const bool wanted = entry.highest != ShardEpoch() && !entry.dropped;
    if (wanted) Go(shard, entry.highest, std::nullopt, 0);
  }
  // A handover to here is not over, but its next step is the control plane's to ask for.
  for (const Grant& grant : event.preparing) {
    Entry& entry = entries_[grant.shard];
    entry.dropped = false;
    entry.life = incarnation_;
  }
}

void ShardBook::On(Stop&) {
  stopping_ = true;
  for (auto& [shard, entry] : entries_) {
    if (IsBusy(entry.state)) Go(shard, entry.highest, std::nullopt, 0);
  }
}

// ---- answers ----

// A final result.
void ShardBook::Answer(ReplyId reply, ShardResult result) {
  if (reply == 0) return;
  results_[reply].push_back(std::move(result));
  --open_[reply];
}

bool ShardBook::IsOf(CommandKind kind, Waits waits) {
  switch (waits) {
    case Waits::kToPrepare:
      return kind == CommandKind::kPrepareAdd;
    case Waits::kToCome:
      return kind == CommandKind::kPrepareAdd || kind == CommandKind::kAdd ||
             kind == CommandKind::kChangeRole;
    case Waits::kToGo:
      return kind == CommandKind::kDrop;
  }
  return false;
}

void ShardBook::AnswerWaiters(Entry& entry, Waits waits, ResultState state,
                              const std::string& error) {
  std::vector<Waiter> others;
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    if (!IsOf(waiter.kind, waits)) {
      others.push_back(waiter);
      continue;
    }
    ShardResult result{entry.grant.shard, waiter.epoch, state, 0, error};
    if (state == ResultState::kCalledOff) result = CalledOff(entry, waiter.epoch);
    Answer(waiter.reply, std::move(result));
  }
  entry.waiters = std::move(others);
}

void ShardBook::CheckEmptied() {
  if (!stopping_ || emptied_) return;
  emptied_ = busy_ == 0;
  if (emptied_) out_.actions.emplace_back(Emptied{});
}

bool ShardBook::in_use() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const auto& e) {
    const State state = e.second.state;
    return state == State::kServing || state == State::kLeaving || state == State::kDraining ||
           state == State::kTurning || state == State::kDropping;
  });
}

std::vector<ShardBook::Held> ShardBook::held() const {
  std::vector<Held> held;
  for (const auto& [shard, entry] : entries_) {
    const bool serves = entry.state == State::kServing || entry.state == State::kLeaving;
    if (!serves && entry.state != State::kLoading) continue;
    held.push_back({entry.grant, serves && entry.old_owner.empty()});
  }
  return held;
}

}  // namespace shardmanager::server
