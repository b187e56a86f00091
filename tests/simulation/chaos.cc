#include "tests/simulation/chaos.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace shardmanager::simulation {
namespace {
constexpr size_t kMostServers = 12;
}  // namespace

const std::vector<Chaos::Kind>& Chaos::Kinds() {
  static const std::vector<Kind> kinds = {
      {"kill server", &Chaos::KillServer},
      {"terminate server", &Chaos::TerminateServer},
      {"pause server", &Chaos::PauseServer},
      {"flicker", &Chaos::Flicker},
      {"kill control", &Chaos::KillControl},
      {"terminate control", &Chaos::TerminateControl},
      {"pause control", &Chaos::PauseControl},
      {"depose the leader", &Chaos::Depose},
      {"cut one way", &Chaos::CutOneWay},
      {"isolate host", &Chaos::IsolateHost},
      {"cut from store", &Chaos::CutFromStore},
      {"strand from store", &Chaos::StrandFromStore},
      {"depose the store's leader", &Chaos::DeposeStoreLeader},
      {"come back to lag", &Chaos::ComeBackToLag},
      {"isolate relay", &Chaos::IsolateRelay},
      {"cut leader from server", &Chaos::CutLeaderFromServer},
      {"expire session", &Chaos::ExpireSession},
      {"lose answer", &Chaos::LoseAnswer},
      {"stop store", &Chaos::StopStore},
      {"slow store", &Chaos::SlowStore},
      {"lose messages", &Chaos::LoseMessages},
      {"duplicate commands", &Chaos::DuplicateCommands},
      {"slow network", &Chaos::SlowNetwork},
      {"slow adds", &Chaos::SlowAdds},
      {"failing adds", &Chaos::FailAdds},
      {"hanging drops", &Chaos::HangDrops},
      {"failing drops", &Chaos::FailDrops},
      {"slow requests", &Chaos::SlowRequests},
      {"change spec", &Chaos::ChangeSpec},
      {"add server", &Chaos::AddServer},
  };
  return kinds;
}

