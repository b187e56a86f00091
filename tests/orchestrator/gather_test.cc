// What the partition lets come together: a fleet before its first plan, changes into one write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// A fleet that starts: the first to come does not get everything, to give it up again.
TEST(GatherTest, FirstPlacementsWaitForTheFleetToGather) {
  World world(TestSpec(12));
  world.Start();
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) {
    world.Join(name);
    world.Advance(Milliseconds(150));
    EXPECT_THAT(world.commands, IsEmpty());
  }
  world.Advance(Milliseconds(50));
  EXPECT_EQ(world.Served(), 12u);
  EXPECT_EQ(world.NoteCount(NoteKind::kMoveStarted), 0u);
}

TEST(GatherTest, FirstPlacementsDoNotWaitForAFleetThatNeverStopsToGather) {
  World world(TestSpec(4));
  world.Start();
  for (int i = 0; i < 20; ++i) {
    world.Join(absl::StrCat("kv-", i));
    world.Advance(Milliseconds(100));
  }
  EXPECT_EQ(world.Served(), 4u);
}

TEST(GatherTest, WhatWasLostDoesNotWaitForServersThatJoin) {
  World world(TestSpec(4));
  world.Start();
  world.Join("kv-0");
  world.Join("kv-1");
  world.Gather();
  world.Join("kv-2");
  world.Die("kv-0");
  EXPECT_EQ(world.Served(), 4u);
}

TEST(GatherTest, GathersWhatComesUpDuringAWriteIntoTheNextOne) {
  World world(TestSpec(100));
  world.hold_writes = true;
  world.Start();
  world.Join("kv-0");
  world.Gather();
  ASSERT_THAT(world.writes, SizeIs(1));
  world.Apply(TestSpec(200));
  EXPECT_THAT(world.writes, SizeIs(1));
  world.FinishWrite(WriteOutcome::kOk);
  ASSERT_THAT(world.writes, SizeIs(1));
  EXPECT_EQ(world.writes[0].writes.at(0).replicas.size(), 200u);
}

// Every record that a batch touches is rewritten whole: batches must be few.
TEST(GatherTest, FailsOverAThousandShardsToManyServersInAHandfulOfWrites) {
  World world(TestSpec(20'000));
  world.check_every_step = false;
  for (int i = 0; i < 20; ++i) {
    world.servers[absl::StrCat("kv-", i)] = {.incarnation = Incarnation(1), .live = true};
  }
  world.Start();
  world.Gather();
  ASSERT_EQ(world.Served(), 20'000u);
  ASSERT_EQ(world.Counts().at("kv-0"), 1'000u);

  world.hold_writes = true;
  world.Die("kv-0");
  int writes = 0;
  for (; !world.writes.empty(); ++writes) world.FinishWrite(WriteOutcome::kOk);
  EXPECT_EQ(world.Served(), 20'000u);
  EXPECT_LE(writes, 4);
  world.CheckInvariants();
}

// A server whose record alone fills a batch still takes shards by the thousand.
TEST(GatherTest, AServerOfTwentyThousandShardsIsFilledInAFewWrites) {
  World world(TestSpec(25'000));
  world.check_every_step = false;
  world.hold_writes = true;
  world.Start();
  world.Join("kv-0");
  world.Gather();
  int writes = 0;
  for (; !world.writes.empty(); ++writes) world.FinishWrite(WriteOutcome::kOk);
  EXPECT_GE(world.Served(), 20'000u);
  EXPECT_LT(world.Served(), 25'000u) << "no record is larger than fits into a write";
  EXPECT_LE(writes, 5);
}

}  // namespace
}  // namespace shardmanager::orchestrator
