#include "cli/rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/answers.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::GetRolloutsResponse One() {
  return FromText<v1::GetRolloutsResponse>(R"(
      rollouts { app: "kv" manager: "kube-eu" name: "rollout-42" kind: RESTART
                 waiting: 24 preparing: 1 approved: 1 begun: 2 finished: 12
                 began_ms: 95000 progress_ms: 1200 at_once: 4 mean_ms: 30000 ends_in_ms: 362000
                 delays { reason: "ServerCap" message: "4 servers away" operations: 23 }
                 seen_for_ms: 7200000 })");
}

v1::GetRolloutsResponse Unknown(const std::string& why) {
  v1::GetRolloutsResponse response = One();
  response.mutable_rollouts(0)->set_ends_in_ms(-1);
  response.mutable_rollouts(0)->set_forecast_reason(why);
  return response;
}

TEST(RolloutsTableTest, ShowsHowFarEachIsAndWhyItIsNotFaster) {
  EXPECT_EQ(
      RolloutsTable(One(), {}),
      "ROLLOUT      MANAGER   DONE    UNDER-WAY   WAITING   FOR     LEFT       WHY\n"
      "rollout-42   kube-eu   12/40   4           24        1m35s   about 6m   23 operations: "
      "4 servers away\n");
}

TEST(RolloutsTableTest, IsWiderIfAsked) {
  EXPECT_THAT(RolloutsTable(One(), {.wide = true}),
              AllOf(HasSubstr("KIND      AT-ONCE   MEAN   PROGRESS   SEEN-FOR   WHY"),
                    HasSubstr("restart   4         30s    1s         2h         23 operations")));
}

TEST(RolloutsTableTest, SaysWhyNothingIsForecast) {
  EXPECT_THAT(RolloutsTable(Unknown("paused by jo"), {}),
              HasSubstr("unknown   paused by jo; 23 operations: 4 servers away\n"));
}

TEST(RolloutsTableTest, SaysThatAForecastIsByWhatIsExpected) {
  v1::GetRolloutsResponse response = One();
  response.mutable_rollouts(0)->set_mean_ms(-1);
  EXPECT_THAT(RolloutsTable(response, {}), HasSubstr("about 6m (expected)"));
}

TEST(RolloutsTableTest, DoesNotCallDoneWhatWasGivenUp) {
  v1::GetRolloutsResponse response;
  response.add_rollouts()->set_name("rollout-42");
  EXPECT_THAT(RolloutsTable(response, {}), AllOf(HasSubstr("given up"), Not(HasSubstr("done"))));
}

TEST(RolloutsTableTest, ShowsThatOneIsDone) {
  v1::GetRolloutsResponse response = One();
  v1::RolloutStatus& rollout = *response.mutable_rollouts(0);
  rollout.set_waiting(0);
  rollout.set_preparing(0);
  rollout.set_approved(0);
  rollout.set_begun(0);
  rollout.set_finished(40);
  EXPECT_THAT(RolloutsTable(response, {}),
              HasSubstr("40/40   0           0         1m35s   done\n"));
}

TEST(RolloutsTableTest, NamesAppsWhereThereAreSeveralAndRolloutsWithoutANameByADash) {
  v1::GetRolloutsResponse response = One();
  *response.add_rollouts() = response.rollouts(0);
  response.mutable_rollouts(1)->set_app("mail");
  response.mutable_rollouts(1)->clear_name();
  EXPECT_THAT(RolloutsTable(response, {}),
              AllOf(StartsWith("APP    ROLLOUT"), HasSubstr("\nmail   -            kube-eu")));
}

TEST(RolloutLineTest, SaysHowFarItIs) {
  EXPECT_EQ(RolloutLine(One().rollouts(0)),
            "kv: rollout-42 of kube-eu: 12/40 done, 4 under way, 24 waiting; about 6m left");
  EXPECT_EQ(RolloutLine(Unknown("paused").rollouts(0)),
            "kv: rollout-42 of kube-eu: 12/40 done, 4 under way, 24 waiting; time left unknown: "
            "paused; 23 operations: 4 servers away");
}

TEST(RoundedTextTest, IsNoMoreExactThanAForecast) {
  EXPECT_EQ(RoundedText(1), "5s");
  EXPECT_EQ(RoundedText(43'000), "45s");
  EXPECT_EQ(RoundedText(58'000), "1m");
  EXPECT_EQ(RoundedText(362'000), "6m");
  EXPECT_EQ(RoundedText(5'120'000), "1h25m");
}

}  // namespace
}  // namespace shardmanager::cli