Chaos::Chaos(Cluster& cluster, Operator& person, uint64_t seed,
             std::function<void(const std::string&)> told)
    : cluster_(cluster),
      operator_(person),
      random_(seed),
      told_(std::move(told)),
      loses_cell_(Random(~seed).Below(5) == 0) {
  const double density = 0.2 + 0.8 * random_.Fraction();
  for (const Kind& kind : Kinds()) {
    if (random_.Fraction() < density) enabled_.push_back(kind.fault);
  }
  pause_ = Milliseconds(static_cast<int64_t>(500 + random_.Below(6'000)));
}

void Chaos::Start() {
  on_ = true;
  PlanLasting();
  Next();
}

// A world that always heals hides what only a restart would mend.
void Chaos::PlanLasting() {
  // A quorum that has lost most of its members for good needs its operator (docs/operations.md),
  // and while members come and go one server may be most of them: one leaves at rest, later.
  if (cluster_.quorum) return;
  leaves_late_ = random_.Below(3) == 0;
  // A primary that cannot reach one of its secondaries is what the others have to bear.
  if (cluster_.replicates && random_.Below(2) == 0) lasting_.push_back(&Chaos::GoGray);
  starves_late_ = cluster_.replicates && random_.Below(2) == 0;
  const bool more = random_.Below(3) == 0;
  for (Fault kind : {&Chaos::LeaveForGood, &Chaos::GoGray, &Chaos::FallSick}) {
    if (more && random_.Below(2) == 0) lasting_.push_back(kind);
  }
  if (loses_cell_) lasting_.push_back(&Chaos::LoseCell);
  for (size_t i = lasting_.size(); i > 0; --i) {
    cluster_.schedule.After(UpTo(Seconds(60)), [this] {
      if (!on_ || lasting_.empty()) return;
      ++faults_;
      (this->*lasting_.back())();
      lasting_.pop_back();
    });
  }
}

void Chaos::Next() {
  cluster_.schedule.After(UpTo(pause_), [this] {
    if (!on_) return;
    if (!enabled_.empty()) {
      ++faults_;
      (this->*enabled_[random_.Below(enabled_.size())])();
      cluster_.store.LookAtLinks();
    }
    Next();
  });
}

void Chaos::Heal() {
  on_ = false;
  Tell("all faults end");
  while (!undos_.empty()) {
    const auto undo = std::move(undos_.front());
    undos_.pop_front();
    if (undo) undo();
  }
  for (Fault fault : std::exchange(lasting_, {})) (this->*fault)();
  if (leaves_late_) cluster_.schedule.After(UpTo(Seconds(15)), [this] { LeaveUnseen(); });
  if (starves_late_) cluster_.schedule.After(UpTo(Seconds(15)), [this] { KeepOutOfStep(); });
  cluster_.StartAll();
  cluster_.store.LookAtLinks();
}

void Chaos::Until(Duration most, std::function<void()> undo) {
  UntilAfter(UpTo(most), std::move(undo));
}
void Chaos::UntilAfter(Duration exactly, std::function<void()> undo) {
  undos_.push_back(std::move(undo));
  const auto it = std::prev(undos_.end());
  cluster_.schedule.After(exactly, [this, it] {
    if (!on_) return;  // healed: gone from the list
    const auto now = std::move(*it);
    undos_.erase(it);
    now();
    cluster_.store.LookAtLinks();
  });
}

Duration Chaos::UpTo(Duration most) {
  return Duration(static_cast<int64_t>(random_.Below(most.count() + 1)));
}
const std::string& Chaos::SomeServer() {
  return cluster_.servers()[random_.Below(cluster_.servers().size())];
}
const std::string& Chaos::SomeControl() {
  return cluster_.controls()[random_.Below(cluster_.controls().size())];
}
std::string Chaos::SomeHost() { return random_.Below(3) == 0 ? SomeControl() : SomeServer(); }
void Chaos::Tell(const std::string& what) { told_(what); }

// ---- what lasts ----

void Chaos::LeaveForGood() {
  const std::string host = SomeServer();
  if (operator_.Free().size() < 3) return;
  Tell(host + " leaves for good");
  cluster_.Leave(host);
  cluster_.store.LookAtLinks();
}
// A crash, and then a life that ends with a good-bye while the leader, to whom the store is slow,
// looks at it.
void Chaos::LeaveUnseen() {
  const std::string host = SomeServer();
  if (operator_.Free().size() < 3 || !cluster_.Running(host)) return;
  Tell(host + " crashes, begins anew, and leaves for good; the store is slow");
  for (const std::string& control : cluster_.controls()) {
    cluster_.store.SetSlow(control, Milliseconds(700));
    cluster_.schedule.After(Seconds(5),
                            [this, control] { cluster_.store.SetSlow(control, Duration(0)); });
  }
  BeginAnew(host);
  cluster_.schedule.After(UpTo(Milliseconds(1'500)), [this, host] {
    cluster_.Retire(host);
    cluster_.store.LookAtLinks();
  });
}
void Chaos::GoGray() {
  const std::string one = SomeServer();
  const std::string other = SomeServer();
  if (one == other) return;
  Tell(absl::StrCat(one, " and ", other, " cannot reach each other any more"));
  cluster_.BreakLink(one, other);
}
// A primary cannot reach the first one of its secondaries any more, and all of these begin anew:
// that one will never come into step, which must not keep the others from it.
void Chaos::KeepOutOfStep() {
  for (const v1::Shard& shard : operator_.wanted().key_space().shards()) {
    std::string primary;
    std::vector<std::string> secondaries;
    for (const std::string& name : cluster_.servers()) {
      SimServer* server = cluster_.server(name);
      const auto right = server == nullptr ? std::nullopt : server->MayServe(shard.id());
      if (!right) continue;
      if (right->role == Role::kPrimary) primary = name;
      if (right->role == Role::kSecondary) secondaries.push_back(name);
    }
    if (primary.empty() || secondaries.size() < 2) continue;
    const std::string& first = secondaries.front();
    Tell(absl::StrCat(primary, " and ", first, " cannot reach each other any more, and ",
                      absl::StrJoin(secondaries, " "), " begin anew"));
    cluster_.BreakLink(primary, first);
    for (const std::string& name : secondaries) BeginAnew(name);
    return;
  }
}
void Chaos::LoseCell() {
  Tell("the store is lost, and the cell is made anew");
  operator_.MakeCellAnew();
}
void Chaos::FallSick() {
  const std::string host = SomeServer();
  if (operator_.Free().size() < 3) return;
  Tell(host + " can add no shard any more");
  cluster_.habits.sick.insert(host);
}

// ---- processes ----

// Sometimes before its old session has expired.
void Chaos::KillAndRestart(const std::string& host) {
  if (!cluster_.Alive(host)) return;
  Tell("kill " + host);
  cluster_.Kill(host);
  Until(random_.Below(2) == 0 ? Milliseconds(500) : Seconds(15),
        [this, host] { cluster_.Start(host); });
}
void Chaos::KillServer() { KillAndRestart(SomeServer()); }
void Chaos::KillControl() { KillAndRestart(SomeControl()); }

void Chaos::TerminateServer() {
  const std::string host = SomeServer();
  if (!cluster_.Running(host)) return;
  Tell("terminate " + host);
  cluster_.Terminate(host);
  Until(Seconds(20), [this, host] { cluster_.Start(host); });
}
void Chaos::TerminateControl() {
  const std::string host = SomeControl();
  if (!cluster_.Running(host)) return;
  Tell("terminate " + host);
  cluster_.Terminate(host);
  Until(Seconds(10), [this, host] { cluster_.Start(host); });
}

// Its next life begins at once, as the session of this one ends with it.
void Chaos::BeginAnew(const std::string& host) {
  cluster_.store.ExpireOneOf(host);
  cluster_.Kill(host);
  cluster_.Start(host);
  cluster_.store.LookAtLinks();
}

// Its next life is over again before everybody has heard of it.
void Chaos::Flicker() {
  const std::string host = SomeServer();
  if (!cluster_.Running(host)) return;
  Tell("flicker " + host);
  for (const std::string& control : cluster_.controls()) SlowStoreOf(control);
  BeginAnew(host);
  Until(Milliseconds(1'500), [this, host] {
    cluster_.Terminate(host);
    Until(Seconds(20), [this, host] { cluster_.Start(host); });
  });
}

void Chaos::PauseFor(const std::string& host, Duration exactly) {
  if (!cluster_.Running(host)) return;
  Tell("pause " + host);
  cluster_.Pause(host);
  UntilAfter(exactly, [this, host] {
    Tell("resume " + host);
    cluster_.Resume(host);
    if (on_ && random_.Below(2) == 0) CutSoon(host);
  });
}
// What stalls a machine often breaks its links next, before anybody has heard that it
// lives.
void Chaos::CutSoon(const std::string& host) {
  cluster_.schedule.After(Duration(static_cast<int64_t>(random_.Below(60'000))), [this, host] {
    if (!on_) return;
    Tell(absl::StrCat("cut ", host, " -> store"));
    cluster_.network.Cut(host, kStoreHost);
    Until(Seconds(12), [this, host] { cluster_.network.Mend(host, kStoreHost); });
    cluster_.store.LookAtLinks();
  });
}
// Often for less than its session's time-out: what it does then, it does under a session that has
// little left.
void Chaos::PauseServer() {
  const bool survives = random_.Below(2) == 0;
  PauseFor(SomeServer(), UpTo(survives ? cluster_.session_timeout() : Seconds(12)));
}
void Chaos::PauseControl() { PauseFor(SomeControl(), UpTo(Seconds(12))); }

// The leader stands still, or is cut off from the store, until another one has taken over, and has
// something to do; what the old one sent comes again, late.
void Chaos::Depose() {
  const std::string host = cluster_.Leader();
  if (host.empty()) return;
  Tell("depose " + host);
  MoveSomething();
  cluster_.network.habits.duplication = 1;
  cluster_.network.habits.straggler = Seconds(10);
  const Duration over = cluster_.session_timeout() + UpTo(Seconds(4));
  UntilAfter(over, [this] { cluster_.network.habits.duplication = 0; });
  cluster_.schedule.After(UpTo(Seconds(1)), [this, host, over] {
    if (!on_) return;
    if (random_.Below(2) == 0) return PauseFor(host, over);
    Tell(absl::StrCat("cut ", host, " -> store"));
    cluster_.network.Cut(host, kStoreHost);
    UntilAfter(over, [this, host] { cluster_.network.Mend(host, kStoreHost); });
    cluster_.store.LookAtLinks();
  });
  cluster_.schedule.After(over, [this] {
    if (on_) MoveSomething();
  });
}

// ---- network ----

void Chaos::CutOneWay() {
  const std::string from = SomeHost();
  const std::string to = SomeHost();
  Tell(absl::StrCat("cut ", from, " -> ", to));
  cluster_.network.Cut(from, to);
  Until(Seconds(15), [this, from, to] { cluster_.network.Mend(from, to); });
}
void Chaos::IsolateHost() {
  const std::string host = SomeHost();
  Tell("isolate " + host);
  cluster_.network.Isolate(host);
  Until(Seconds(15), [this, host] { cluster_.network.Rejoin(host); });
}
void Chaos::CutFromStore() {
  const std::string host = SomeHost();
  Tell(absl::StrCat("cut ", host, " -> store"));
  cluster_.network.Cut(host, kStoreHost);
  Until(Seconds(12), [this, host] { cluster_.network.Mend(host, kStoreHost); });
}
// Mostly for longer than its session lasts without being heard of.
void Chaos::StrandFromStore() {
  const std::string host = SomeHost();
  Tell(absl::StrCat("strand ", host, " with a follower that is cut off"));
  cluster_.store.Strand(host, true);
  const Duration outlived = random_.Below(4) == 0 ? Duration(0) : cluster_.session_timeout();
  UntilAfter(outlived + UpTo(Seconds(5)), [this, host] { cluster_.store.Strand(host, false); });
}
// Up to syncLimit ticks, which may be longer than a session.
void Chaos::DeposeStoreLeader() {
  const std::string host = SomeHost();
  Tell("depose the store's leader, to whom " + host + " talks");
  cluster_.store.Depose(host, true);
  Until(Seconds(15), [this, host] { cluster_.store.Depose(host, false); });
}
void Chaos::ComeBackToLag() {
  const std::string host = SomeHost();
  Tell(host + " comes back to a server of the store that lags");
  cluster_.store.ComeBackToLag(host);
}
void Chaos::IsolateRelay() {
  const std::string host = cluster_.relays()[random_.Below(cluster_.relays().size())];
  Tell("isolate " + host);
  cluster_.network.Isolate(host);
  Until(Seconds(15), [this, host] { cluster_.network.Rejoin(host); });
}
// Just when it has something to tell to that one.
void Chaos::CutLeaderFromServer() {
  const std::string from = cluster_.Leader();
  const std::string to = SomeServer();
  if (from.empty()) return;
  Tell(absl::StrCat("cut ", from, " -> ", to));
  cluster_.network.Cut(from, to);
  Until(Seconds(15), [this, from, to] { cluster_.network.Mend(from, to); });
  MoveSomething();
}
void Chaos::LoseMessages() {
  Tell("lose messages");
  cluster_.network.habits.loss = 0.2 * random_.Fraction();
  Until(Seconds(10), [this] { cluster_.network.habits.loss = 0; });
}
void Chaos::DuplicateCommands() {
  Tell("duplicate commands");
  cluster_.network.habits.duplication = random_.Fraction();
  cluster_.network.habits.straggler = UpTo(Seconds(8));
  Until(Seconds(20), [this] { cluster_.network.habits.duplication = 0; });
}
void Chaos::SlowNetwork() {
  Tell("slow network");
  cluster_.network.habits.most = Milliseconds(2) + UpTo(Milliseconds(400));
  Until(Seconds(15), [this] { cluster_.network.habits.most = Milliseconds(2); });
}

// ---- the store ----

// Of the control plane only: that a server's session lives as long as its time-out is
// what the lease rests on (docs/invariants.md).
void Chaos::ExpireSession() {
  const std::string host = SomeControl();
  Tell("expire the session of " + host);
  cluster_.store.ExpireOneOf(host);
}
void Chaos::LoseAnswer() {
  const std::string host = SomeHost();
  Tell("lose the answer to a write of " + host);
  cluster_.store.LoseAnswerOf(host);
}
void Chaos::StopStore() {
  if (!cluster_.store.store_up()) return;
  Tell("stop the store");
  cluster_.store.StopStore();
  Until(Seconds(12), [this] {
    Tell("start the store");
    cluster_.store.StartStore();
  });
}

void Chaos::SlowStore() { SlowStoreOf(SomeHost()); }
void Chaos::SlowStoreOf(const std::string& host) {
  Tell("slow store for " + host);
  cluster_.store.SetSlow(host, UpTo(Milliseconds(700)));
  Until(Seconds(10), [this, host] { cluster_.store.SetSlow(host, Duration(0)); });
}

// ---- the application and its operators ----

void Chaos::SlowAdds() {
  Tell("slow adds");
  cluster_.habits.slowest_add = UpTo(Seconds(8));
  Until(Seconds(20), [this] { cluster_.habits.slowest_add = Milliseconds(50); });
}
void Chaos::FailAdds() {
  Tell("failing adds");
  cluster_.habits.add_fails = random_.Fraction();
  Until(Seconds(10), [this] { cluster_.habits.add_fails = 0; });
}
void Chaos::HangDrops() {
  Tell("hanging drops");
  cluster_.habits.slowest_drop = UpTo(Seconds(20));
  Until(Seconds(20), [this] { cluster_.habits.slowest_drop = Milliseconds(20); });
}
void Chaos::FailDrops() {
  Tell("failing drops");
  cluster_.habits.drop_fails = random_.Fraction();
  Until(Seconds(10), [this] { cluster_.habits.drop_fails = 0; });
}
void Chaos::SlowRequests() {
  Tell("slow requests");
  cluster_.habits.slowest_work = UpTo(Seconds(3));
  Until(Seconds(10), [this] { cluster_.habits.slowest_work = Milliseconds(20); });
}
// Where a server is sick, moves are as many as there are without this.
void Chaos::MoveSomething() {
  if (cluster_.habits.sick.empty()) operator_.DrainSomething();
}
void Chaos::ChangeSpec() {
  Tell("change the spec");
  operator_.ChangeSomething();
}
void Chaos::AddServer() {
  if (cluster_.servers().size() >= kMostServers) return;
  Tell("add a server");
  cluster_.AddServer();
}

}  // namespace shardmanager::simulation
