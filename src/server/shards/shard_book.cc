#include "server/shards/shard_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::server {

Output<ShardBook::Action> ShardBook::OnEvent(TimePoint now, Event event) {
  book_.now = now;
  std::visit([this](auto& e) { On(e); }, event);
  return Finish();
}

Output<ShardBook::Action> ShardBook::OnAdvance(TimePoint now) {
  book_.now = now;
  return Finish();
}

Output<ShardBook::Action> ShardBook::Finish() {
  steps_.OnTime();
  if (!book_.behind.empty()) steps_.BeginThoseBehind();
  BeginMemberChanges();
  for (Reply& reply : book_.answers.Take()) book_.out.actions.emplace_back(std::move(reply));
  CheckEmptied();
  return std::exchange(book_.out, {});
}

void ShardBook::On(HandlerDone& event) {
  if (event.method == CommandKind::kSetMembers) return MembersUpdated(event);
  steps_.On(event);
}

// ---- commands ----

absl::Status ShardBook::CheckHeader(const Command& command) {
  if (command.app != book_.options.app || command.server != book_.options.server) {
    return absl::FailedPreconditionError(
        absl::StrCat("this is server \"", book_.options.server, "\" of app \"", book_.options.app,
                     "\"; the command is for \"", command.server, "\" of \"", command.app, "\""));
  }
  if (book_.incarnation == Incarnation()) {
    return absl::FailedPreconditionError("the server is not registered yet");
  }
  if (command.incarnation != book_.incarnation) {
    return absl::FailedPreconditionError(absl::StrCat("this is life ", book_.incarnation.value(),
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
    book_.out.actions.emplace_back(Refuse{command.reply, std::move(status)});
    return;
  }
  if (book_.stopping) {
    book_.out.actions.emplace_back(
        Refuse{command.reply, absl::UnavailableError("the server is shutting down")});
    return;
  }
  // Nothing new is taken, and nothing is let go: the next step of a move may never come.
  if (command.cut_off) {
    book_.out.actions.emplace_back(
        Refuse{command.reply, absl::UnavailableError("the server is cut off from the coordination "
                                                     "store, and serves on what it has")});
    return;
  }
  book_.answers.Expect(command.reply, command.grants.size());
  for (size_t i = 0; i < command.grants.size(); ++i) Obey(command, i);
}

void ShardBook::Obey(const Command& command, size_t index) {
  const Grant& grant = command.grants[index];
  switch (command.kind) {
    case CommandKind::kAdd:
    case CommandKind::kChangeRole: {
      WantedGrant wanted{grant};
      if (grant.origin) wanted.after = grant.origin->made_of;
      if (!command.successors.empty()) wanted.primary = command.successors[index];
      return AcceptGrant(wanted, command.reply);
    }
    case CommandKind::kSetMembers:
      return SetMembers(grant, command.reply);
    case CommandKind::kPrepareAdd:
      return AcceptGrant({grant, command.old_owner}, command.reply);
    case CommandKind::kDrop:
      if (HoldsOrigins(grant, command.reply)) return;
      return LetGo(grant.shard, grant.epoch, std::nullopt, command.reply);
    case CommandKind::kPrepareDrop:
      if (HoldsOrigins(grant, command.reply)) return;
      return LetGo(grant.shard, grant.epoch, command.successors[index], command.reply);
  }
}

// ---- grants ----

void ShardBook::AcceptGrant(const WantedGrant& wanted, ReplyId reply) {
  const Grant& grant = wanted.grant;
  ShardEntry& entry = book_.shards[grant.shard];
  if (IsVoid(book_, entry, grant)) {
    const bool serves = entry.state == ShardState::kServing || entry.state == ShardState::kLeaving;
    if (serves) return book_.answers.Finish(reply, CalledOffResult(entry, grant.epoch));
    return book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                                        absl::StrCat("the change to epoch ", grant.epoch.value(),
                                                     " was called off before")});
  }
  const bool trusts = Planted(Defect::kNoEpochCheck);
  const bool old = grant.epoch < entry.highest;
  if (!trusts && (old || (grant.epoch == entry.highest && entry.dropped))) {
    book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                                 absl::StrCat("epoch ", entry.highest.value(),
                                              old ? " has been seen" : " has been dropped")});
    return;
  }
  const bool news = grant.epoch > entry.highest;
  entry.highest = grant.epoch;
  entry.dropped = false;
  entry.life = book_.incarnation;
  if (entry.grant.epoch == grant.epoch && AlreadyServes(entry, wanted)) {
    // It may have been opened in a former life: this one is granted it, too.
    if (entry.state == ShardState::kServing) entry.opened = book_.incarnation;
    book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kDone});
    return;
  }
  book_.answers.Tell(reply, {grant.shard, grant.epoch, ResultState::kLoading});
  if (grant.origin) LetGoOrigins(*grant.origin, grant.epoch);
  Pursue(entry, wanted, reply, news);
}

