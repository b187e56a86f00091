// A small app with primaries and secondaries, for the tests of roles, members and quorum.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/snapshot.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

inline v1::AppSpec Both(int shards, uint32_t replicas, bool quorum = false) {
  v1::AppSpec spec = TestSpec(shards, v1::PRIMARY_SECONDARY, replicas);
  spec.mutable_replication()->set_quorum(quorum);
  return spec;
}

inline v1::Drain DrainOf(const std::string& server, bool primaries_only = false) {
  v1::Drain drain;
  drain.mutable_scope()->set_server(server);
  drain.set_primaries_only(primaries_only);
  return drain;
}

// One shard on three of four servers, in step.
class RolesTest : public testing::Test {
 protected:
  explicit RolesTest(v1::AppSpec with = Both(1, 3)) : spec(std::move(with)), world(spec) {
    world.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
    world.Advance(Seconds(2));
    EXPECT_EQ(Primary(), "kv-0");
    world.Join("kv-3");
    world.Advance(Seconds(30));
    world.commands.clear();
    world.notes.clear();
  }
  std::string Primary() {
    std::string primary;
    for (const std::string& name : world.Roles("s-0")) {
      if (name.ends_with("*")) primary = name.substr(0, name.size() - 1);
    }
    return primary;
  }
  void Drain(const std::string& server, bool primaries_only = false) {
    world.ordered.drains = {DrainOf(server, primaries_only)};
    world.Apply(spec);
  }
  // kv-2 is to be emptied, and kv-3 is in step in its place. But the primary, kv-0, refuses each
  // list of its members that lacks kv-2.
  void LeaveKv2AMemberForThePrimary() {
    world.watcher.asks = [this](const Action& action) {
      const auto* sent = std::get_if<SendCommands>(&action);
      if (sent == nullptr || sent->kind != CommandKind::kSetMembers) return;
      const auto& members = sent->grants.front().members;
      const ServerIndex leaves = world.partition().tables().FindServer("kv-2");
      world.servers["kv-0"].refuses_members =
          std::count(members.begin(), members.end(), leaves) == 0;
    };
    Drain("kv-2");
    world.Advance(Seconds(1));
    ASSERT_THAT(Stored(), ::testing::Contains("kv-2 dropping secondary 0"));
    ASSERT_THAT(Stored(), ::testing::Contains("kv-3 granted secondary 1"));
  }
  void TakeAnyMembers() {
    world.watcher.asks = nullptr;
    world.servers["kv-0"].refuses_members = false;
  }
  // The primary is kv-0, and is to be a secondary. Its server begins anew before it has heard of
  // that, and the leader ends. (The next one: world.Restart().)
  void BeginAnewInADemotion() {
    world.servers["kv-0"].answers = false;
    Drain("kv-0", /*primaries_only=*/true);
    world.Advance(Milliseconds(10));
    ASSERT_THAT(Stored(), ::testing::Contains("kv-0 demoting primary 1"));
    world.hold_writes = true;  // nothing more comes of this leader
    world.Die("kv-0");
    world.Join("kv-0");
    world.hold_writes = false;
    world.servers["kv-0"].answers = true;
  }
  // Where no plan moves the shard to.
  std::vector<ServerIndex> Avoided() {
    const ShardIndex shard = world.partition().tables().FindShard("s-0");
    return ExplainSnapshot(world.partition().state(), shard).shards.front().avoided;
  }
  // As stored, "kv-0 granted primary 1", the last number the life in which it is in step.
  std::vector<std::string> Stored() {
    std::vector<std::string> out;
    for (const auto& [name, server] : world.servers) {
      for (const StoredReplica& r : server.record) {
        out.push_back(absl::StrCat(name, " ", std::string(ToString(r.phase)), " ",
                                   std::string(ToString(r.role)), " ", r.member_life));
      }
    }
    return out;
  }
  // Of its one shard, as stored.
  ShardEpoch EpochAt(const std::string& server) {
    return world.servers[server].record.front().epoch;
  }
  std::vector<std::string> Write() {
    world.commands.clear();
    EXPECT_THAT(world.writes, ::testing::SizeIs(1));
    if (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
    return world.commands;
  }

  const v1::AppSpec spec;
  World world;
};

}  // namespace shardmanager::orchestrator
