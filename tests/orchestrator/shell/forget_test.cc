// A server is forgotten only while it is gone, and its lives are counted on.
#include "orchestrator/shell/forget.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "coordination/envelope.h"
#include "coordination/records.h"
#include "orchestrator/shell/recovery.h"
#include "tests/orchestrator/shell/one_server_store.h"

namespace shardmanager::orchestrator {
namespace {

class ForgetTest : public OneServerStore {
 protected:
  // `what` happens when so many of its requests are through: a sync, the registration, the live
  // nodes, the write. -1: never.
  absl::StatusOr<int32_t> Forget(int after, const std::function<void()>& what,
                                 std::function<bool()> wanted = {}) {
    std::optional<absl::StatusOr<int32_t>> answer;
    MarkForgotten(
        Options(), server_, [&](absl::StatusOr<int32_t> done) { answer = std::move(done); },
        std::move(wanted));
    LetThrough(after, what);
    return answer.value_or(absl::DeadlineExceededError("no answer"));
  }
  absl::StatusOr<int32_t> Forget() {
    return Forget(-1, [] {});
  }
  absl::StatusOr<int32_t> Forget(int comes_back_after) {
    return Forget(comes_back_after, [this] { ComeBack(); });
  }
  int32_t Version() { return ensemble_.tree().Get(Registration())->stat.version; }
  v1::ServerRecord Record() {
    v1::ServerRecord record;
    EXPECT_TRUE(OpenServer(ensemble_.tree().Get(Registration())->data, server_, &record).ok());
    return record;
  }
};

TEST_F(ForgetTest, TheRecordStaysAndSaysSo) {
  v1::ServerRecord departed;
  departed.set_server(server_.value());
  departed.set_departed(true);
  departed.mutable_fault_domain()->set_region("r1");
  Write({SetNode{Registration(), Seal(departed)}});
  ensemble_.RunUntilIdle();
  const int32_t version = Version();
  const auto done = Forget();
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, version + 1);
  EXPECT_EQ(Version(), version + 1) << "a later life has a later number";
  EXPECT_TRUE(Record().forgotten());
  EXPECT_TRUE(Record().departed());
  EXPECT_EQ(Record().fault_domain().region(), "r1");
}

// Two writes since its life: its good-bye, and this one.
TEST_F(ForgetTest, TheNextLeaderReadsThatItIsForgottenAndWhichLifeWasItsLast) {
  v1::ServerRecord departed;
  departed.set_server(server_.value());
  departed.set_departed(true);
  Write({SetNode{Registration(), Seal(departed)}});
  ensemble_.RunUntilIdle();
  const auto last_life = static_cast<uint64_t>(Version()) - 1;
  ASSERT_TRUE(Forget().ok());
  ServerWatch watch(Options(), [](const Event&) {});
  std::optional<RecoveredState> state;
  Recover(Options(), watch, [&](absl::StatusOr<RecoveredState> read) {
    ASSERT_TRUE(read.ok()) << read.status();
    state = *std::move(read);
  });
  ensemble_.RunUntilIdle();
  ASSERT_TRUE(state.has_value());
  ASSERT_EQ(state->event.servers.size(), 1u);
  EXPECT_TRUE(state->event.servers[0].forgotten);
  EXPECT_EQ(state->event.servers[0].last_life, Incarnation(last_life));
}

TEST_F(ForgetTest, ASecondTimeWritesNothing) {
  ASSERT_TRUE(Forget().ok());
  const int32_t version = Version();
  const auto again = Forget();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, version);
  EXPECT_EQ(Version(), version);
}

TEST_F(ForgetTest, RefusesWhileTheServerIsLive) {
  EXPECT_EQ(Forget(2).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(Record().forgotten());
}

TEST_F(ForgetTest, AServerThatComesBackJustBeforeTheWriteIsNotForgotten) {
  EXPECT_EQ(Forget(3).status().code(), absl::StatusCode::kAborted);
  EXPECT_FALSE(Record().forgotten());
}

TEST_F(ForgetTest, WhatCannotBeReadIsNotWrittenOver) {
  Write({SetNode{Registration(), "what a disk made of it"}});
  ensemble_.RunUntilIdle();
  const int32_t version = Version();
  EXPECT_EQ(Forget().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Version(), version);
}

TEST_F(ForgetTest, OneThatNeverRegisteredIsNotFound) {
  Write({DeleteNode{Registration()}});
  ensemble_.RunUntilIdle();
  EXPECT_EQ(Forget().status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ForgetTest, IsNotBegunOnceNobodyWaitsForTheAnswer) {
  bool wanted = true;
  const auto done = Forget(
      2, [&wanted] { wanted = false; }, [&wanted] { return wanted; });
  EXPECT_EQ(done.status().code(), absl::StatusCode::kCancelled) << done.status();
  EXPECT_FALSE(Record().forgotten());
}

TEST_F(ForgetTest, OneWhoseAnswerIsLostIsReadBack) {
  const auto done = Forget(3, [this] { ensemble_.LoseNextAnswer(session_); });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(*done, Version());
  EXPECT_TRUE(Record().forgotten());
}

TEST_F(ForgetTest, SaysThatTheOutcomeIsUnknownWhenTheSessionEndsBeforeTheAnswer) {
  const auto done = Forget(3, [this] { LoseAnswerAndSession(); });
  EXPECT_EQ(done.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(done.status().message().find("whether the server was forgotten is unknown"), 0u)
      << done.status();
}

}  // namespace
}  // namespace shardmanager::orchestrator
