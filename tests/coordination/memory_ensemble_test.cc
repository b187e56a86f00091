// The hooks of the memory store that a simulator drives; what it shares with
// ZooKeeper is in conformance_test.cc.
#include "coordination/memory/memory_ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace shardmanager {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class MemoryEnsembleTest : public testing::Test {
 protected:
  std::unique_ptr<CoordinationStore> Connect() {
    auto s = ensemble.NewSession({.timeout = seconds(9)});
    ensemble.RunUntilIdle();
    return s;
  }
  void Create(CoordinationStore& s, const std::string& path, bool ephemeral = false) {
    s.Multi({CreateNode{path, "", ephemeral}}, [this](WriteResult r) { last_write = r.status; });
  }
  bool Exists(const std::string& path) const { return ensemble.tree().Get(path).ok(); }
  // The node goes with its session exactly then.
  void ExpectEnd(const std::string& path, seconds when) {
    ensemble.AdvanceTo(TimePoint(when) - Duration(1));
    EXPECT_TRUE(Exists(path));
    ensemble.AdvanceTo(TimePoint(when));
    EXPECT_FALSE(Exists(path));
  }

  MemoryEnsemble ensemble;
  std::optional<absl::Status> last_write;
};

TEST_F(MemoryEnsembleTest, NothingHappensUntilItIsRun) {
  auto s = ensemble.NewSession({});
  EXPECT_EQ(s->state(), SessionState::kConnecting);
  Create(*s, "/a");
  EXPECT_FALSE(Exists("/a"));
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kConnected);
  EXPECT_TRUE(Exists("/a"));
  EXPECT_FALSE(ensemble.RunOne());
}

TEST_F(MemoryEnsembleTest, OwnerChoosesWhoseRequestIsAppliedAndAnswerDelivered) {
  auto a = Connect();
  auto b = Connect();
  Create(*a, "/x");
  Create(*b, "/y");
  EXPECT_THAT(ensemble.Appliable(), ElementsAre(1, 2));
  EXPECT_THAT(ensemble.Deliverable(), IsEmpty());
  ensemble.Apply(2);
  EXPECT_TRUE(Exists("/y"));
  EXPECT_FALSE(Exists("/x"));
  EXPECT_FALSE(last_write.has_value());
  EXPECT_THAT(ensemble.Deliverable(), ElementsAre(2));
  ensemble.Deliver(2);
  EXPECT_TRUE(last_write->ok());
}

TEST_F(MemoryEnsembleTest, LoseNextAnswerAppliesTheWriteAndBreaksTheConnection) {
  auto s = Connect();
  ensemble.LoseNextAnswer(1);
  s->Sync([](absl::Status status) { EXPECT_TRUE(status.ok()); });
  ensemble.RunUntilIdle();  // that was no write
  Create(*s, "/a");
  ensemble.RunUntilIdle();
  EXPECT_TRUE(Exists("/a"));
  EXPECT_TRUE(absl::IsUnavailable(*last_write));
  EXPECT_EQ(s->state(), SessionState::kSuspended);
  ensemble.Reconnect(1);
  Create(*s, "/b");
  ensemble.RunUntilIdle();
  EXPECT_TRUE(last_write->ok());  // only the next one
}

TEST_F(MemoryEnsembleTest, DisconnectedSessionExpiresAfterItsTimeoutAndNotBefore) {
  auto s = Connect();
  Create(*s, "/e", true);
  ensemble.RunUntilIdle();
  EXPECT_EQ(ensemble.next_deadline(), kNever);
  ensemble.AdvanceTo(TimePoint(Seconds(100)));  // connected sessions do not expire
  ensemble.Disconnect(1);
  EXPECT_EQ(ensemble.next_deadline(), TimePoint(Seconds(109)));
  ensemble.AdvanceTo(TimePoint(Seconds(109)) - Duration(1));
  EXPECT_TRUE(Exists("/e"));
  ensemble.AdvanceTo(TimePoint(Seconds(109)));
  EXPECT_FALSE(Exists("/e"));
}

