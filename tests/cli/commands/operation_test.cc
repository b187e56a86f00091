// `shardctl get operations`, `describe operation` and `approve operation`.
#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::OperationStatus Waiting() {
  v1::OperationStatus operation;
  operation.set_app("kv");
  operation.set_manager("kube-eu");
  operation.set_id("rollout-42/kv-3");
  operation.set_kind(v1::RESTART);
  operation.set_server("kv-3");
  operation.set_incarnation(7);
  operation.set_state("waiting");
  operation.set_since_ms(95'000);
  operation.set_silent_ms(1'200);
  operation.set_reason("version 42");
  v1::OperationDelay& delay = *operation.add_delays();
  delay.set_reason("ShardCap");
  delay.set_message("shard s-1 has 2 replicas and needs 2 at least");
  delay.set_shard("s-1");
  delay.add_servers("kv-7");
  return operation;
}

class OperationCommandTest : public ShardctlTest {};

TEST_F(OperationCommandTest, ListsWhatWaitsAndWhy) {
  *admin_.operations.add_operations() = Waiting();
  EXPECT_EQ(Run({"get", "operations", "--app", "kv"}), kOk);
  EXPECT_EQ(out_,
            "ID                SERVER   KIND      STATE     FOR     REASON\n"
            "rollout-42/kv-3   kv-3     restart   waiting   1m35s   shard s-1 has 2 replicas and "
            "needs 2 at least\n");
  EXPECT_THAT(admin_.requests(), ElementsAre("GetOperations{app: \"kv\"}"));
  EXPECT_EQ(Run({"get", "operations", "-o", "name"}), kOk);
  EXPECT_THAT(out_, HasSubstr("rollout-42/kv-3\n"));
}

TEST_F(OperationCommandTest, SaysThatAManagerIsSilent) {
  v1::OperationStatus& operation = *admin_.operations.add_operations();
  operation = Waiting();
  operation.set_state("begun");
  operation.clear_delays();
  operation.set_silent_ms(61'000);
  EXPECT_EQ(Run({"get", "operations"}), kOk);
  EXPECT_THAT(out_, HasSubstr("its manager was not heard for 1m1s"));
  operation.set_silent_ms(30'000);
  EXPECT_EQ(Run({"get", "operations"}), kOk);
  EXPECT_THAT(out_, Not(HasSubstr("was not heard"))) << "it may be that long";
  operation.set_silent_ms(-1);
  EXPECT_EQ(Run({"get", "operations"}), kOk);
  EXPECT_THAT(out_, HasSubstr("not heard since the leader took over"));
}

TEST_F(OperationCommandTest, SaysThatNothingIsReported) {
  EXPECT_EQ(Run({"get", "operations"}), kOk);
  EXPECT_EQ(out_, "");
  EXPECT_EQ(err_, "no operations are reported\n");
}

TEST_F(OperationCommandTest, DescribesOneWithAllThatIsInItsWay) {
  *admin_.operations.add_operations() = Waiting();
  EXPECT_EQ(Run({"describe", "operation", "rollout-42/kv-3"}), kOk);
  EXPECT_THAT(out_, AllOf(StartsWith("Operation:  rollout-42/kv-3\n"),
                          HasSubstr("Manager:    kube-eu, heard 1s ago\n"),
                          HasSubstr("Server:     kv-3, life 7\n"),
                          HasSubstr("  ShardCap: shard s-1 has 2 replicas"),
                          HasSubstr("    servers: kv-7\n"),
                          HasSubstr("    see: shardctl explain kv s-1\n")));
}

TEST_F(OperationCommandTest, ApprovesOneAgainstTheLimitsOnlyWithForce) {
  EXPECT_EQ(Run({"approve", "operation", "rollout-42/kv-3", "--app", "kv"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("--force"));
  EXPECT_THAT(admin_.requests(), ElementsAre());
  EXPECT_EQ(Run({"approve", "operation", "rollout-42/kv-3", "--app", "kv", "--force"}), kOk);
  EXPECT_THAT(admin_.requests(), ElementsAre(StartsWith("ApproveOperation{app: \"kv\" id: "
                                                        "\"rollout-42/kv-3\"")));
  EXPECT_THAT(out_, HasSubstr("rollout-42/kv-3 is approved against the limits"));
}

TEST_F(OperationCommandTest, ExplainsWhatWouldEndEachDelay) {
  *admin_.operations.add_operations() = Waiting();
  admin_.operations.mutable_operations(0)->mutable_delays(0)->set_ends_when("kv-7 serves again");
  EXPECT_EQ(Run({"explain", "operation", "rollout-42/kv-3", "--app", "kv"}), kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("  ShardCap: shard s-1 has 2 replicas"),
                          HasSubstr("    ends when: kv-7 serves again\n")));
  EXPECT_EQ(Run({"explain", "operation", "rollout-42/kv-3", "--manager", "other"}), kNotFound);
  EXPECT_THAT(err_, HasSubstr("manager \"other\" has no operation \"rollout-42/kv-3\""));
}

TEST_F(OperationCommandTest, EndsOneWhoseManagerNeverComesBack) {
  EXPECT_EQ(Run({"end", "operation", "rollout-42/kv-3", "--app", "kv", "--manager", "kube-eu"}),
            kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre(StartsWith("EndOperation{app: \"kv\" id: \"rollout-42/kv-3\" "
                                     "manager: \"kube-eu\"")));
  EXPECT_THAT(out_, HasSubstr("rollout-42/kv-3 counts as finished"));
}

}  // namespace
}  // namespace shardmanager::cli
