// How a process of the control plane keeps its lease (lead_lease.h), and what it does and says
// without one.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "model/session_terms.h"
#include "orchestrator/control/controller.h"
#include "orchestrator/shell/change_outcome.h"

namespace shardmanager::orchestrator {

// Goes on for as long as the process runs, whatever becomes of its sessions.
void Controller::Beat() {
  if (stopping_) return;
  if (joined_) Renew();
  LookAtLease();
  const v1::CellConfig& cell = joined_ ? cell_ : options_.cell;
  const SessionTerms terms{Milliseconds(cell.session_timeout_ms()),
                           Milliseconds(cell.zookeeper_tick_ms())};
  BeatAt(executor_->Now() + RenewalInterval(terms));
}

// In place of the one that was planned.
void Controller::BeatAt(TimePoint when) {
  executor_->PostAt(when, [this, beat = ++beats_] {
    if (beat == beats_) Beat();
  });
}

// A write that changes nothing, and a read: they show whether the session lived, and whether this
// process led, at some moment after the write was sent. The read alone, even after a sync, may be
// answered by a leader of the store that was deposed and does not know, while its successor ends
// the session.
void Controller::Renew() {
  if (std::exchange(renewing_, true)) return;
  const uint64_t renewal = ++renewals_;
  const TimePoint sent_at = executor_->Now();
  auto proven = std::make_shared<absl::Status>();
  if (Planted(Defect::kLeaseWithoutWrites)) {
    store_->Sync([proven](absl::Status status) { *proven = std::move(status); });
  } else {
    store_->Multi({CheckVersion{paths_.leader_epoch(), kAnyVersion}},
                  [proven](const WriteResult& result) { *proven = result.status; });
  }
  store_->Get(paths_.leader_holder(),
              [this, renewal, sent_at, proven](absl::StatusOr<Node> holder) {
                if (!proven->ok()) holder = *proven;
                executor_->Post([this, renewal, sent_at, holder = std::move(holder)] {
                  if (renewal != renewals_ || stopping_) return;
                  renewing_ = false;
                  OnRenewed(sent_at, holder);
                  LookAtLease();
                });
              });
}

// The connection is there again: what waited for it was meant to be sent long ago.
void Controller::RenewAnew() {
  renewing_ = false;
  Beat();
}

void Controller::OnRenewed(TimePoint sent_at, const absl::StatusOr<Node>& holder) {
  if (!holder.ok() && !absl::IsNotFound(holder.status())) return;  // no answer: ask again
  // Deposed: the election finds that out from its watch.
  const bool ours = holder.ok() && holder->stat.ephemeral_session == store_->session_id();
  if (lead_ && !ours) return;
  const SessionTerms granted{store_->session_timeout(), Milliseconds(cell_.zookeeper_tick_ms())};
  const TimePoint now = executor_->Now();
  if (!lease_.Renewed(sent_at, now, granted)) BeatAt(now + granted.tick / 2 + Milliseconds(1));
}

bool Controller::InTouch() const { return lease_.Holds(executor_->Now()); }

// Tells of a change.
void Controller::LookAtLease() {
  const bool in_touch = InTouch();
  const bool led = leads_;
  const bool leads = lead_ && in_touch;
  if (led && !leads && lead_) {
    // Before leads() says so: with that, streams of events end.
    Record("LeaderCutOff", absl::StrCat("who leads is ", OutOfTouch().message()),
           /*trouble=*/true);
  }
  leads_ = leads;
  if (!led && leads) {
    Record("LeaderProven", absl::StrCat(self_.process(), " leads cell ", cell_.cell(), ", epoch ",
                                        lead_->epoch.value(), ": ZooKeeper answers"));
  }
  if (std::exchange(in_touch_, in_touch) != in_touch && on_touch) on_touch(in_touch);
  for (HeldChange& change : std::exchange(held_changes_, {})) OnceInTouch(std::move(change));
}

// Without a lease we may have been deposed, and `known` may be of our successor. A lease that holds
// after the subscriber has come proves that there was none: then the cell has lost epochs.
void Controller::SubscriberIsAhead(const AppName& app, MapVersion known) {
  executor_->Post([this, app, known] {
    if (!lead_) return;
    OnceInTouch({TimePoint::max(), [this, app, known] {
                   if (!lead_ || known.leader_epoch <= lead_->epoch.value()) return;
                   if (auto* driver = FindApp(app.value())) driver->SubscriberIsAhead(known);
                 }});
  });
}

void Controller::OnceInTouch(HeldChange change) {
  const bool proven = InTouch() && store_->state() == SessionState::kConnected;
  if (!lead_ || proven || executor_->Now() >= change.until) return change.begin();
  held_changes_.push_back(std::move(change));
}

absl::Status Controller::OutOfTouch() const {
  const auto silent = lease_.SilentFor(executor_->Now()) / Seconds(1);
  return absl::UnavailableError(
      absl::StrCat("unknown since ", silent, " s: ZooKeeper has not answered this process (",
                   self_.process(), ") since then, and another process may lead"));
}

absl::Status Controller::MayAnswer() const {
  if (!lead_) return NotLeading();
  if (!InTouch()) return OutOfTouch();
  if (lead_->listed) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(self_.process(), " was elected just now, and reads what is stored; try again"));
}

// A write that waits for a connection would happen long after its caller was told that it
// failed.
absl::Status Controller::MayChange(const Wanted& wanted) const {
  if (absl::Status may = MayAnswer(); !may.ok()) return may;
  if (wanted && !wanted()) {
    return NobodyWaits();
  }
  if (store_->state() == SessionState::kConnected) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("nothing was changed: ", self_.process(),
                   " leads, but has lost its connection to ZooKeeper and tries to connect again"));
}

}  // namespace shardmanager::orchestrator
