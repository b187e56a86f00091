// Moves that operators ask for.
#include "orchestrator/describe/asked_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/view.h"
#include "tests/orchestrator/core/left_alone_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::AppSpec TwoMovesAtATime() {
  v1::AppSpec spec = TestSpec(12);
  spec.mutable_moves()->set_max_concurrent(2);
  return spec;
}

class AskedMoveTest : public LeftAloneTest {
 protected:
  explicit AskedMoveTest(const v1::AppSpec& with = TwoMovesAtATime()) : LeftAloneTest(with) {}
  std::string Why(const MoveAsked& asked) {
    const PartitionState& state = world.partition().state();
    return WhyNotMoved(state, FindAskedMove(state, asked));
  }
  // It is refused, and the event alone changes nothing.
  std::string Refused(const MoveAsked& asked) {
    const std::vector<std::string> before = world.Holders(asked.shard);
    std::string why = Why(asked);
    world.Send(asked);
    EXPECT_EQ(world.Holders(asked.shard), before);
    EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u) << why;
    return why;
  }
  std::string OneOn(const std::string& server, size_t nth = 0) const {
    return std::next(world.servers.at(server).held.begin(), static_cast<ptrdiff_t>(nth))->first;
  }
};

TEST_F(AskedMoveTest, TheShardIsMovedAndTheReasonIsTold) {
  const std::string shard = OneOn("kv-0");
  EXPECT_THAT(Why({shard, "kv-0", "kv-2"}), IsEmpty());
  world.Send(MoveAsked{shard, "kv-0", "kv-2"});
  world.Advance(Seconds(2));
  EXPECT_THAT(world.Holders(shard), ElementsAre("kv-2"));
  EXPECT_EQ(world.Served(), 12u);
  ASSERT_EQ(world.NoteCount(NoteKind::kMoveStarted), 1u);
  EXPECT_THAT(world.notes.front().detail, HasSubstr("from kv-0: an operator asked for it"));
}

TEST_F(AskedMoveTest, TheOperationFollowsItToItsEndAndNoFurther) {
  const std::string shard = OneOn("kv-0");
  const ShardIndex id = world.partition().tables().FindShard(shard);
  // What commands are sent with.
  std::vector<std::string> sent;
  world.watcher.asks = [&](const Action& action) {
    if (!std::holds_alternative<SendCommands>(action)) return;
    sent.push_back(OperationOf(world.partition().state(), id));
  };
  world.Send(MoveAsked{shard, "kv-0", "kv-2", "op-1"});
  world.Advance(Seconds(2));
  ASSERT_THAT(world.Holders(shard), ElementsAre("kv-2"));
  EXPECT_THAT(sent, AllOf(SizeIs(Ge(3u)), Each("op-1"))) << "the drop of the old replica, too";
  for (const NoteKind kind : {NoteKind::kMoveStarted, NoteKind::kMoveFinished}) {
    const auto note = std::find_if(world.notes.begin(), world.notes.end(),
                                   [&](const Note& n) { return n.kind == kind; });
    ASSERT_NE(note, world.notes.end());
    EXPECT_EQ(note->operation, "op-1");
  }
  EXPECT_EQ(OperationOf(world.partition().state(), id), "");
  world.notes.clear();
  world.Die("kv-2");
  world.Advance(Seconds(30));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_THAT(world.notes, Each(Field(&Note::operation, "")));
}

TEST_F(AskedMoveTest, WhatIsWrittenGoesOnUnderTheNextLeader) {
  const std::string shard = OneOn("kv-0");
  world.hold_adds = true;
  world.Send(MoveAsked{shard, "kv-0", "kv-2"});
  world.hold_adds = false;
  world.Restart();
  world.Advance(Seconds(2));
  EXPECT_THAT(world.Holders(shard), ElementsAre("kv-2"));
}

TEST_F(AskedMoveTest, WhatIsToStayIsNotMoved) {
  const std::string shard = OneOn("kv-0");
  v1::Pin pin;
  pin.set_shard(shard);
  pin.set_who("jo");
  world.ordered.pins = {pin};
  world.Apply(spec);
  EXPECT_THAT(Refused({shard, "kv-0", "kv-2"}), HasSubstr("the shard is pinned since"));
  world.ordered.pins.clear();
  world.ordered.pause = v1::Pause();
  world.Apply(spec);
  EXPECT_THAT(Refused({shard, "kv-0", "kv-2"}), HasSubstr("the app is paused since"));
  world.ordered.pause->set_only_balance(true);
  world.Apply(spec);
  EXPECT_THAT(Why({shard, "kv-0", "kv-2"}), IsEmpty()) << "an operator is not balance";
}

TEST_F(AskedMoveTest, AServerThatMayGetNothingGetsNothing) {
  const std::string shard = OneOn("kv-0");
  EXPECT_THAT(Refused({shard, "kv-0", "kv-0"}), HasSubstr("kv-0 has a replica of the shard"));
  EXPECT_THAT(Refused({shard, "kv-1", "kv-2"}), HasSubstr("kv-1 has no replica of the shard"));
  EXPECT_THAT(Refused({shard, "kv-0", "kv-9"}), HasSubstr("is not known"));
  EXPECT_THAT(Refused({"s-99", "kv-0", "kv-2"}), HasSubstr("is not known"));
  Drain("kv-2");
  EXPECT_THAT(Why({shard, "kv-0", "kv-2"}), HasSubstr("kv-2 is to be emptied"));
  world.Depart("kv-2");
  EXPECT_THAT(Why({shard, "kv-0", "kv-2"}), HasSubstr("kv-2 is not live"));
}

