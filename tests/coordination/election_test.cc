#include "coordination/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "coordination/envelope.h"
#include "tests/coordination/store_test.h"

namespace shardmanager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Of a cell, as far as an election needs them.
std::vector<WriteOp> Folders(const Paths& paths) {
  return {CreateNode{paths.root(), ""}, CreateNode{paths.leader(), ""},
          CreateNode{paths.leader_epoch(), ""}};
}

v1::LeaderRecord Record(const std::string& process) {
  v1::LeaderRecord record;
  record.set_process(process);
  return record;
}

template <typename Harness>
class ElectionTest : public StoreTest<Harness> {
 protected:
  using Session = typename StoreTest<Harness>::Session;

  const Paths paths{"c"};

  Session ConnectWithCell() {
    Session s = this->Connect();
    MakeCell(s);
    return s;
  }
  void MakeCell(const Session& s) { ASSERT_TRUE(this->Write(s, Folders(paths)).status.ok()); }

  // What happens to it goes to the log: "a:elected 1", "a:lost", "a:sees b".
  std::unique_ptr<LeaderElection> Candidate(const Session& s, const std::string& name) {
    auto election = std::make_unique<LeaderElection>(
        *s, paths, Record(name),
        LeaderElection::Callbacks{
            .on_elected =
                [this, name](LeaderEpoch epoch) {
                  this->log.Add(name + ":elected " + std::to_string(epoch.value()));
                },
            .on_lost = [this, name](std::string) { this->log.Add(name + ":lost"); },
            .on_observed =
                [this, name](std::optional<v1::LeaderRecord> leader) {
                  this->log.Add(name + ":sees " + (leader ? leader->process() : "nobody"));
                }});
    election->Start();
    return election;
  }
};
TYPED_TEST_SUITE(ElectionTest, Harnesses, HarnessNames);

TYPED_TEST(ElectionTest, OnlyCandidateWinsAndTheEpochIsTheNodesVersion) {
  auto s = this->ConnectWithCell();
  auto a = this->Candidate(s, "a");
  ASSERT_TRUE(this->AwaitLog("a:elected 1"));
  ASSERT_TRUE(this->AwaitLog("a:sees a"));
  EXPECT_THAT(this->log.events(), ElementsAre("a:sees nobody", "a:elected 1", "a:sees a"));
  EXPECT_EQ(this->Get(s, this->paths.leader_epoch())->stat.version, 1);
  const Node holder = *this->Get(s, this->paths.leader_holder());
  EXPECT_EQ(holder.stat.ephemeral_session, s->session_id());
  v1::LeaderRecord record;
  ASSERT_TRUE(Open(holder.data, &record).ok());
  EXPECT_EQ(record.process(), "a");
  s->Close();
}

TYPED_TEST(ElectionTest, NextInLineTakesOverWhenTheLeaderResigns) {
  auto sa = this->ConnectWithCell();
  auto sb = this->Connect();
  auto a = this->Candidate(sa, "a");
  ASSERT_TRUE(this->AwaitLog("a:elected 1"));
  auto b = this->Candidate(sb, "b");
  ASSERT_TRUE(this->AwaitLog("b:sees a"));
  EXPECT_EQ(this->log.Count("b:elected 2"), 0u);
  a->Resign();
  EXPECT_TRUE(this->AwaitLog("b:elected 2"));
  // Its session goes on, but it does not stand again.
  b->Resign();
  ASSERT_TRUE(this->AwaitGone(sa, this->paths.leader_holder()));
  ASSERT_TRUE(this->Sync(sa).ok());
  EXPECT_EQ(this->Get(sa, this->paths.leader_epoch())->stat.version, 2);
  EXPECT_EQ(this->log.Count("a:lost"), 0u);
}

TYPED_TEST(ElectionTest, NextInLineTakesOverWhenTheLeadersSessionIsClosed) {
  auto sa = this->ConnectWithCell();
  auto sb = this->Connect();
  auto a = this->Candidate(sa, "a");
  ASSERT_TRUE(this->AwaitLog("a:elected 1"));
  auto b = this->Candidate(sb, "b");
  ASSERT_TRUE(this->AwaitLog("b:sees a"));
  sa->Close();
  EXPECT_TRUE(this->AwaitLog("b:elected 2"));
  ASSERT_TRUE(this->AwaitLog("b:sees b"));
  sb->Close();
}