// True: the shard's keys are served here under the name of what it was made of, so it cannot be let
// go yet; the control plane asks again.
bool ShardBook::HoldsOrigins(const Grant& grant, ReplyId reply) {
  if (!grant.origin || Planted(Defect::kLetsGoTheNewNameAlone)) return false;
  LetGoOrigins(*grant.origin, grant.epoch);
  if (!IsBehindOthers(book_, {.grant = grant, .after = grant.origin->made_of})) return false;
  book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kFailed, 0,
                               "what it was made of is held here until its requests have ended"});
  return true;
}

// What the shard was made of. (The grant's epoch is above those of all grants before it.)
void ShardBook::LetGoOrigins(const ShardOrigin& origin, ShardEpoch epoch) {
  for (const ShardId& shard : origin.made_of) {
    const auto found = book_.shards.find(shard);
    if (found == book_.shards.end() || found->second.highest >= epoch) continue;
    found->second.replaced = true;
    LetGo(shard, epoch, std::nullopt, 0);
  }
}

// True: what the same grant asks for is there already. If only forwarded requests were admitted
// until now and the grant asks for all, the shard is opened to all.
bool ShardBook::AlreadyServes(ShardEntry& entry, const WantedGrant& wanted) {
  const bool prepared = entry.state == ShardState::kPrepared || entry.state == ShardState::kLoading;
  if (!wanted.old_owner.empty()) return prepared || entry.state == ShardState::kServing;
  if (entry.state == ShardState::kServing && !entry.old_owner.empty()) {
    entry.old_owner.clear();
    steps_.Open(entry);
  }
  return entry.state == ShardState::kServing;
}

// Carries out a grant while another step of the shard may be at work.
void ShardBook::Pursue(ShardEntry& entry, const WantedGrant& wanted, ReplyId reply, bool news) {
  const bool add = wanted.old_owner.empty();
  const bool held = entry.state == ShardState::kDraining && entry.successor;
  if (news) {
    entry.replaced = false;
    AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kStale, "a newer grant came");
    entry.failures = 0;
    entry.successor.reset();
  }
  const CommandKind kind = add ? CommandKind::kAdd : CommandKind::kPrepareAdd;
  if (reply != 0) entry.waiters.push_back({reply, kind, wanted.grant.epoch});
  if (entry.state == ShardState::kForwarding) steps_.EndForwarding(entry);
  if (entry.state == ShardState::kAbsent) return steps_.Begin(entry, wanted);
  if (entry.grant.epoch == wanted.grant.epoch && IsUnderWay(entry, wanted)) return;
  if (news || !entry.next || add) entry.next = wanted;
  if (news && entry.state == ShardState::kLeaving) steps_.EndHandover(entry);
  if (entry.state == ShardState::kDraining && entry.paused && !ChangesRole(entry)) {
    return steps_.Drain(entry);
  }
  // The grant was repeated while it waits for a drain whose time is over: the drain gets its time
  // anew.
  const bool waits = entry.state == ShardState::kDraining && entry.drain_until == kNever;
  if (entry.state == ShardState::kPrepared) return steps_.BeginDrop(entry);
  if (entry.state == ShardState::kServing || waits || (news && held)) steps_.Drain(entry);
}

// True: this grant is being carried out already.
bool ShardBook::IsUnderWay(ShardEntry& entry, const WantedGrant& wanted) {
  switch (entry.state) {
    case ShardState::kPreparing:
      if (wanted.old_owner.empty()) entry.next = wanted;
      return true;
    case ShardState::kPrepared:
      entry.old_owner = wanted.old_owner;
      steps_.Load(entry);
      return true;
    case ShardState::kLoading:
      entry.old_owner = wanted.old_owner;
      return true;
    case ShardState::kChangingRole:
      return true;
    default:
      return false;
  }
}

