#include "server/shard_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"

namespace shardmanager::server {
namespace {

// A load that failed while nobody waited for it (the control plane may be down) is
// tried again after this, doubled each time.
constexpr Duration kFirstRetry = Seconds(1);
constexpr uint32_t kMostDoublings = 5;

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
  CheckRetries();
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
// process stops or a newer grant came, it stays closed and goes on once it is drained
// (false): requests must never be admitted again under what was overtaken.
bool ShardBook::CallOff(Entry& entry) {
  AnswerWaiters(entry, CommandKind::kAdd, ResultState::kFailed,
                "requests of the former grant did not finish in time");
  if (stopping_ || entry.next) {
    AnswerWaiters(entry, CommandKind::kDrop, ResultState::kFailed,
                  "requests in flight did not finish in time; none is admitted any more");
    return false;
  }
  Enter(entry, State::kServing);
  entry.dropped = false;
  entry.drop_first = false;
  out_.actions.emplace_back(OpenShard{entry.grant});
  AnswerWaiters(entry, CommandKind::kDrop, ResultState::kFailed,
                "requests in flight did not finish in time; the shard stays");
  return true;
}

void ShardBook::CheckRetries() {
  while (!retries_.empty() && retries_.begin()->first <= now_) {
    Entry& entry = entries_[retries_.begin()->second];
    retries_.erase(retries_.begin());
    const bool wanted = !stopping_ && !entry.dropped && entry.grant.epoch == entry.highest;
    if (wanted && entry.state == State::kAbsent) Load(entry, entry.grant);
  }
  if (!retries_.empty()) out_.next_wake = std::min(out_.next_wake, retries_.begin()->first);
}

void ShardBook::Enter(Entry& entry, State state) {
  if (entry.state == State::kAbsent) ++busy_;
  entry.state = state;
  if (entry.state == State::kAbsent) --busy_;
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
    return absl::FailedPreconditionError(absl::StrCat("leader epoch ", command.leader_epoch.value(),
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
  for (const Grant& grant : command.grants) {
    if (command.kind == CommandKind::kAdd) {
      Add(grant, command.reply);
    } else {
      Drop(grant.shard, grant.epoch, command.reply);
    }
  }
}

void ShardBook::Add(const Grant& grant, ReplyId reply) {
  Entry& entry = entries_[grant.shard];
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
  const bool serving = entry.state == State::kServing;
  if (serving && entry.grant.epoch == grant.epoch) {
    Answer(reply, {grant.shard, grant.epoch, ResultState::kDone});
    return;
  }
  if (reply != 0) results_[reply].push_back({grant.shard, grant.epoch, ResultState::kLoading});
  Join(entry, grant, reply, news);
}

// What is wanted now, on top of whatever goes on.
void ShardBook::Join(Entry& entry, const Grant& grant, ReplyId reply, bool news) {
  if (news) {
    AnswerWaiters(entry, CommandKind::kAdd, ResultState::kStale, "a newer grant came");
    entry.failures = 0;
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kAdd, grant.epoch});
  if (entry.state == State::kAbsent) return Load(entry, grant);
  if (news || entry.state == State::kServing) entry.next = grant;
  // A repeat of what a drain holds up is patient anew.
  const bool waits = entry.state == State::kDraining && entry.drain_until == kNever;
  if (entry.state == State::kServing || waits) Drain(entry);
}

void ShardBook::Drop(const ShardId& shard, ShardEpoch epoch, ReplyId reply) {
  Entry& entry = entries_[shard];
  if (epoch < entry.highest && !entry.dropped) {
    Answer(reply, {shard, epoch, ResultState::kStale, 0,
                   absl::StrCat("it is held under the newer epoch ", entry.highest.value())});
    return;
  }
  entry.highest = std::max(entry.highest, epoch);
  entry.dropped = true;
  entry.next.reset();
  AnswerWaiters(entry, CommandKind::kAdd, ResultState::kFailed, "dropped meanwhile");
  if (entry.state == State::kAbsent) {
    Answer(reply, {shard, epoch, ResultState::kDone});
    return;
  }
  if (reply != 0) entry.waiters.push_back({reply, CommandKind::kDrop, epoch});
  entry.drop_first = entry.state != State::kDropping;
  const bool waits = entry.state == State::kDraining && entry.drain_until == kNever;
  if (entry.state == State::kServing || waits) Drain(entry);
  if (reply != 0) results_[reply].push_back({shard, epoch, ResultState::kLoading});
}

// What the stored record grants. Held and not granted any more: goes. Held under the
// same epoch: stays as it is.
void ShardBook::On(Assigned& event) {
  if (stopping_) return;
  for (const Grant& grant : event.grants) Add(grant, 0);
  for (auto& [shard, entry] : entries_) {
    // Also what failed to load: it must not be tried again.
    const bool wanted = entry.highest != ShardEpoch() && !entry.dropped;
    if (wanted && entry.life != incarnation_) Drop(shard, entry.highest, 0);
  }
}

void ShardBook::On(Stop&) {
  stopping_ = true;
  for (auto& [shard, entry] : entries_) {
    if (entry.state != State::kAbsent) Drop(shard, entry.highest, 0);
  }
}

// ---- what came of it ----

void ShardBook::Load(Entry& entry, const Grant& wanted) {
  const Grant grant = wanted;  // may be the entry's own
  Enter(entry, State::kLoading);
  entry.grant = grant;
  entry.next.reset();
  out_.actions.emplace_back(ShowLoading{grant.shard});
  out_.actions.emplace_back(RunAdd{grant});
}

// May be repeated: the wait begins anew.
void ShardBook::Drain(Entry& entry) {
  EndDrain(entry);
  Enter(entry, State::kDraining);
  entry.drain_until = now_ + options_.drain_timeout;
  deadlines_.insert({entry.drain_until, entry.grant.shard});
  out_.actions.emplace_back(CloseShard{entry.grant.shard});
}

// Or: it has no deadline any more.
void ShardBook::EndDrain(Entry& entry) {
  deadlines_.erase({entry.drain_until, entry.grant.shard});
  entry.drain_until = kNever;
}

void ShardBook::On(Loaded& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kLoading || entry.grant.epoch != event.epoch) return;
  if (!event.status.ok()) return LoadFailed(entry, event.status);
  if (entry.drop_first) return RunDropOf(entry);
  if (entry.next) return Load(entry, *entry.next);
  entry.failures = 0;
  Enter(entry, State::kServing);
  out_.actions.emplace_back(OpenShard{entry.grant});
  AnswerWaiters(entry, CommandKind::kAdd, ResultState::kDone, "");
}

// The application holds nothing now.
void ShardBook::LoadFailed(Entry& entry, const absl::Status& status) {
  const ShardId shard = entry.grant.shard;
  Enter(entry, State::kAbsent);
  entry.drop_first = false;
  out_.actions.emplace_back(CloseShard{shard});
  AnswerWaiters(entry, CommandKind::kDrop, ResultState::kDone, "");
  if (entry.next) return Load(entry, *entry.next);
  if (entry.dropped) return;
  if (entry.waiters.empty()) {
    const uint32_t doublings = std::min(entry.failures++, kMostDoublings);
    retries_.insert({now_ + kFirstRetry * (1 << doublings), shard});
  }
  AnswerWaiters(entry, CommandKind::kAdd, ResultState::kFailed, status.ToString());
}

void ShardBook::RunDropOf(Entry& entry) {
  entry.drop_first = false;
  Enter(entry, State::kDropping);
  out_.actions.emplace_back(RunDrop{entry.grant.shard});
}

void ShardBook::On(Progress& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kLoading || entry.grant.epoch != event.epoch) return;
  for (const Waiter& waiter : entry.waiters) {
    if (waiter.kind != CommandKind::kAdd) continue;
    results_[waiter.reply].push_back(
        {event.shard, event.epoch, ResultState::kLoading, event.fraction});
  }
}

void ShardBook::On(Drained& event) {
  Entry& entry = entries_[event.shard];
  if (entry.state != State::kDraining) return;
  EndDrain(entry);
  // A newer grant of a shard that was not dropped in between needs no DropShard.
  if (entry.next && !entry.drop_first) return Load(entry, *entry.next);
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
  AnswerWaiters(entry, CommandKind::kDrop, ResultState::kDone, "");
  if (entry.next) Load(entry, *entry.next);
}

// ---- answers ----

// A final result.
void ShardBook::Answer(ReplyId reply, ShardResult result) {
  if (reply == 0) return;
  results_[reply].push_back(std::move(result));
  --open_[reply];
}

void ShardBook::AnswerWaiters(Entry& entry, CommandKind kind, ResultState state,
                              const std::string& error) {
  std::vector<Waiter> others;
  for (const Waiter& waiter : std::exchange(entry.waiters, {})) {
    if (waiter.kind != kind) {
      others.push_back(waiter);
      continue;
    }
    Answer(waiter.reply, {entry.grant.shard, waiter.epoch, state, 0, error});
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
    return e.second.state != State::kAbsent && e.second.state != State::kLoading;
  });
}

std::vector<ShardBook::Held> ShardBook::held() const {
  std::vector<Held> held;
  for (const auto& [shard, entry] : entries_) {
    if (entry.state == State::kLoading || entry.state == State::kServing) {
      held.push_back({entry.grant, entry.state == State::kServing});
    }
  }
  return held;
}

}  // namespace shardmanager::server