TYPED_TEST(ElectionTest, LeaderStaysThroughDisconnectShorterThanItsSession) {
  auto s = this->ConnectWithCell();
  auto a = this->Candidate(s, "a");
  ASSERT_TRUE(this->AwaitLog("a:sees a"));
  const auto before = this->log.events();
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  this->harness.Reconnect(*s);
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.events(), before);
  EXPECT_EQ(this->Get(s, this->paths.leader_epoch())->stat.version, 1);
  s->Close();
}

TYPED_TEST(ElectionTest, LeaderWhoseSessionExpiresIsDeposedAndFencedOff) {
  auto observer = this->ConnectWithCell();
  auto sa = this->Connect(kShortTimeout);
  auto a = this->Candidate(sa, "a");
  ASSERT_TRUE(this->AwaitLog("a:sees a"));
  auto b = this->Candidate(observer, "b");
  ASSERT_TRUE(this->AwaitLog("b:sees a"));
  this->harness.Expire(*sa);
  EXPECT_TRUE(this->AwaitLog("a:lost"));
  EXPECT_TRUE(this->AwaitLog("b:elected 2"));
  const WriteResult late =
      this->Write(observer, {CheckVersion{this->paths.leader_epoch(), 1}, CreateNode{"/late", ""}});
  EXPECT_EQ(late.status.code(), absl::StatusCode::kFailedPrecondition);
  sa->Close();
  observer->Close();
}

TYPED_TEST(ElectionTest, HolderOfOurEarlierSessionIsWaitedFor) {
  auto old_session = this->ConnectWithCell();
  auto new_session = this->Connect();
  auto old_life = this->Candidate(old_session, "old");
  ASSERT_TRUE(this->AwaitLog("old:elected 1"));
  auto new_life = this->Candidate(new_session, "new");
  ASSERT_TRUE(this->AwaitLog("new:sees old"));
  ASSERT_TRUE(this->Sync(new_session).ok());
  EXPECT_EQ(this->log.Count("new:elected 2"), 0u);
  old_session->Close();
  EXPECT_TRUE(this->AwaitLog("new:elected 2"));
  new_session->Close();
}

TYPED_TEST(ElectionTest, LeaderWhoseHolderIsDeletedIsDeposedAndStandsAgain) {
  auto s = this->ConnectWithCell();
  auto a = this->Candidate(s, "a");
  ASSERT_TRUE(this->AwaitLog("a:sees a"));
  ASSERT_TRUE(this->Write(s, {DeleteNode{this->paths.leader_holder()}}).status.ok());
  ASSERT_TRUE(this->AwaitLog("a:elected 2"));
  EXPECT_EQ(this->log.Count("a:lost"), 1u);
  s->Close();
}

TYPED_TEST(ElectionTest, SecondElectionOfOneSessionAdoptsItsHolder) {
  auto s = this->ConnectWithCell();
  auto first = this->Candidate(s, "first");
  ASSERT_TRUE(this->AwaitLog("first:elected 1"));
  first.reset();
  auto second = this->Candidate(s, "second");
  EXPECT_TRUE(this->AwaitLog("second:elected 1"));
  s->Close();
}

TYPED_TEST(ElectionTest, WaitsForTheCellToBeMade) {
  auto s = this->Connect();
  auto a = this->Candidate(s, "a");
  ASSERT_TRUE(this->AwaitLog("a:sees nobody"));
  ASSERT_TRUE(this->Sync(s).ok());
  this->MakeCell(s);
  EXPECT_TRUE(this->AwaitLog("a:elected 1"));
  s->Close();
}

TYPED_TEST(ElectionTest, OfManyOneLeadsAtATimeUntilAllHaveHadTheirTurn) {
  auto observer = this->ConnectWithCell();
  std::vector<typename TestFixture::Session> sessions;
  std::map<std::string, std::unique_ptr<LeaderElection>> candidates;
  for (const std::string name : {"a", "b", "c", "d", "e"}) {
    sessions.push_back(this->Connect());
    candidates[name] = this->Candidate(sessions.back(), name);
  }
  for (uint64_t epoch = 1; epoch <= 5; ++epoch) {
    std::string leader;
    ASSERT_TRUE(this->harness.Await([&] {
      for (auto& [name, candidate] : candidates) {
        if (this->log.Count(name + ":elected " + std::to_string(epoch)) == 1) leader = name;
      }
      return !leader.empty();
    }));
    candidates.at(leader)->Resign();
    candidates.erase(leader);
  }
  EXPECT_THAT(candidates, IsEmpty());
  for (auto& s : sessions) s->Close();
}

