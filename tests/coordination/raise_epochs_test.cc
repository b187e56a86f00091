#include "coordination/raise_epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/cell.h"
#include "coordination/election.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "tests/coordination/store_test.h"

namespace shardmanager {
namespace {

using testing::HasSubstr;
using Result = absl::StatusOr<RaisedEpochs>;

template <typename Harness>
class RaiseEpochsTest : public StoreTest<Harness> {
 protected:
  using Session = typename StoreTest<Harness>::Session;

  static constexpr int64_t kNowMs = 5'000;
  const Paths paths{"c"};

  Session ConnectWithCell(int64_t made_ms = 1'000) {
    Session s = this->Connect();
    v1::CellConfig wanted;
    wanted.set_made_ms(made_ms);
    wanted.set_cell("c");
    wanted.set_buckets(64);
    Answer<absl::StatusOr<v1::CellConfig>> answer(this->harness);
    EnsureCell(*s, wanted, answer.callback());
    EXPECT_TRUE(this->Wait(answer).ok());
    return s;
  }
  // Whom it waits for goes to the log: "waits for a".
  Answer<Result> Begin(const Session& session, uint32_t by, const std::string& cell = "c",
                       bool dry_run = false) {
    Answer<Result> answer(this->harness);
    RaiseEpochs(*session,
                {.cell = cell,
                 .by = by,
                 .now_ms = kNowMs,
                 .dry_run = dry_run,
                 .on_wait =
                     [this](const v1::LeaderRecord& holder) {
                       this->log.Add("waits for " + holder.process());
                     }},
                answer.callback());
    return answer;
  }
  v1::CellConfig Cell(const Session& session) {
    Answer<absl::StatusOr<v1::CellConfig>> answer(this->harness);
    LoadCell(*session, "c", answer.callback());
    const auto config = this->Wait(answer);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.value_or(v1::CellConfig());
  }
  int32_t Epoch(const Session& session) {
    return this->Get(session, paths.leader_epoch())->stat.version;
  }
};
TYPED_TEST_SUITE(RaiseEpochsTest, Harnesses, HarnessNames);

TYPED_TEST(RaiseEpochsTest, TheNextLeaderGetsAnEpochAboveThem) {
  auto s = this->ConnectWithCell();
  const Result raised = this->Wait(this->Begin(s, 2'500));
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(raised->from, 0u);
  EXPECT_EQ(raised->to, 2'500u);
  EXPECT_EQ(this->Epoch(s), 2'500);
  s->Close();
  auto other = this->Connect();
  LeaderElection election(
      *other, this->paths, {},
      {.on_elected =
           [this](LeaderEpoch epoch) { this->log.Add("elected " + std::to_string(epoch.value())); },
       .on_lost = [](std::string) {},
       .on_observed = [](std::optional<v1::LeaderRecord>) {}});
  election.Start();
  EXPECT_TRUE(this->AwaitLog("elected 2501"));
  other->Close();
}

// While the store was empty, somebody may have made another cell of the name: whoever has maps of
// that one must take those of this one for newer.
TYPED_TEST(RaiseEpochsTest, TheCellCountsAsMadeNow) {
  auto s = this->ConnectWithCell(/*made_ms=*/1'000);
  const Result raised = this->Wait(this->Begin(s, 1));
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(raised->made_ms, this->kNowMs);
  const v1::CellConfig config = this->Cell(s);
  EXPECT_EQ(config.made_ms(), this->kNowMs);
  EXPECT_EQ(config.buckets(), 64u) << "and keeps the rest";
}

// The clock of the machine that made it was ahead.
TYPED_TEST(RaiseEpochsTest, NeverBeforeItWasMade) {
  auto s = this->ConnectWithCell(/*made_ms=*/9'000);
  ASSERT_TRUE(this->Wait(this->Begin(s, 1)).ok());
  EXPECT_EQ(this->Cell(s).made_ms(), 9'001);
}

TYPED_TEST(RaiseEpochsTest, NobodyLeadsMeanwhile) {
  auto s = this->ConnectWithCell();
  ASSERT_TRUE(this->Wait(this->Begin(s, 1)).ok());
  const auto holder = this->Get(s, this->paths.leader_holder());
  ASSERT_TRUE(holder.ok()) << holder.status();
  EXPECT_EQ(holder->stat.ephemeral_session, s->session_id());
}

TYPED_TEST(RaiseEpochsTest, ADryRunSaysWhatWouldComeOfItAndChangesNothing) {
  auto leader = this->ConnectWithCell();
  const auto look = [&] { return this->Wait(this->Begin(leader, 10, "c", /*dry_run=*/true)); };
  const Result alone = look();
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_FALSE(alone->waits_for.has_value());
  v1::LeaderRecord record;
  record.set_process("a");
  ASSERT_TRUE(this->Write(leader, {CreateNode{this->paths.leader_holder(), Seal(record),
                                              /*ephemeral=*/true}})
                  .status.ok());
  const Result led = look();
  ASSERT_TRUE(led.ok()) << led.status();
  EXPECT_EQ(led->from, 0u);
  EXPECT_EQ(led->to, 10u);
  EXPECT_EQ(led->made_ms, this->kNowMs);
  EXPECT_EQ(led->waits_for->process(), "a");
  EXPECT_EQ(this->Epoch(leader), 0);
  EXPECT_EQ(this->Cell(leader).made_ms(), 1'000);
}

TYPED_TEST(RaiseEpochsTest, WaitsForALeaderToGo) {
  auto leader = this->ConnectWithCell();
  v1::LeaderRecord record;
  record.set_process("a");
  ASSERT_TRUE(this->Write(leader, {CreateNode{this->paths.leader_holder(), Seal(record),
                                              /*ephemeral=*/true}})
                  .status.ok());
  auto s = this->Connect();
  Answer<Result> raise = this->Begin(s, 10);
  ASSERT_TRUE(this->AwaitLog("waits for a"));
  EXPECT_EQ(this->Epoch(s), 0);
  leader->Close();
  const Result raised = this->Wait(raise);
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(this->Epoch(s), 10);
  EXPECT_EQ(this->log.Count("waits for a"), 1u);
}

TYPED_TEST(RaiseEpochsTest, ACellThatIsNotThereIsNamed) {
  auto s = this->Connect();
  const Result raised = this->Wait(this->Begin(s, 10, "nowhere"));
  EXPECT_TRUE(absl::IsNotFound(raised.status())) << raised.status();
  EXPECT_THAT(std::string(raised.status().message()), HasSubstr("\"nowhere\""));
}

}  // namespace
}  // namespace shardmanager
