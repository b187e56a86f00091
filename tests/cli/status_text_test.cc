// What `shardctl status` prints.
#include "cli/status/status_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::GetStatusResponse Status(const std::string& text) {
  v1::GetStatusResponse status;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &status));
  return status;
}

std::string Text(const std::string& asked) {
  return StatusText(Status(asked), nullptr, "sm-1:7400", false);
}

TEST(StatusTextTest, ALeaderWithoutTroubleSaysSo) {
  EXPECT_EQ(Text("cell: 'c' leading: true leader_epoch: 4 leader_endpoint: 'h:1' version: '0.1.0' "
                 "led_for_ms: 61000 apps: 2"),
            "Cell:     c\nAsked:    sm-1:7400\nRole:     leader, for 1m1s\n"
            "Leader:   h:1, epoch 4\nVersion:  0.1.0\nApps:     2\n\nNothing is wrong.\n");
}

TEST(StatusTextTest, WhoDoesNotLeadCallsNothingHealthy) {
  EXPECT_THAT(Text("cell: 'c' version: '0.1.0'"),
              AllOf(HasSubstr("Role:     standby\nLeader:   none is known\n"),
                    HasSubstr("How the apps are is not known: no leader is known."),
                    Not(HasSubstr("Nothing is wrong"))));
  EXPECT_THAT(Text("cell: 'c' cut_off_ms: 31500 led_before: true"),
              AllOf(HasSubstr("leader (cut off from ZooKeeper since 31 s: who leads is unknown)"),
                    Not(HasSubstr("Nothing is wrong"))));
}

TEST(StatusTextTest, AStandbyShowsWhatItsLeaderKnows) {
  const v1::GetStatusResponse leader = Status(
      "cell: 'c' leading: true leader_epoch: 4 leader_endpoint: 'h:1' version: '0.2.0' "
      "apps: 1");
  const std::string text = StatusText(Status("cell: 'c' leader_endpoint: 'h:1' version: '0.1.0'"),
                                      &leader, "sm-2:7400", false);
  EXPECT_THAT(text, AllOf(HasSubstr("Role:     standby\nLeader:   h:1, epoch 4\n"),
                          HasSubstr("0.1.0; of the leader 0.2.0"), HasSubstr("Nothing is wrong")));
}

TEST(StatusTextTest, NamesEachProblemAndEachMember) {
  const std::string text = Text(
      "cell: 'c' leading: true apps: 1 "
      "problems { severity: CRITICAL reason: 'ShardsUnserved' app: 'kv' message: '3 of 9' } "
      "problems { severity: WARNING reason: 'RelayBehind' message: 'slow' } "
      "zookeeper { endpoint: 'z1:2181' state: 'follower' latency_ms: 0.4 connections: 3 } "
      "zookeeper { endpoint: 'z2:2181' state: 'silent' reason: 'Connection refused' } "
      "relays { name: 'r/1' kind: 'relay' apps: 2 apps_behind: 1 behind_ms: 5000 } "
      "relays { name: 's/2' kind: 'standby' apps: 2 }");
  EXPECT_THAT(
      text, AllOf(HasSubstr("z1:2181 follower (0.4 ms, 3 connections)"),
                  HasSubstr("z2:2181 silent (Connection refused)"),
                  HasSubstr("Standbys:   s/2, 2 apps\n"),
                  HasSubstr("Relays:     r/1, 2 apps, 1 of them behind for 5s\n"),
                  HasSubstr("2 problems:\n"), HasSubstr("critical   kv    ShardsUnserved   3 of 9"),
                  HasSubstr("warning    -     RelayBehind      slow")));
}

}  // namespace
}  // namespace shardmanager::cli