// ---- drops ----

void ShardBook::LetGo(const ShardId& shard, ShardEpoch epoch, std::optional<Successor> successor,
                      ReplyId reply) {
  ShardEntry& entry = book_.shards[shard];
  if (epoch < entry.highest && !entry.dropped) {
    book_.answers.Finish(
        reply, {shard, epoch, ResultState::kStale, 0,
                absl::StrCat("it is held under the newer epoch ", entry.highest.value())});
    return;
  }
  if (epoch < entry.highest) return AnswerRepeat(entry, {shard, epoch, ResultState::kDone}, reply);
  if (successor && successor->epoch <= entry.called_off) {
    return AnswerCalledOff(entry, epoch, reply);
  }
  entry.highest = epoch;
  // Also when it only lets go to forward: a late repeat of the grant must not open it again.
  entry.dropped = !successor || !Planted(Defect::kReopensAfterHandover);
  entry.next.reset();
  AnswerWaiters(book_, entry, Outcome::kServed, ResultState::kFailed, "dropped meanwhile");
  if (AlreadyGone(entry, successor)) {
    book_.answers.Finish(reply, {shard, epoch, ResultState::kDone});
    return;
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kDrop, epoch});
  const bool held = entry.successor.has_value();
  entry.successor = std::move(successor);
  entry.drop_first = entry.state != ShardState::kDropping;
  book_.answers.Tell(reply, {shard, epoch, ResultState::kLoading});
  if (entry.state == ShardState::kDraining &&
      (entry.paused || held != entry.successor.has_value())) {
    return steps_.Drain(entry);  // what comes is not held any more, or is now
  }
  if (entry.state == ShardState::kDropping && held && !entry.successor) steps_.EndHandover(entry);
  BeginToLetGo(entry);
}

// The command asks again to let go for a new owner for whom that was called off. The control plane
// relies on it that nothing is ever forwarded to that owner.
void ShardBook::AnswerCalledOff(ShardEntry& entry, ShardEpoch epoch, ReplyId reply) {
  const bool leaves = entry.state == ShardState::kLeaving ||
                      (entry.state == ShardState::kDraining && entry.successor);  // for a later one
  const ShardId& shard = entry.grant.shard;
  if (entry.state == ShardState::kServing || leaves) {
    return book_.answers.Finish(reply, CalledOffResult(entry, epoch));
  }
  AnswerRepeat(entry, {shard, epoch, ResultState::kDone}, reply);
}

// A late repeat, about an older grant than the one that goes or has gone: changes nothing.
void ShardBook::AnswerRepeat(ShardEntry& entry, ShardResult done, ReplyId reply) {
  if (entry.state == ShardState::kAbsent || entry.state == ShardState::kForwarding) {
    return book_.answers.Finish(reply, std::move(done));
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kDrop, done.epoch});
}

// Nothing is served here. May begin or end the forwarding.
bool ShardBook::AlreadyGone(ShardEntry& entry, const std::optional<Successor>& successor) {
  if (entry.state == ShardState::kForwarding) {
    if (successor) {
      entry.successor = successor;
      steps_.Forward(entry);
    } else if (entry.forward_until == kNever) {
      steps_.Linger(entry);
    }
    return true;
  }
  return entry.state == ShardState::kAbsent;
}

// The step that is at work, if any, ends with the drop.
void ShardBook::BeginToLetGo(ShardEntry& entry) {
  const bool waits = entry.state == ShardState::kDraining && entry.drain_until == kNever;
  if (entry.state == ShardState::kServing && entry.successor) {
    steps_.Leave(entry);
  } else if (entry.state == ShardState::kServing || waits) {
    steps_.Drain(entry);
  } else if (entry.state == ShardState::kPrepared) {
    steps_.BeginDrop(entry);  // nothing is in flight
  }
}

// ---- members ----

