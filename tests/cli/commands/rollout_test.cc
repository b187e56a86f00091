// `shardctl rollout status`.
#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RolloutCommandTest : public ShardctlTest {};

// Of three operations.
v1::GetRolloutsResponse At(uint32_t finished, int64_t ends_in_ms) {
  v1::GetRolloutsResponse response;
  v1::RolloutStatus& rollout = *response.add_rollouts();
  rollout.set_app("kv");
  rollout.set_manager("kube-eu");
  rollout.set_name("r");
  rollout.set_kind(v1::RESTART);
  rollout.set_finished(finished);
  rollout.set_begun(finished < 3 ? 1 : 0);
  rollout.set_waiting(finished < 3 ? 2 - finished : 0);
  rollout.set_mean_ms(30'000);
  rollout.set_ends_in_ms(ends_in_ms);
  if (ends_in_ms < 0) rollout.set_forecast_reason("no operation was approved yet");
  return response;
}

TEST_F(RolloutCommandTest, ShowsATable) {
  admin_.rollouts = At(1, 60'000);
  EXPECT_EQ(Run({"rollout", "status", "kv"}), kOk);
  EXPECT_THAT(out_, StartsWith("ROLLOUT   MANAGER   DONE"));
  EXPECT_THAT(out_, HasSubstr("\nr         kube-eu   1/3"));
  EXPECT_THAT(admin_.requests(), ElementsAre("GetRollouts{app: \"kv\"}"));
}

TEST_F(RolloutCommandTest, ShowsAllThatIsKnownToPrograms) {
  admin_.rollouts = At(1, 60'000);
  EXPECT_EQ(Run({"rollout", "status", "-o", "json"}), kOk);
  EXPECT_THAT(out_, HasSubstr("\"ends_in_ms\": \"60000\""));
  EXPECT_EQ(Run({"rollout", "status", "-o", "yaml"}), kOk);
  EXPECT_THAT(out_, HasSubstr("ends_in_ms: 60000"));
  EXPECT_EQ(Run({"rollout", "status", "-o", "wide"}), kOk);
  EXPECT_THAT(out_, HasSubstr("AT-ONCE"));
}

TEST_F(RolloutCommandTest, SaysThatNoneIsKnown) {
  EXPECT_EQ(Run({"rollout", "status"}), kOk);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_, "no rollout is under way, and none was in the last hour\n");
}

TEST_F(RolloutCommandTest, WaitsUntilNothingIsLeftAndShowsEachStepOnce) {
  admin_.earlier_rollouts = {At(0, -1), At(0, 90'000), At(1, 60'000)};
  admin_.rollouts = At(3, 0);
  EXPECT_EQ(Run({"rollout", "status", "kv", "--wait"}), kOk) << err_;
  EXPECT_EQ(out_,
            "kv: r of kube-eu: 0/3 done, 1 under way, 2 waiting; time left unknown: "
            "no operation was approved yet\n"
            "kv: r of kube-eu: 1/3 done, 1 under way, 1 waiting; about 1m left\n"
            "kv: r of kube-eu: 3/3 done\n"
            "no operation is left\n");
}

TEST_F(RolloutCommandTest, DoesNotWaitForWhatIsOverAlready) {
  admin_.rollouts = At(3, 0);
  EXPECT_EQ(Run({"rollout", "status", "--wait"}), kOk);
  EXPECT_EQ(out_, "no operation is left\n");
  EXPECT_THAT(admin_.requests(), ElementsAre("GetRollouts{}"));
}

TEST_F(RolloutCommandTest, ShowsOnlyTheEndToProgramsThatWait) {
  admin_.earlier_rollouts = {At(1, 60'000)};
  admin_.rollouts = At(3, 0);
  EXPECT_EQ(Run({"rollout", "status", "--wait", "-o", "json"}), kOk);
  EXPECT_THAT(out_, StartsWith("{"));
  EXPECT_THAT(out_, HasSubstr("\"finished\": 3"));
}

TEST_F(RolloutCommandTest, WaitsOnWhenAnAnswerIsMissing) {
  admin_.second_rollouts_refusal = {grpc::StatusCode::UNAVAILABLE, "nobody leads now"};
  admin_.earlier_rollouts = {At(1, 60'000)};
  admin_.rollouts = At(3, 0);
  EXPECT_EQ(Run({"rollout", "status", "kv", "--wait"}), kOk) << err_;
  EXPECT_EQ(admin_.requests().size(), 3U);
}

TEST_F(RolloutCommandTest, WaitsForNobodyWhoDoesNotAnswerAtAll) {
  admin_.refusal = {grpc::StatusCode::UNAVAILABLE, "nobody leads now"};
  EXPECT_EQ(Run({"rollout", "status", "kv", "--wait"}), kUnreachable);
}

TEST_F(RolloutCommandTest, StopsWaitingForAnAppThatIsDeleted) {
  admin_.second_rollouts_refusal = {grpc::StatusCode::NOT_FOUND, "no app \"kv\""};
  admin_.earlier_rollouts = {At(1, 60'000)};
  EXPECT_EQ(Run({"rollout", "status", "kv", "--wait"}), kNotFound);
  EXPECT_EQ(err_, "error: no app \"kv\"\n");
}

// As in `shardctl rollout status --wait | head -1`: nobody reads on, so nobody waits.
TEST_F(RolloutCommandTest, StopsWaitingWhenItsOutputIsLost) {
  admin_.rollouts = At(1, 60'000);
  output_is_lost_ = true;
  EXPECT_EQ(Run({"rollout", "status", "--wait"}), kRefused);
  EXPECT_EQ(err_, "error: the output cannot be written\n");
}

}  // namespace
}  // namespace shardmanager::cli