TEST_F(MemoryEnsembleTest, ClientOfCutLinkFindsOutBeforeItsSessionExpires) {
  auto s = Connect();
  Create(*s, "/e", true);
  ensemble.RunUntilIdle();
  ensemble.Cut(1);
  Create(*s, "/a");
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kConnected);  // it cannot know
  EXPECT_FALSE(Exists("/a"));
  ensemble.AdvanceTo(TimePoint(Seconds(6)));
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kSuspended);
  EXPECT_TRUE(absl::IsUnavailable(*last_write));
  EXPECT_TRUE(Exists("/e"));
  ensemble.AdvanceTo(TimePoint(Seconds(9)));
  EXPECT_FALSE(Exists("/e"));
  EXPECT_EQ(s->state(), SessionState::kSuspended);
  ensemble.Reconnect(1);
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kExpired);
}

TEST_F(MemoryEnsembleTest, CutThatHealsInTimeGoesUnnoticed) {
  auto s = Connect();
  ensemble.Cut(1);
  Create(*s, "/a");
  ensemble.AdvanceTo(TimePoint(Seconds(5)));
  ensemble.RunUntilIdle();
  EXPECT_FALSE(last_write.has_value());
  ensemble.Reconnect(1);
  ensemble.RunUntilIdle();
  EXPECT_TRUE(last_write->ok());
  EXPECT_EQ(s->state(), SessionState::kConnected);
}

TEST_F(MemoryEnsembleTest, OutageStopsTheClockOfSessions) {
  auto s = Connect();
  Create(*s, "/e", true);
  ensemble.RunUntilIdle();
  ensemble.StopStore();
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kSuspended);
  ensemble.AdvanceTo(TimePoint(Seconds(1'000)));
  ensemble.StartStore();
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kConnected);
  EXPECT_TRUE(Exists("/e"));
}

TEST_F(MemoryEnsembleTest, SessionThatTheStoreNeverKnewDoesNotExpire) {
  ensemble.StopStore();
  auto s = ensemble.NewSession({.timeout = seconds(9)});
  ensemble.Disconnect(1);
  ensemble.StartStore();
  EXPECT_EQ(ensemble.next_deadline(), kNever);
  ensemble.AdvanceTo(TimePoint(seconds(20)));
  ensemble.Reconnect(1);
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kConnected);
}

TEST_F(MemoryEnsembleTest, SessionThatExpiresBeforeItConnectsHasNoIdAndNoTimeout) {
  ensemble.StopStore();
  auto s = ensemble.NewSession({});
  ensemble.Expire(1);
  ensemble.StartStore();
  ensemble.RunUntilIdle();
  EXPECT_EQ(s->state(), SessionState::kExpired);
  EXPECT_EQ(s->session_id(), 0);
  EXPECT_EQ(s->session_timeout(), seconds(0));
}

TEST_F(MemoryEnsembleTest, SessionOfACrashedClientExpires) {
  auto s = Connect();
  Create(*s, "/e", true);
  Create(*s, "/sent", false);
  ensemble.Apply(1);
  ensemble.Disconnect(1);
  s.reset();
  ensemble.RunUntilIdle();
  EXPECT_TRUE(Exists("/e"));
  EXPECT_FALSE(Exists("/sent"));
  ensemble.AdvanceTo(TimePoint(Seconds(9)));
  EXPECT_FALSE(Exists("/e"));
}

TEST_F(MemoryEnsembleTest, WhatWasSentBeforeCloseIsStillApplied) {
  auto s = Connect();
  Create(*s, "/a");
  s->Close();
  ensemble.RunUntilIdle();
  EXPECT_TRUE(Exists("/a"));
  EXPECT_FALSE(last_write.has_value());
}

TEST_F(MemoryEnsembleTest, AStrandedSessionReadsTheOldStateUntilItSyncs) {
  auto a = Connect();
  auto b = Connect();
  ensemble.Strand(1, true);
  Create(*b, "/x");
  std::optional<absl::Status> read;
  std::optional<absl::Status> synced;
  a->Get("/x", [&](auto node) { read = node.status(); });
  ensemble.RunUntilIdle();
  EXPECT_TRUE(absl::IsNotFound(*read));
  a->Sync([&](absl::Status status) { synced = status; });
  a->Get("/x", [&](auto node) { read = node.status(); });
  ensemble.RunUntilIdle();
  EXPECT_FALSE(synced.has_value());
  ensemble.Strand(1, false);
  ensemble.RunUntilIdle();
  EXPECT_TRUE(synced->ok());
  EXPECT_TRUE(read->ok());
}

