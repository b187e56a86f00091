#include "orchestrator/control/leadership.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "coordination/paths.h"
#include "model/session_terms.h"

namespace shardmanager::orchestrator {

Leadership::Leadership(CellSession& session, Executor& executor, EventLog& events,
                       Callbacks callbacks)
    : session_(session), executor_(executor), events_(events), callbacks_(std::move(callbacks)) {}

void Leadership::Start(const v1::LeaderRecord& self) {
  self_ = self;
  lease_.Begin(executor_.Now());
}

// ---- the election ----

void Leadership::Stand() {
  const uint64_t session = session_.number();
  LeaderElection::Callbacks callbacks;
  callbacks.on_elected = [this, session](LeaderEpoch epoch) {
    executor_.Post([this, session, epoch] {
      if (session_.IsCurrent(session)) OnElected(epoch);
    });
  };
  callbacks.on_lost = [this, session](std::string why) {
    executor_.Post([this, session, why] {
      if (session_.IsCurrent(session)) Lose(why);
    });
  };
  callbacks.on_observed = [this, session](std::optional<v1::LeaderRecord> leader) {
    executor_.Post([this, session, leader] {
      if (session_.IsCurrent(session)) OnObserved(leader);
    });
  };
  election_ =
      std::make_unique<LeaderElection>(session_.store(), session_.paths(), self_, callbacks);
  election_->Start();
}

void Leadership::OnElected(LeaderEpoch epoch) {
  epoch_ = epoch;
  elected_at_ = executor_.Now();
  events_.BeginEpoch(epoch.value());  // before anybody is told that this process leads
  proven_ = InTouch();
  leader_ = self_;
  callbacks_.leader("");
  events_.Record("LeaderElected", absl::StrCat(self_.process(), " leads cell ",
                                               session_.cell().cell(), ", epoch ", epoch.value()));
  callbacks_.elected(epoch);
}

void Leadership::OnObserved(std::optional<v1::LeaderRecord> leader) {
  leader_ = std::move(leader);
  if (epoch_ || !leader_ || leader_->endpoint().empty()) return;
  // A record of an earlier life of ours, whose session has not expired yet, names us.
  if (leader_->endpoint() != self_.endpoint()) callbacks_.leader(leader_->endpoint());
}

void Leadership::Lose(const std::string& why) {
  if (!epoch_) return;
  events_.Record("LeaderLost", absl::StrCat(self_.process(), " does not lead any more: ", why));
  EndLead();
  leader_.reset();
}

void Leadership::EndLead() {
  proven_ = false;
  epoch_.reset();
  callbacks_.ended();
}

void Leadership::NewSession() {
  End();
  ++renewals_;
  renewing_ = false;
  leader_.reset();
  lease_.NewSession(executor_.Now());
}

void Leadership::End() {
  EndLead();
  election_.reset();
}

absl::Status Leadership::NotLeading() const {
  if (leader_) {
    return absl::FailedPreconditionError(absl::StrCat("this process is a standby; the leader is ",
                                                      leader_->process(), " at ",
                                                      leader_->endpoint()));
  }
  return absl::UnavailableError(session_.connected() ? "no leader is elected yet"
                                                     : "the coordination store is out of reach");
}

// ---- the lease ----

void Leadership::Beat() {
  if (session_.closed()) return;
  if (session_.joined()) Renew();
  LookAtLease();
  // A lease that lapses before the next one is noticed when it does.
  const TimePoint now = executor_.Now();
  const TimePoint next = now + RenewalInterval(TermsOf(session_.cell()));
  BeatAt(lease_.until() > now ? std::min(next, lease_.until()) : next);
}

// In place of the one that was planned.
void Leadership::BeatAt(TimePoint when) {
  executor_.PostAt(when, [this, beat = ++beats_] {
    if (beat == beats_) Beat();
  });
}

// A write that changes nothing, and a read: they show whether the session lived, and whether this
// process led, at some moment after the write was sent. The read alone, even after a sync, may be
// answered by a leader of the store that was deposed and does not know, while its successor ends
// the session.
void Leadership::Renew() {
  if (std::exchange(renewing_, true)) return;
  const Paths& paths = session_.paths();
  const uint64_t renewal = ++renewals_;
  const TimePoint sent_at = executor_.Now();
  auto proven = std::make_shared<absl::Status>();
  if (Planted(Defect::kLeaseWithoutWrites)) {
    session_.store().Sync([proven](absl::Status status) { *proven = std::move(status); });
  } else {
    session_.store().Multi({CheckVersion{paths.leader_epoch(), kAnyVersion}},
                           [proven](const WriteResult& result) { *proven = result.status; });
  }
  session_.store().Get(paths.leader_holder(),
                       [this, renewal, sent_at, proven](absl::StatusOr<Node> holder) {
                         if (!proven->ok()) holder = *proven;
                         executor_.Post([this, renewal, sent_at, holder = std::move(holder)] {
                           if (renewal != renewals_ || session_.closed()) return;
                           renewing_ = false;
                           OnRenewed(sent_at, holder);
                           LookAtLease();
                         });
                       });
}

void Leadership::RenewAnew() {
  renewing_ = false;
  Beat();
}

void Leadership::OnRenewed(TimePoint sent_at, const absl::StatusOr<Node>& holder) {
  if (!holder.ok() && !absl::IsNotFound(holder.status())) return;  // no answer: ask again
  // Deposed: the election finds that out from its watch.
  const bool ours = holder.ok() && holder->stat.ephemeral_session == session_.store().session_id();
  if (epoch_ && !ours) return;
  const SessionTerms granted{session_.store().session_timeout(),
                             Milliseconds(session_.cell().zookeeper_tick_ms())};
  const TimePoint now = executor_.Now();
  if (!lease_.Renewed(sent_at, now, granted)) BeatAt(now + granted.tick / 2 + Milliseconds(1));
}

// Updates proven(), tells what has changed, and begins held calls whose time has come.
void Leadership::LookAtLease() {
  const bool in_touch = InTouch();
  const bool was_proven = proven_;
  const bool proven = epoch_ && in_touch;
  if (was_proven && !proven && epoch_) {
    // Recorded before proven() is false: streams of events end then, and would miss it.
    events_.Record("LeaderCutOff", absl::StrCat("who leads is ", OutOfTouch().message()),
                   /*trouble=*/true);
  }
  proven_ = proven;
  if (!was_proven && proven) {
    events_.Record("LeaderProven",
                   absl::StrCat(self_.process(), " leads cell ", session_.cell().cell(), ", epoch ",
                                epoch_->value(), ": ZooKeeper answers"));
  }
  if (std::exchange(in_touch_, in_touch) != in_touch) callbacks_.touch(in_touch);
  for (Held& held : std::exchange(held_, {})) OnceInTouch(held.until, std::move(held.begin));
}

void Leadership::OnceInTouch(TimePoint until, std::function<void()> what) {
  const bool proven = InTouch() && session_.connected();
  if (!epoch_ || proven || executor_.Now() >= until) return what();
  held_.push_back({until, std::move(what)});
}

absl::Status Leadership::OutOfTouch() const {
  return absl::UnavailableError(absl::StrCat(
      "unknown since ", SilentFor() / Seconds(1), " s: ZooKeeper has not answered this process (",
      self_.process(), ") since then, and another process may lead"));
}

}  // namespace shardmanager::orchestrator