TYPED_TEST(ElectionTest, NothingIsToldAfterItIsDestroyed) {
  auto s = this->ConnectWithCell();
  auto other = this->Connect();
  auto a = this->Candidate(s, "a");
  ASSERT_TRUE(this->AwaitLog("a:sees a"));
  a.reset();
  const auto before = this->log.events();
  ASSERT_TRUE(this->Write(other, {DeleteNode{this->paths.leader_holder()}}).status.ok());
  ASSERT_TRUE(this->Sync(s).ok());
  EXPECT_EQ(this->log.events(), before);
  s->Close();
}

// ---- Faults that only the memory store can time.

TEST(ElectionFaultTest, WinWhoseAnswerIsLostIsFoundByReadingBack) {
  MemoryEnsemble ensemble;
  const Paths paths("c");
  auto s = ensemble.NewSession({});
  s->Multi(Folders(paths), [](WriteResult) {});
  ensemble.RunUntilIdle();
  std::vector<uint64_t> elected;
  LeaderElection election(*s, paths, Record("a"), {.on_elected = [&](LeaderEpoch epoch) {
    elected.push_back(epoch.value());
  }});
  ensemble.LoseNextAnswer(ensemble.last_session());
  election.Start();
  ensemble.RunUntilIdle();
  EXPECT_EQ(ensemble.tree().Get(paths.leader_epoch())->stat.version, 1);
  EXPECT_THAT(elected, IsEmpty());
  ensemble.Reconnect(ensemble.last_session());
  ensemble.RunUntilIdle();
  EXPECT_THAT(elected, ElementsAre(1));
  EXPECT_EQ(ensemble.tree().Get(paths.leader_epoch())->stat.version, 1);
}

// The connection breaks, at each step of the way out, and comes back before the session ends.
TEST(ElectionFaultTest, OneThatResignsLetsGoThoughTheConnectionBreaks) {
  bool too_late = false;
  for (int steps = 0; !too_late; ++steps) {
    MemoryEnsemble ensemble;
    const Paths paths("c");
    auto s = ensemble.NewSession({});
    s->Multi(Folders(paths), [](WriteResult) {});
    LeaderElection election(*s, paths, Record("a"), {});
    election.Start();
    ensemble.RunUntilIdle();
    ASSERT_TRUE(ensemble.tree().Get(paths.leader_holder()).ok());
    election.Resign();
    for (int i = 0; i < steps; ++i) too_late = !ensemble.RunOne();

    ensemble.Disconnect(ensemble.last_session());
    ensemble.RunUntilIdle();
    ensemble.Reconnect(ensemble.last_session());
    ensemble.RunUntilIdle();
    EXPECT_FALSE(ensemble.tree().Get(paths.leader_holder()).ok()) << "after " << steps << " steps";
  }
}

// A win whose answer was lost, and then somebody else takes the lead, at each step of
// the way back: the epoch of that one is never taken for ours.
TEST(ElectionFaultTest, EpochOfASuccessorIsNeverTakenForOurs) {
  bool too_late = false;
  for (int steps = 0; !too_late; ++steps) {
    MemoryEnsemble ensemble;
    const Paths paths("c");
    auto other = ensemble.NewSession({});
    other->Multi(Folders(paths), [](WriteResult) {});
    ensemble.RunUntilIdle();
    auto s = ensemble.NewSession({});
    const SessionNumber ours = ensemble.last_session();
    std::vector<uint64_t> elected;
    bool lost = false;
    LeaderElection election(
        *s, paths, Record("a"),
        {.on_elected = [&](LeaderEpoch epoch) { elected.push_back(epoch.value()); },
         .on_lost = [&](std::string) { lost = true; }});
    ensemble.LoseNextAnswer(ours);
    election.Start();
    ensemble.RunUntilIdle();
    ensemble.Reconnect(ours);
    for (int i = 0; i < steps; ++i) too_late = !ensemble.RunOne();

    other->Multi({DeleteNode{paths.leader_holder()},
                  CreateNode{paths.leader_holder(), Seal(Record("b")), true},
                  SetNode{paths.leader_epoch(), "", 1}},
                 [](WriteResult result) { EXPECT_TRUE(result.status.ok()) << result.status; });
    ensemble.Apply(1);
    ensemble.RunUntilIdle();
    for (uint64_t epoch : elected) EXPECT_EQ(epoch, 1u) << "after " << steps << " steps";
    EXPECT_EQ(lost, !elected.empty()) << "after " << steps << " steps";
    EXPECT_TRUE(!too_late || !elected.empty());
  }
}