// Only under the grant that the list is meant for. BeginMemberChanges() makes the call.
void ShardBook::SetMembers(const Grant& grant, ReplyId reply) {
  ShardEntry& entry = book_.shards[grant.shard];
  const bool serves = entry.state == ShardState::kServing && entry.grant.epoch == grant.epoch &&
                      entry.grant.role == Role::kPrimary && entry.old_owner.empty();
  if (!serves || !IsOfThisLife(book_, entry)) {
    return book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                                        "it does not serve as primary under this grant"});
  }
  if (grant.members_version < entry.grant.members_version && !Planted(Defect::kAnyMembers)) {
    return book_.answers.Finish(reply, {grant.shard, grant.epoch, ResultState::kStale, 0,
                                        "a later list of its members has been seen"});
  }
  entry.grant.members = grant.members;
  entry.grant.members_version = grant.members_version;
  if (const auto former = book_.member_changes.Want({entry.grant, reply})) {
    AnswerMemberChange(book_, *former, ResultState::kStale, "a later list of its members has come");
  }
}

void ShardBook::BeginMemberChanges() {
  while (auto begun = book_.member_changes.BeginNext()) {
    book_.out.actions.emplace_back(HandlerCall{.method = CommandKind::kSetMembers,
                                               .grant = std::move(begun->grant),
                                               .adds_member = begun->adds_member});
  }
}

void ShardBook::MembersUpdated(const HandlerDone& event) {
  const bool well = event.status.ok();
  const auto change = book_.member_changes.End(event.shard, well);
  if (!change) return;
  AnswerMemberChange(book_, *change, well ? ResultState::kDone : ResultState::kFailed,
                     well ? "" : event.status.ToString());
  ShardEntry& entry = book_.shards[event.shard];
  if (entry.state == ShardState::kLeaving) steps_.PrepareDrop(entry);
}

// ---- the whole server ----

// What the stored record grants. Held and not granted any more: goes. Held under the
// same epoch: stays as it is.
void ShardBook::On(Assigned& event) {
  if (book_.stopping) return;
  // What this life was told of a handover is newer than what was read.
  std::erase_if(event.preparing, [this](const Grant& grant) {
    const auto found = book_.shards.find(grant.shard);
    return found == book_.shards.end() || found->second.highest != grant.epoch ||
           found->second.dropped || found->second.life == book_.incarnation;
  });
  const std::vector<ShardId> leaving = HeldBut(book_, event.grants);
  for (const Grant& grant : event.grants) {
    WantedGrant wanted{grant};
    // It may have been made of one of those, whose requests end first.
    if (!book_.shards.contains(grant.shard)) wanted.after = leaving;
    AcceptGrant(wanted, 0);
  }
  for (auto& [shard, entry] : book_.shards) {
    if (entry.life == book_.incarnation) continue;
    if (entry.state == ShardState::kForwarding) steps_.EndForwarding(entry);
    if (entry.state == ShardState::kLeaving || entry.successor) steps_.EndHandover(entry);
    // Also what failed to load: it must not be tried again.
    const bool wanted = entry.highest != ShardEpoch() && !entry.dropped;
    if (wanted) LetGo(shard, entry.highest, std::nullopt, 0);
  }
  // A handover to this server is not over; the control plane asks for its next step.
  for (const Grant& grant : event.preparing) {
    ShardEntry& entry = book_.shards[grant.shard];
    entry.dropped = false;
    entry.life = book_.incarnation;
  }
}

void ShardBook::On(Stop&) {
  book_.stopping = true;
  for (auto& [shard, entry] : book_.shards) {
    if (IsBusy(entry.state)) LetGo(shard, entry.highest, std::nullopt, 0);
  }
}

void ShardBook::CheckEmptied() {
  if (!book_.stopping || emptied_) return;
  emptied_ = book_.busy == 0;
  if (emptied_) book_.out.actions.emplace_back(Emptied{});
}

bool ShardBook::in_use() const {
  return std::any_of(book_.shards.begin(), book_.shards.end(), [](const auto& e) {
    const ShardState state = e.second.state;
    return state == ShardState::kServing || state == ShardState::kLeaving ||
           state == ShardState::kDraining || state == ShardState::kChangingRole ||
           state == ShardState::kDropping;
  });
}

std::vector<ShardBook::Held> ShardBook::held() const {
  std::vector<Held> held;
  for (const auto& [shard, entry] : book_.shards) {
    const bool serves = entry.state == ShardState::kServing || entry.state == ShardState::kLeaving;
    if (!serves && entry.state != ShardState::kLoading) continue;
    held.push_back({entry.grant, serves && entry.old_owner.empty() && IsOfThisLife(book_, entry)});
  }
  return held;
}

}  // namespace shardmanager::server
