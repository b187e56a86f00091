#include "server/membership.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::server {
namespace {

constexpr Duration kRetryDelay = Milliseconds(200);
// Between sessions with a time-out that does not fit: ZooKeeper's settings are to be mended.
constexpr Duration kUnsoundSessionDelay = Seconds(10);
// A good-bye that the store does not hear is not waited for.
constexpr Duration kGoodByePatience = Seconds(2);

}  // namespace

Output<Membership::Action> Membership::OnEvent(TimePoint now, Event event) {
  now_ = now;
  std::visit([this](auto& e) { On(e); }, event);
  return Finish();
}

Output<Membership::Action> Membership::OnAdvance(TimePoint now) {
  now_ = now;
  if (retry_at_ && now_ >= *retry_at_) {
    retry_at_.reset();
    Enter(step_);
  }
  if (renew_at_ && now_ >= *renew_at_) Renew();
  if (lapse_at_ && now_ >= *lapse_at_) {
    lapse_at_.reset();
    if (step_ == Step::kMember) {
      Say(absl::StrCat("the lease has lapsed, as the coordination store does not answer; ",
                       KeepsServing() ? "what is served is served on (keep-serving), whoever else "
                                        "serves it; commands are refused"
                                      : "requests to primaries wait for its renewal, then they are "
                                        "refused"));
    }
  }
  if (leave_by_ && now_ >= *leave_by_) {
    leave_by_.reset();
    step_ = Step::kGone;
    out_.actions.emplace_back(Gone{});
  }
  return Finish();
}

Output<Membership::Action> Membership::Finish() {
  for (const auto& time : {retry_at_, renew_at_, lapse_at_, leave_by_}) {
    if (time) out_.next_wake = std::min(out_.next_wake, *time);
  }
  return std::exchange(out_, {});
}

void Membership::Say(std::string why) {
  if (std::exchange(said_, why) != why) out_.actions.emplace_back(Waiting{std::move(why)});
}

// Asks what the step needs to know.
void Membership::Enter(Step step) {
  step_ = step;
  retry_at_.reset();
  ++ticket_;
  switch (step) {
    case Step::kCell:
      out_.actions.emplace_back(ReadCell{ticket_});
      return;
    case Step::kApp:
      out_.actions.emplace_back(ReadApp{ticket_});
      return;
    case Step::kStanding:
      out_.actions.emplace_back(ReadStanding{ticket_});
      return;
    case Step::kRegistering: {
      // A node that is only made now has version 0 and is set once at registration.
      const int32_t version = standing_.known ? standing_.version : 0;
      incarnation_ = Incarnation(static_cast<uint64_t>(version) + 1);
      out_.actions.emplace_back(Register{ticket_, standing_.known, version, incarnation_});
      return;
    }
    case Step::kAssignment:
      out_.actions.emplace_back(ReadAssignment{ticket_, incarnation_});
      return;
    case Step::kLeaving:
      out_.actions.emplace_back(SayGoodBye{ticket_, incarnation_});
      return;
    case Step::kOffline:
      out_.actions.emplace_back(NewSession{});
      return;
    case Step::kMember:
    case Step::kGone:
      return;
  }
}

// The same step again, a little later.
void Membership::Retry() { retry_at_ = now_ + kRetryDelay; }

// Whether leases can work with the time-out that was granted. A server that starts gives up
// otherwise; one that was a member asks for another session until ZooKeeper's settings fit.
bool Membership::SessionIsSound() {
  const absl::Status granted = CheckGranted(terms_, timeout_);
  if (granted.ok()) return true;
  if (!was_member_) {
    out_.actions.emplace_back(GiveUp{granted});
    return false;
  }
  EndLease();
  Say(absl::StrCat("no lease is possible, ",
                   KeepsServing() ? "what is served is served on" : "primaries are refused", ": ",
                   granted.message()));
  if (step_ == Step::kOffline) {
    retry_at_ = now_ + kUnsoundSessionDelay;
  } else {
    Enter(Step::kOffline);  // at once: the live node must not stand for a server without a lease
  }
  return false;
}