// Three candidates under random schedules and faults. Whatever happens, an epoch is
// claimed by one candidate at most; and when faults stop, exactly one leads, and its
// epoch is the stored one.
class ElectionScheduleTest : public testing::TestWithParam<int> {
 protected:
  struct Process {
    std::unique_ptr<CoordinationStore> session;
    SessionNumber number = 0;
    std::unique_ptr<LeaderElection> election;
    std::optional<uint64_t> leads;
  };

  ElectionScheduleTest() : random_(GetParam()) {
    auto s = ensemble_.NewSession({});
    s->Multi({CreateNode{paths_.root(), ""}, CreateNode{paths_.leader(), ""},
              CreateNode{paths_.leader_epoch(), ""}},
             [](WriteResult) {});
    ensemble_.RunUntilIdle();
    for (Process& p : processes_) StartProcess(p);
  }

  void StartProcess(Process& p) {
    p.election.reset();
    p.session.reset();
    p.leads.reset();
    p.session = ensemble_.NewSession({.timeout = std::chrono::seconds(1)});
    p.number = ensemble_.last_session();
    p.election = std::make_unique<LeaderElection>(
        *p.session, paths_, Record(std::to_string(p.number)),
        LeaderElection::Callbacks{.on_elected =
                                      [this, &p](LeaderEpoch epoch) {
                                        EXPECT_FALSE(p.leads) << "elected twice without a loss";
                                        p.leads = epoch.value();
                                        const auto [claim, fresh] =
                                            claims_.emplace(epoch.value(), p.number);
                                        EXPECT_EQ(claim->second, p.number)
                                            << "two claim epoch " << epoch.value();
                                      },
                                  .on_lost = [&p](std::string) { p.leads.reset(); }});
    p.election->Start();
  }

  void Fault(Process& p) {
    switch (random_.Below(8)) {
      case 0:
        return ensemble_.Disconnect(p.number);
      case 1:
        return ensemble_.Cut(p.number);
      case 2:
      case 3:
        return ensemble_.Reconnect(p.number);
      case 4:
        return ensemble_.LoseNextAnswer(p.number);
      case 5:
        return ensemble_.AdvanceTo(ensemble_.now() + Milliseconds(random_.Below(700)));
      case 6:
        if (random_.Below(2) == 0) return ensemble_.Expire(p.number);
        return DeleteHolder(p);
      case 7:
        if (p.session->state() == SessionState::kExpired) StartProcess(p);
        return;
    }
  }

  // What somebody may do by hand.
  void DeleteHolder(Process& p) {
    p.session->Multi({DeleteNode{paths_.leader_holder()}}, [](WriteResult) {});
  }

  void Step() {
    const auto appliable = ensemble_.Appliable();
    const auto deliverable = ensemble_.Deliverable();
    const size_t choices = appliable.size() + deliverable.size();
    if (choices == 0) return;
    const size_t pick = random_.Below(choices);
    if (pick < appliable.size()) {
      ensemble_.Apply(appliable[pick]);
    } else {
      ensemble_.Deliver(deliverable[pick - appliable.size()]);
    }
  }

  void Settle() {
    for (Process& p : processes_) ensemble_.Reconnect(p.number);
    ensemble_.RunUntilIdle();
    for (Process& p : processes_) {
      if (p.session->state() == SessionState::kExpired) StartProcess(p);
    }
    // Closed sessions that could not say so expire.
    ensemble_.AdvanceTo(ensemble_.now() + Seconds(10));
    ensemble_.RunUntilIdle();
  }

  MemoryEnsemble ensemble_;
  const Paths paths_{"c"};
  Random random_;
  std::map<uint64_t, SessionNumber> claims_;
  Process processes_[3];
};

TEST_P(ElectionScheduleTest, OneClaimPerEpochAndOneLeaderInTheEnd) {
  for (int round = 0; round < 20; ++round) {
    for (int step = 0; step < 60; ++step) {
      if (random_.Below(10) == 0) Fault(processes_[random_.Below(3)]);
      Step();
    }
    Settle();
    std::vector<uint64_t> leading;
    for (const Process& p : processes_) {
      if (p.leads) leading.push_back(*p.leads);
    }
    ASSERT_THAT(leading, ElementsAre(ensemble_.tree().Get(paths_.leader_epoch())->stat.version))
        << "round " << round;
  }
  EXPECT_GT(claims_.size(), 2u);  // leadership did change hands
}

INSTANTIATE_TEST_SUITE_P(Seeds, ElectionScheduleTest, testing::Range(1, 201));

}  // namespace
}  // namespace shardmanager