TEST_F(MemoryEnsembleTest, TheStoreExpiresAStrandedSessionWhileItsClientNoticesNothing) {
  auto a = Connect();
  Create(*a, "/x", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.Strand(1, true);
  ensemble.AdvanceTo(TimePoint(seconds(9)));
  ensemble.RunUntilIdle();
  EXPECT_FALSE(Exists("/x"));
  EXPECT_EQ(a->state(), SessionState::kConnected);
  ensemble.Strand(1, false);
  ensemble.RunUntilIdle();
  EXPECT_EQ(a->state(), SessionState::kExpired);
}

TEST_F(MemoryEnsembleTest, ADeposedLeaderAnswersReadsAndSyncsFromWhatItKnewAndMakesNoWrites) {
  auto a = Connect();
  auto b = Connect();
  Create(*a, "/mine", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.Depose(1, true);
  ensemble.AdvanceTo(TimePoint(seconds(9)));
  ensemble.RunUntilIdle();
  EXPECT_FALSE(Exists("/mine")) << "the new leader has ended the session";
  std::optional<absl::Status> synced, read, behind;
  a->Sync([&](absl::Status status) { synced = status; });
  a->Get("/mine", [&](auto node) { read = node.status(); });
  last_write.reset();
  Create(*a, "/late");
  a->Get("/mine", [&](auto node) { behind = node.status(); });
  ensemble.RunUntilIdle();
  EXPECT_TRUE(synced->ok());
  EXPECT_TRUE(read->ok());
  EXPECT_FALSE(last_write.has_value());
  EXPECT_FALSE(behind.has_value()) << "it waits for the write";
  ensemble.Depose(1, false);
  ensemble.RunUntilIdle();
  EXPECT_TRUE(absl::IsUnavailable(*last_write));
  EXPECT_FALSE(Exists("/late"));
  EXPECT_EQ(a->state(), SessionState::kExpired);
}

TEST_F(MemoryEnsembleTest, ASessionThatOutlivesItsDeposedLeaderGoesOn) {
  auto a = Connect();
  Create(*a, "/mine", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.AdvanceTo(TimePoint(seconds(7)));
  ensemble.Depose(1, true);
  EXPECT_EQ(ensemble.next_deadline(), TimePoint(seconds(7)) + a->session_timeout());
  ensemble.Depose(1, false);
  ensemble.RunUntilIdle();
  EXPECT_EQ(a->state(), SessionState::kConnected);
  EXPECT_TRUE(Exists("/mine"));
}

TEST_F(MemoryEnsembleTest, AWatchOfAStrandedSessionFiresWhenItsServerHasCaughtUp) {
  auto a = Connect();
  auto b = Connect();
  ensemble.Strand(1, true);
  Create(*b, "/x");
  ensemble.RunUntilIdle();
  bool fired = false;
  a->Get(
      "/x", [](auto) {}, [&] { fired = true; });
  ensemble.RunUntilIdle();
  EXPECT_FALSE(fired);
  ensemble.Strand(1, false);
  ensemble.RunUntilIdle();
  EXPECT_TRUE(fired);
}

// As its server is not the one that had the write.
TEST_F(MemoryEnsembleTest, AfterALostAnswerAServerThatLagsShowsTheWriteOnlyAfterASync) {
  auto a = Connect();
  ensemble.LagAfterReconnect(1, seconds(2));
  ensemble.LoseNextAnswer(1);
  Create(*a, "/x");
  ensemble.RunUntilIdle();
  EXPECT_TRUE(absl::IsUnavailable(*last_write));
  ensemble.Reconnect(1);
  std::optional<absl::Status> plain, synced, after;
  a->Get("/x", [&](auto node) { plain = node.status(); });
  a->Sync([&](absl::Status status) { synced = status; });
  a->Get("/x", [&](auto node) { after = node.status(); });
  ensemble.RunUntilIdle();
  EXPECT_TRUE(absl::IsNotFound(*plain));
  EXPECT_FALSE(synced.has_value());
  EXPECT_EQ(ensemble.next_deadline(), TimePoint(seconds(2)));
  ensemble.AdvanceTo(TimePoint(seconds(2)));
  ensemble.RunUntilIdle();
  EXPECT_TRUE(synced->ok());
  EXPECT_TRUE(after->ok());
}

TEST_F(MemoryEnsembleTest, AServerThatLagsFiresWatchesWhenItHasCaughtUpAndKeepsTheSession) {
  auto a = Connect();
  auto b = Connect();
  Create(*a, "/mine", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.LagAfterReconnect(1, seconds(20));
  ensemble.Disconnect(1);
  Create(*b, "/x");
  ensemble.RunUntilIdle();
  ensemble.Reconnect(1);
  bool fired = false;
  std::optional<absl::Status> read;
  a->Get(
      "/x", [&](auto node) { read = node.status(); }, [&] { fired = true; });
  ensemble.RunUntilIdle();
  EXPECT_TRUE(absl::IsNotFound(*read));
  EXPECT_FALSE(fired);
  ensemble.AdvanceTo(TimePoint(seconds(19)));
  EXPECT_TRUE(Exists("/mine")) << "the store hears of the session";
  ensemble.AdvanceTo(TimePoint(seconds(20)));
  ensemble.RunUntilIdle();
  EXPECT_TRUE(fired);
  EXPECT_EQ(a->state(), SessionState::kConnected);
}

TEST_F(MemoryEnsembleTest, ASessionThatExpiresWhileItsServerLagsIsToldOnce) {
  auto a = Connect();
  ensemble.LagAfterReconnect(1, seconds(2));
  ensemble.Disconnect(1);
  ensemble.Reconnect(1);
  ensemble.RunUntilIdle();
  ensemble.Expire(1);
  ensemble.AdvanceTo(TimePoint(seconds(3)));
  ensemble.RunUntilIdle();
  EXPECT_EQ(a->state(), SessionState::kExpired);
}

TEST_F(MemoryEnsembleTest, ARequestJustBeforeTheBreakDoesNotProlongTheSession) {
  auto a = Connect();
  Create(*a, "/x", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.Cut(1);  // paused
  ensemble.AdvanceTo(TimePoint(seconds(5)));
  ensemble.Reconnect(1);
  Create(*a, "/y");
  ensemble.RunUntilIdle();
  ensemble.SetTouchLag(Duration(1));
  ensemble.Cut(1);
  ExpectEnd("/x", seconds(9));
}

// Seed 20335 of the simulation: a server of the store that still has its client's connection has
// not lost its leader, and has told it by the next ping.
TEST_F(MemoryEnsembleTest, WhatAConnectionThatSurvivesHadNotToldIsToldWithTheNextPing) {
  auto a = Connect();
  Create(*a, "/x", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.SetTouchLag(seconds(1));
  ensemble.AdvanceTo(TimePoint(seconds(1)));
  Create(*a, "/y");
  ensemble.RunUntilIdle();
  ensemble.Cut(1);
  ensemble.AdvanceTo(TimePoint(seconds(3)));
  ensemble.Reconnect(1);
  ensemble.AdvanceTo(TimePoint(seconds(5)));
  ensemble.Cut(1);
  ExpectEnd("/x", seconds(10));
}

// Seed 1396 of the simulation: a request from before it was deposed hid that.
TEST_F(MemoryEnsembleTest, ASessionThatComesBackFromADeposedLeaderIsHeardOfThen) {
  auto a = Connect();
  Create(*a, "/x", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.Depose(1, true);
  ensemble.AdvanceTo(TimePoint(seconds(4)));
  ensemble.Depose(1, false);
  ensemble.SetTouchLag(Duration(1));
  ensemble.Cut(1);
  ExpectEnd("/x", seconds(13));
}

TEST_F(MemoryEnsembleTest, AnIdleClientIsHeardOfByItsPings) {
  auto a = Connect();
  Create(*a, "/x", /*ephemeral=*/true);
  ensemble.RunUntilIdle();
  ensemble.AdvanceTo(TimePoint(seconds(7)));
  ensemble.SetTouchLag(seconds(1));
  ensemble.Cut(1);
  ExpectEnd("/x", seconds(12));
}

}  // namespace
}  // namespace shardmanager