void Membership::On(SessionUp& event) {
  timeout_ = event.timeout;
  lease_begin_.OnSession(event.asked_at);
  written_ = std::max(written_, event.asked_at);
  // While the store was away, sessions did not expire: a former life's time starts anew.
  blocker_ = Incarnation();
  const bool leaves = step_ == Step::kLeaving || step_ == Step::kGone;
  if (cell_known_ && !leaves && !SessionIsSound()) return;
  if (step_ == Step::kMember) Renew();  // the lease may be about to lapse, or have
  if (step_ == Step::kOffline) Enter(cell_known_ ? Step::kApp : Step::kCell);
}

void Membership::On(SessionExpired&) {
  if (step_ == Step::kGone) return;
  retry_at_.reset();
  EndLease();
  if (step_ == Step::kLeaving) {
    step_ = Step::kGone;
    leave_by_.reset();
    out_.actions.emplace_back(Gone{});
    return;
  }
  Say("the session has expired; registering again");
  Enter(Step::kOffline);
}

void Membership::On(SessionReplaced&) {
  if (step_ == Step::kCell) Enter(Step::kOffline);
}

void Membership::On(CellAnswer& event) {
  if (!Current(event.ticket, Step::kCell)) return;
  if (event.answer == Answer::kRefused) {
    out_.actions.emplace_back(GiveUp{event.why});
    return;
  }
  if (event.answer != Answer::kOk) {
    if (event.answer == Answer::kNotYet) {
      Say("the cell does not exist yet (is a shardmanagerd running for it?)");
    }
    return Retry();
  }
  cell_known_ = true;
  terms_ = event.terms;
  if (SessionIsSound()) Enter(Step::kApp);
}

void Membership::On(AppAnswer& event) {
  if (!Current(event.ticket, Step::kApp)) return;
  if (event.answer != Answer::kOk) {
    if (event.answer == Answer::kNotYet) {
      Say(absl::StrCat("app \"", app_, "\" does not exist yet (shardctl apply -f ...)"));
      // Or not any more: then nothing is granted, and the store, which says so, is in reach.
      if (KeepsServing()) Adopt(OnPartition::kStopAll);
    }
    if (!event.why.ok()) Say(absl::StrCat("the spec may not be read: ", event.why.message()));
    return Retry();
  }
  if (!event.why.ok()) {
    Say(absl::StrCat("the stored spec cannot be read, so secondaries serve under the lease, too: ",
                     event.why.ToString()));
  }
  Adopt(event.on_partition);
  Enter(Step::kStanding);
}

void Membership::Adopt(OnPartition policy) {
  policy_ = policy;
  out_.actions.emplace_back(SetPolicy{policy});
}

void Membership::On(StandingAnswer& event) {
  if (!Current(event.ticket, Step::kStanding)) return;
  if (!event.why.ok()) {
    Say(absl::StrCat("the stored registration cannot be read: ", event.why.ToString()));
  }
  if (event.answer != Answer::kOk) return Retry();
  standing_ = event.standing;
  if (!standing_.live) return Enter(Step::kRegistering);
  if (standing_.ours) return Member(standing_.incarnation);  // a lost answer was a yes
  // A former life of ours whose session has not expired, or somebody else's process.
  if (standing_.incarnation != blocker_) {
    blocker_ = standing_.incarnation;
    blocked_since_ = now_;
  }
  if (now_ - blocked_since_ > 2 * timeout_) {
    out_.actions.emplace_back(GiveUp{absl::AlreadyExistsError(
        absl::StrCat("another process runs under this server's name: ", standing_.who))});
    return;
  }
  Say(absl::StrCat("waiting for the session of the former life to expire: ", standing_.who));
  Retry();
}

void Membership::On(RegisterAnswer& event) {
  if (!Current(event.ticket, Step::kRegistering)) return;
  if (event.answer == Answer::kOk) return Member(incarnation_);
  if (!event.why.ok()) {
    Say(absl::StrCat("not registered: ", event.why.message()));
    step_ = Step::kStanding;
    return Retry();
  }
  Enter(Step::kStanding);  // somebody was faster, or nobody knows: read
}

