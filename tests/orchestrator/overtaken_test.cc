// A grant that is over for its server, or for its storage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kOldLeader = 57;

// A cell that was restored from a backup: its epochs lie behind what the server has seen.
class OvertakenTest : public testing::Test {
 protected:
  OvertakenTest() : world_(TestSpec(1)) {
    world_.Start();
    world_.Join("kv-0");
    world_.servers.at("kv-0").over["s-0"] = ShardEpoch(kOldLeader << 32);
    world_.Advance(Seconds(5));
  }

  World world_;
};

TEST_F(OvertakenTest, EpochsThatLieBehindAreToldOfOnce) {
  EXPECT_EQ(world_.NoteCount(NoteKind::kEpochsBehind), 1u);
  EXPECT_THAT(world_.WaitsOf("s-0"), Contains(HasSubstr("shardctl cell raise-epochs")));
  world_.Advance(Seconds(600));
  EXPECT_EQ(world_.NoteCount(NoteKind::kEpochsBehind), 1u);
}

TEST_F(OvertakenTest, NewGrantsFollowAtGrowingIntervals) {
  const size_t before = world_.commands.size();
  world_.Advance(Seconds(3600));
  EXPECT_LT(world_.commands.size() - before, 1'000u) << "retries with back-off, not a storm";
  EXPECT_THAT(world_.Published("s-0"), IsEmpty());
}

// A command that came late, of the same leader: nothing lies behind.
TEST(OvertakenOnceTest, ANewerGrantFollowsAtOnce) {
  World world(TestSpec(1));
  world.servers["kv-0"].over["s-0"] = ShardEpoch((uint64_t{1} << 32) + 1);
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(2));
  EXPECT_THAT(world.Published("s-0"), Not(IsEmpty()));
  EXPECT_EQ(world.NoteCount(NoteKind::kEpochsBehind), 0u);
}

TEST_F(OvertakenTest, TheSecondNewerGrantWaitsAMinute) {
  const auto epoch = [&] { return world_.servers.at("kv-0").record.front().epoch; };
  const ShardEpoch first = epoch();
  world_.Advance(Seconds(50));
  EXPECT_EQ(epoch(), first);
  world_.Advance(Seconds(120));
  EXPECT_GT(epoch(), first);
}

TEST_F(OvertakenTest, ItServesOnceItsEpochIsAboveWhatWasSeen) {
  world_.servers.at("kv-0").over.clear();
  world_.Advance(Seconds(30));
  EXPECT_THAT(world_.Published("s-0"), Not(IsEmpty()));
  EXPECT_THAT(world_.WaitsOf("s-0"), IsEmpty());
}

TEST(LeaderBehindTest, AServerThatObeysAHigherEpochIsToldOfOnceAndAskedAgain) {
  World world(TestSpec(2));
  world.Start();
  world.Join("kv-0");
  world.servers.at("kv-0").obeys_another = true;
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kEpochsBehind), 1u);
  EXPECT_THAT(world.Published("s-0"), IsEmpty());
  world.servers.at("kv-0").obeys_another = false;
  world.Advance(Seconds(60));
  EXPECT_THAT(world.Published("s-0"), Not(IsEmpty()));
}

// Only clients have seen the future that was lost: nobody refuses a command.
TEST(LeaderBehindTest, AClientThatHasTheMapOfALaterLeaderIsToldOfOnce) {
  World world(TestSpec(2));
  world.Start();
  world.Join("kv-0");
  world.Advance(Seconds(60));
  EXPECT_EQ(world.NoteCount(NoteKind::kEpochsBehind), 0u);
  for (int i = 0; i < 2; ++i) world.Send(LaterLeaderSeen{.where = "a client holds map 57.1"});
  ASSERT_EQ(world.NoteCount(NoteKind::kEpochsBehind), 1u);
  EXPECT_THAT(world.notes.back().detail, HasSubstr("shardctl cell raise-epochs"));
  EXPECT_THAT(world.notes.back().detail, HasSubstr("a client holds map 57.1"));
  EXPECT_TRUE(world.partition().state().failures.overtaken.leader_is_behind())
      << "the app's condition says so";
  EXPECT_THAT(world.Published("s-0"), Not(IsEmpty())) << "it serves on";
}

}  // namespace
}  // namespace shardmanager::orchestrator
