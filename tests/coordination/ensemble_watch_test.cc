// How ZooKeeper's servers are, by what each of them says.
#include "coordination/zookeeper/ensemble_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "coordination/zookeeper/private_zookeeper.h"

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

TEST(ParseSrvrTest, ReadsWhatAServerSays) {
  const v1::ZookeeperMember member = ParseSrvr("zk-1:2181",
                                               "Zookeeper version: 3.8.0-5a02, built on 2022\n"
                                               "Latency min/avg/max: 0/0.5231/101\n"
                                               "Received: 12\nConnections: 4\nMode: follower\n");
  EXPECT_EQ(member.endpoint(), "zk-1:2181");
  EXPECT_EQ(member.state(), "follower");
  EXPECT_EQ(member.version(), "3.8.0");
  EXPECT_EQ(member.connections(), 4u);
  EXPECT_DOUBLE_EQ(member.latency_ms(), 0.5231);
}

TEST(ParseSrvrTest, AServerWithoutQuorumServesNobody) {
  EXPECT_EQ(ParseSrvr("z:1", "This ZooKeeper instance is not currently serving requests\n").state(),
            "no quorum");
}

TEST(ParseSrvrTest, WhatIsNotUnderstoodIsUnknownAndNotDown) {
  EXPECT_THAT(ParseSrvr("z:1", "").reason(), HasSubstr("4lw.commands.whitelist"));
  const v1::ZookeeperMember refused = ParseSrvr(
      "z:1", "srvr is not executed because it is not in the whitelist.\nConnections: nine\n");
  EXPECT_EQ(refused.state(), "unknown");
  EXPECT_THAT(refused.reason(), HasSubstr("srvr is not executed"));
  EXPECT_EQ(refused.connections(), 0u);
}

TEST(EnsembleWatchTest, TellsAServerThatServesFromOneThatIsNotThere) {
  auto zookeeper = PrivateZookeeper::Start({.data_dir = testing::TempDir() + "/ensemble_watch"});
  ASSERT_TRUE(zookeeper.ok()) << zookeeper.status();
  // Port 1 of this machine: nobody listens there.
  const EnsembleWatch watch((*zookeeper)->connect_string() + ",127.0.0.1:1/with/a/path");
  std::vector<v1::ZookeeperMember> members = watch.Members();
  ASSERT_EQ(members.size(), 2u);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (members[1].state() == "unknown") {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::yield();
    members = watch.Members();
  }
  EXPECT_EQ(members[0].state(), "standalone");
  EXPECT_EQ(members[1].endpoint(), "127.0.0.1:1");
  EXPECT_EQ(members[1].state(), "silent");
  EXPECT_THAT(members[1].reason(), HasSubstr("refused"));
}

}  // namespace
}  // namespace shardmanager