void Membership::Member(Incarnation incarnation) {
  incarnation_ = incarnation;
  was_member_ = true;
  out_.actions.emplace_back(BecameMember{incarnation});
  // From here on it may be given shards, and be sent requests for them.
  out_.actions.emplace_back(AwaitLease{});
  Enter(Step::kAssignment);
}

void Membership::On(AssignmentAnswer& event) {
  if (!Current(event.ticket, Step::kAssignment)) return;
  if (!event.why.ok()) {
    Say(absl::StrCat("the stored assignment cannot be read: ", event.why.ToString()));
  }
  if (event.answer != Answer::kOk) return Retry();
  step_ = Step::kMember;
  Say("");
  // Only now: what an earlier life held and the record does not grant any more is
  // closed before a lease could let it serve again.
  Renew();
}

void Membership::Renew() {
  // At least every tick, so that each one proves the one before it in time.
  renew_at_ = now_ + RenewalInterval({timeout_, terms_.tick});
  if (std::exchange(lease_asked_, true)) return;  // one at a time: it waits for its answer
  out_.actions.emplace_back(RenewLease{++lease_ticket_, incarnation_, NeedsWrite()});
}

// A write costs the store more than a sync and a read, so only some of the renewals have one: those
// whose leases the last write would not allow in full.
bool Membership::NeedsWrite() const {
  if (Planted(Defect::kLeaseWithoutWrites)) return false;
  return now_ > written_ + LongestWithoutWrite(terms_.tick);
}

void Membership::On(LeaseAnswer& event) {
  if (event.ticket != lease_ticket_ || !renew_at_) return;
  lease_asked_ = false;
  if (event.answer == Answer::kOk) {
    if (event.written) written_ = std::max(written_, event.sent_at);
    const TimePoint begin = lease_begin_.OnRenewed(event.sent_at, now_, terms_.tick);
    TimePoint until = LeaseUntil(begin, timeout_, terms_.tick);
    if (!Planted(Defect::kLeaseWithoutWrites) && !Planted(Defect::kNoLeaseMargin)) {
      until = std::min(until, LeaseUntilByWrite(written_, timeout_));
    }
    // The next one can prove this one. Requests may wait for that.
    const bool needs_proof = begin < event.sent_at || until <= now_;
    if (needs_proof) renew_at_ = now_ + terms_.tick / 2 + Milliseconds(1);
    out_.actions.emplace_back(SetLease{until});
    if (until <= now_) return;  // lapsed already
    lapse_at_ = until;
    if (step_ == Step::kMember) Say("");
    return;
  }
  if (event.answer != Answer::kNotYet) return;  // nobody knows: the lease runs on
  // Evicted: the live node is gone though the session is not.
  EndLease();
  Say("the live node is gone: evicted; registering again");
  if (step_ == Step::kMember || step_ == Step::kAssignment) Enter(Step::kStanding);
}

void Membership::EndLease() {
  renew_at_.reset();
  lapse_at_.reset();
  lease_asked_ = false;
  lease_begin_.OnEnd();
  out_.actions.emplace_back(SetLease{TimePoint::min()});
}

void Membership::On(Leave& event) {
  const bool member = step_ == Step::kMember || step_ == Step::kAssignment;
  renew_at_.reset();
  retry_at_.reset();
  if (!event.good_bye) {
    leave_by_ = std::max(now_, lapse_at_.value_or(now_));
    step_ = Step::kLeaving;
    return;
  }
  leave_by_ = now_ + (member ? kGoodByePatience : Duration(0));
  if (member) {
    Enter(Step::kLeaving);
  } else {
    step_ = Step::kLeaving;
  }
}

void Membership::On(LeaveAnswer& event) {
  if (!Current(event.ticket, Step::kLeaving)) return;
  step_ = Step::kGone;
  leave_by_.reset();
  out_.actions.emplace_back(Gone{});
}

}  // namespace shardmanager::server
