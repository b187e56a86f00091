// A server that its clients cannot use is emptied, although its session lives.
#include "orchestrator/describe/shunned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orchestrator/describe/status.h"
#include "tests/orchestrator/roles/roles_fixture.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class ShunnedTest : public ::testing::Test {
 protected:
  explicit ShunnedTest(v1::AppSpec with = TestSpec(12)) : spec(std::move(with)), world(spec) {
    world.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2", "kv-3"}) world.Join(name);
    world.Advance(Seconds(30));
    world.notes.clear();
  }
  // For so long, every ten seconds: so many clients cannot use these servers, and one can.
  void Complain(int64_t seconds, const std::vector<std::string>& servers, uint32_t clients = 5) {
    for (int64_t s = 0; s < seconds; s += 10) {
      ClientsSay say;
      for (const std::string& server : servers) {
        say.servers.push_back({server, clients, 1, "no answer in time"});
      }
      world.Send(say);
      world.Advance(Seconds(10));
    }
  }
  v1::AppStatus App() { return DescribeApp(world.partition().state(), world.now); }

  const v1::AppSpec spec;
  World world;
};

TEST_F(ShunnedTest, ItIsEmptiedAndGetsNothing) {
  Complain(120, {"kv-1"});
  EXPECT_EQ(world.NoteCount(NoteKind::kServerShunned), 1u);
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 12u);
  const auto [state, reason] = world.DrainState("kv-1");
  EXPECT_EQ(state, "drained");
  EXPECT_THAT(reason,
              HasSubstr("shunned: 5 clients cannot use it (no answer in time), 1 can; tried "
                        "again in "));
  EXPECT_THAT(App().conditions(), Contains(HasSubstr("kv-1 is shunned: 5 clients")));
}

TEST_F(ShunnedTest, FewComplaintsMoveNothing) {
  Complain(120, {"kv-1"}, 2);
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

TEST_F(ShunnedTest, ItIsTriedAgainAfterFiveMinutes) {
  Complain(60, {"kv-1"});
  ASSERT_EQ(world.Counts().at("kv-1"), 0u);
  Complain(400, {});
  EXPECT_EQ(world.NoteCount(NoteKind::kShunningEnded), 1u);
  EXPECT_EQ(world.Counts().at("kv-1"), 3u);
  EXPECT_EQ(world.DrainState("kv-1").first, "live");
}

TEST_F(ShunnedTest, ANewProcessIsTriedAtOnce) {
  Complain(60, {"kv-1"});
  ASSERT_EQ(world.Counts().at("kv-1"), 0u);
  world.Die("kv-1");
  world.Join("kv-1");
  world.Advance(Seconds(30));
  EXPECT_EQ(world.NoteCount(NoteKind::kShunningEnded), 1u);
  EXPECT_EQ(world.Counts().at("kv-1"), 3u);
}

// F17: a network fault of the clients empties nothing.
TEST_F(ShunnedTest, F17_WhenManyServersAreComplainedOfNoneIsEmptied) {
  Complain(300, {"kv-1", "kv-2"});
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
  EXPECT_EQ(world.NoteCount(NoteKind::kServerShunned), 0u);
  EXPECT_EQ(world.NoteCount(NoteKind::kClientsInTrouble), 1u) << "said once";
  EXPECT_THAT(App().conditions(), Contains(kTooManyShunned));
  Complain(20, {});
  EXPECT_THAT(App().conditions(), ::testing::Not(Contains(kTooManyShunned)));
}

TEST_F(ShunnedTest, WhatIsSaidOfServersThatAreNotThereIsIgnored) {
  world.Die("kv-3");
  Complain(60, {"kv-3", "kv-9"});
  EXPECT_EQ(world.NoteCount(NoteKind::kServerShunned), 0u);
}

TEST_F(ShunnedTest, OnePausedAppIsLeftAsItIs) {
  world.ordered.pause.emplace();
  world.Apply(spec);
  Complain(120, {"kv-1"});
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

class ShunnedPrimaryTest : public ShunnedTest {
 protected:
  ShunnedPrimaryTest() : ShunnedTest(Both(4, 2)) {}
};

TEST_F(ShunnedPrimaryTest, ItsPrimariesGoFirst) {
  Complain(180, {"kv-1"});
  EXPECT_EQ(world.Counts().at("kv-1"), 0u);
  EXPECT_EQ(world.Served(), 4u);
}

}  // namespace
}  // namespace shardmanager::orchestrator
