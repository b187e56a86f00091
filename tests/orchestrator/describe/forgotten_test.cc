// Servers of which an operator says that they do not come back.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "orchestrator/describe/servers.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

class ForgottenTest : public testing::Test {
 protected:
  static v1::AppSpec Patient() {
    v1::AppSpec spec = TestSpec(12);
    spec.mutable_failover()->set_delay_ms(30'000);
    return spec;
  }
  ForgottenTest() : world(Patient()) {
    world.Start();
    for (const char* server : {"kv-0", "kv-1", "kv-2"}) world.Join(server);
    world.Advance(Seconds(2));
  }
  std::set<std::string> Listed() {
    std::set<std::string> names;
    for (const v1::ServerStatus& server :
         DescribeServers(world.partition().state(), world.now, "")) {
      names.insert(server.server());
    }
    return names;
  }
  void DepartAndWait() {
    world.Depart("kv-2");
    world.Advance(Seconds(60));
    EXPECT_EQ(world.Served(), 12u);
  }

  World world;
};

using Names = std::set<std::string>;

TEST_F(ForgottenTest, AreNotListedAnyMoreAlsoByTheNextLeader) {
  DepartAndWait();
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
  Forget(world, "kv-2");
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1"}));
  EXPECT_EQ(world.NoteCount(NoteKind::kServerForgotten), 1u);
  world.Restart();
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1"}));
}

TEST_F(ForgottenTest, AreServersLikeOthersWhenTheyComeBack) {
  DepartAndWait();
  Forget(world, "kv-2");
  world.Join("kv-2");
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Counts()["kv-2"], 4u);
  world.Restart();
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
}

// The store said that it was gone, and it came back before the partition heard of that.
TEST_F(ForgottenTest, OneThatLivesIsNot) {
  world.Send(ServerForgotten{"kv-2", 7});
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
  world.Send(ServerForgotten{"kv-9", 7});
  EXPECT_EQ(world.NoteCount(NoteKind::kServerForgotten), 0u);
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Served(), 12u);
}

TEST_F(ForgottenTest, OneWithReplicasIsListedAndItsReplicasGoToOthers) {
  world.Die("kv-2");
  Forget(world, "kv-2");
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
  world.Restart();  // its record says so, and that it has replicas
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1", "kv-2"}));
  world.Advance(Seconds(120));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(Listed(), (Names{"kv-0", "kv-1"}));
}

}  // namespace
}  // namespace shardmanager::orchestrator