TEST_F(AskedMoveTest, TheBudgetsOfMovesHoldForIt) {
  world.hold_adds = true;
  for (size_t i = 0; i < 2; ++i) world.Send(MoveAsked{OneOn("kv-0", i), "kv-0", "kv-2"});
  const std::string shard = OneOn("kv-1");
  EXPECT_EQ(Why({shard, "kv-1", "kv-2"}), "moves.max_concurrent: all 2 moves are taken");
  world.Send(MoveAsked{shard, "kv-1", "kv-2"});
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 2u);
  world.hold_adds = false;
  world.FinishAdds();
  world.Advance(Seconds(30));
  EXPECT_THAT(Why({shard, "kv-1", "kv-2"}), IsEmpty());
}

TEST_F(AskedMoveTest, WhatIsMovingAlreadyIsLeftAlone) {
  const std::string shard = OneOn("kv-0");
  world.hold_adds = true;
  world.Send(MoveAsked{shard, "kv-0", "kv-2"});
  EXPECT_THAT(Why({shard, "kv-0", "kv-1"}), HasSubstr("a step of the shard is under way"));
}

// What is promised is done, and what is refused is not, in whatever state the shard is.
struct Setting {
  const char* name;
  v1::ReplicationStrategy strategy;
  uint32_t replicas;
  v1::PrimaryMove move;
};
class PromisedMoveTest : public testing::TestWithParam<Setting> {
 protected:
  static v1::AppSpec SpecOf(const Setting& setting) {
    v1::AppSpec spec = TestSpec(20, setting.strategy, setting.replicas);
    if (setting.replicas == 1) spec.mutable_moves()->set_primary_move(setting.move);
    spec.mutable_moves()->set_max_concurrent(3);
    spec.mutable_moves()->set_max_concurrent_per_server(2);
    return spec;
  }
};

// Among what is written is that the server gets the shard, which has not got it.
bool Gives(const Tables& tables, const Persist& persist, const std::string& shard,
           const std::string& server) {
  for (const ServerWrite& write : persist.writes) {
    if (tables.name(write.server) != server) continue;
    for (const ReplicaRecord& record : write.replicas) {
      const ReplicaIndex now = tables.FindReplica(record.shard, write.server);
      const bool is_new = now.valid() && tables.replica(now).phase == Phase::kAbsent;
      if (tables.name(record.shard) == shard && is_new) return true;
    }
  }
  return false;
}

TEST_P(PromisedMoveTest, IsBegunAtOnceAndNoOtherIs) {
  World world(SpecOf(GetParam()));
  world.ordered.pause = v1::Pause();
  world.ordered.pause->set_only_balance(true);  // so that all moves are ours
  world.Start();
  for (int i = 0; i < 6; ++i) world.Join(absl::StrCat("kv-", i));
  world.Advance(Seconds(30));
  std::mt19937 random(7);
  const auto any = [&](uint32_t below) { return random() % below; };
  int begun = 0, refused = 0;
  for (int round = 0; round < 3'000; ++round) {
    const std::string server = absl::StrCat("kv-", any(6));
    switch (any(30)) {
      case 0:
        world.hold_adds = true;
        break;
      case 1:
        world.hold_adds = false;
        world.FinishAdds();
        break;
      case 2:
        if (world.servers[server].live) world.Die(server);
        break;
      case 3:
      case 4:
      case 5:
        if (!world.servers[server].live) world.Join(server);
        break;
      case 6:
        world.servers[server].sick = !world.servers[server].sick;
        break;
      default:
        world.Advance(Milliseconds(any(10'000)));
    }
    const MoveAsked asked{absl::StrCat("s-", any(20)), absl::StrCat("kv-", any(6)),
                          absl::StrCat("kv-", any(6))};
    const PartitionState& state = world.partition().state();
    const std::string why = WhyNotMoved(state, FindAskedMove(state, asked));
    world.hold_writes = true;
    world.Send(asked);
    const bool is_written =
        std::any_of(world.writes.begin(), world.writes.end(), [&](const Persist& persist) {
          return Gives(state.tables, persist, asked.shard, asked.to);
        });
    world.hold_writes = false;
    ASSERT_EQ(is_written, why.empty()) << "round " << round << ": " << why;
    while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
    ++(why.empty() ? begun : refused);
  }
  EXPECT_GT(begun, 50);
  EXPECT_GT(refused, 50);
}

INSTANTIATE_TEST_SUITE_P(AllStrategies, PromisedMoveTest,
                         testing::Values(Setting{"Handover", v1::PRIMARY_ONLY, 1, v1::HANDOVER},
                                         Setting{"DropThenAdd", v1::PRIMARY_ONLY, 1,
                                                 v1::DROP_THEN_ADD},
                                         Setting{"Secondaries", v1::SECONDARY_ONLY, 2, {}},
                                         Setting{"Roles", v1::PRIMARY_SECONDARY, 3, {}}),
                         [](const auto& named) { return std::string(named.param.name); });

}  // namespace
}  // namespace shardmanager::orchestrator
