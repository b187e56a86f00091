// What happened is known to the next leader, too.
#include <signal.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class KeptHistoryTest : public ClusterTest {
 protected:
  // Asked again until it shows this, for a standby hears of everything a moment later.
  std::string Await(const std::vector<std::string>& command, const std::string& endpoint,
                    const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    std::string output;
    do {
      output = cluster_->Shardctl(command, endpoint).output;
    } while (output.find(text) == std::string::npos && std::chrono::steady_clock::now() < deadline);
    return output;
  }
};

TEST_F(KeptHistoryTest, OutlivesTheLeaderWhoseEventsTheyAre) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(cluster_->StartStandby());
  SM_ASSERT_OK(StartServers(3));
  SM_ASSERT_OK(ServeShards(12));
  const std::string shard = map_->view().shards.front().id;
  const auto pin = [&] {
    return cluster_->Shardctl({"pin", "shard", shard, "--app", "kv", "--reason", "repair"});
  };
  const auto pinned = pin();
  ASSERT_EQ(pinned.exit_code, 0) << pinned.output;
  EXPECT_THAT(pinned.output, Not(HasSubstr("already")));
  const auto again = pin();  // pasted twice
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("nothing was changed: it is so already since"));
  const std::vector<std::string> drain = {"drain", "server", "kv-2", "--reason", "kernel"};
  EXPECT_EQ(cluster_->Shardctl(drain).exit_code, 0);
  EXPECT_THAT(cluster_->Shardctl(drain).output, HasSubstr("already since"));
  const std::vector<std::string> pause = {"pause", "app", "kv", "--reason", "audit"};
  EXPECT_THAT(cluster_->Shardctl(pause).output, Not(HasSubstr("already")));
  EXPECT_THAT(cluster_->Shardctl(pause).output, HasSubstr("already since"));
  EXPECT_EQ(cluster_->Shardctl({"resume", "app", "kv"}).exit_code, 0);

  const std::vector<std::string> changes = {"history", "changes", "--app", "kv"};
  const std::string at_standby = Await(changes, cluster_->standby_endpoint(), "PinShard");
  EXPECT_THAT(at_standby, AllOf(HasSubstr("PinShard"), HasSubstr("which stands by")));
  Await({"history", "server", "kv-2"}, cluster_->standby_endpoint(), "Drain {");

  cluster_->control_plane().Kill();
  const std::string after =
      Await({"history", "changes"}, cluster_->standby_endpoint(), "which leads");
  EXPECT_THAT(after, AllOf(HasSubstr("PinShard"), HasSubstr(", by "), HasSubstr("+ pins shard: "),
                           HasSubstr("ApplyApp"), HasSubstr("which leads")));
  EXPECT_EQ(after.find("PinShard"), after.rfind("PinShard")) << "once: the repeat changed nothing\n"
                                                             << after;
  EXPECT_THAT(
      cluster_->Shardctl({"history", "server", "kv-2"}, cluster_->standby_endpoint()).output,
      AllOf(HasSubstr("ServerJoined"), HasSubstr("DrainStarted")));

  // Nobody knows of it, and that is said.
  const auto nope =
      cluster_->Shardctl({"watch", "--app", "nope", "--no-follow"}, cluster_->standby_endpoint());
  EXPECT_EQ(nope.exit_code, 4) << nope.output;
  EXPECT_THAT(nope.output, HasSubstr("no app \"nope\"; there are: kv"));

  // The former leader comes back, and hears what it has missed.
  SM_ASSERT_OK(cluster_->StartControlPlane());
  EXPECT_THAT(Await({"history", "app", "kv", "--kind", "AppTakenOver", "-o", "json"},
                    cluster_->admin_endpoint(), "\"leader_epoch\": \"2\""),
              HasSubstr("AppTakenOver"));
}

TEST_F(KeptHistoryTest, FaultsAreToldAfterTheLeaderThatSawThemIsGone) {
  SM_ASSERT_OK(cluster_->StartCore());
  SM_ASSERT_OK(cluster_->StartStandby());
  SM_ASSERT_OK(StartServers(3));
  // Its file is no database, wherever it goes.
  std::filesystem::create_directories(cluster_->data_folder() + "/shard-2.db");
  SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(6)).status());
  const std::vector<std::string> poisoned = {"history", "shard", "shard-2", "--app", "kv"};
  Await(poisoned, cluster_->standby_endpoint(), "ShardPoisoned");
  cluster_->server("kv-1").Kill();
  const std::vector<std::string> lost = {"history", "server", "kv-1"};
  Await(lost, cluster_->standby_endpoint(), "FailoverFinished");

  cluster_->control_plane().Kill();
  Await({"history", "app", "kv"}, cluster_->standby_endpoint(), "which leads");
  EXPECT_THAT(cluster_->Shardctl(poisoned, cluster_->standby_endpoint()).output,
              AllOf(HasSubstr("CommandFailed"), HasSubstr("ShardPoisoned")));
  EXPECT_THAT(
      cluster_->Shardctl(lost, cluster_->standby_endpoint()).output,
      AllOf(HasSubstr("ServerLost"), HasSubstr("others serve what it had"), HasSubstr("ms after")));
}

}  // namespace
}  // namespace shardmanager::testing
