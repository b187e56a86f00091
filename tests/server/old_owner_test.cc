// What the old owner of a handover promises, one event at a time.
#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- its steps

TEST_F(HandoverBookTest, OldOwnerServesOnThenHoldsThenDropsThenForwards) {
  Serve("s", 5);
  const ReplyId reply = PrepareDrop("s", 5, 6);
  EXPECT_THAT(asked(), ElementsAre("prepare-drop s"));
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
  PreparedToDrop("s");
  EXPECT_THAT(asked(), ElementsAre("hold s"));
  EXPECT_THAT(Held(), IsEmpty());
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading"));
  EXPECT_TRUE(book_.in_use());
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("forward s to kv-2@6"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_FALSE(book_.in_use());
}

TEST_F(HandoverBookTest, FailingPrepareDropShardIsLoggedAndTheMoveGoesOn) {
  Serve("s", 5);
  PrepareDrop("s", 5, 6);
  PreparedToDrop("s", absl::InternalError("cannot flush"));
  EXPECT_THAT(asked(), ElementsAre("warn", "hold s"));
}

TEST_F(HandoverBookTest, ForwardingEndsAWhileAfterTheDrop) {
  ForwardRequests();
  AdvanceBy(Seconds(3'600));  // the new owner may be in need of it until it serves everybody
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(results(Drop("s", 5)), ElementsAre("s@5 done", "end"));
  AdvanceBy(Seconds(6));
  Drop("s", 5);  // a repeat does not prolong it
  AdvanceBy(Seconds(4) - Milliseconds(1));
  EXPECT_THAT(asked(), IsEmpty());
  AdvanceBy(Milliseconds(1));
  EXPECT_THAT(asked(), ElementsAre("close s"));
}

// ---- repeats

TEST_F(HandoverBookTest, F9_RepeatedPrepareDropSucceedsAndChangesNothing) {
  Serve("s", 5);
  std::vector<ReplyId> replies{PrepareDrop("s", 5, 6)};
  replies.push_back(PrepareDrop("s", 5, 6));
  EXPECT_THAT(asked(), IsEmpty());
  PreparedToDrop("s");
  replies.push_back(PrepareDrop("s", 5, 6));
  EXPECT_THAT(asked(), IsEmpty());
  Drain("s");
  replies.push_back(PrepareDrop("s", 5, 6));
  EXPECT_THAT(asked(), IsEmpty());
  EndDrop("s");
  for (const ReplyId reply : replies) {
    EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
  }
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), ElementsAre("forward s to kv-2@6"));  // as before
}

TEST_F(HandoverBookTest, F11_LateRepeatOfTheAddDoesNotOpenItAgain) {
  Serve("s", 5);
  PrepareDrop("s", 5, 6);
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
  PreparedToDrop("s");
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
  Drain("s");
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
  EndDrop("s");
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(HandoverBookTest, OlderPrepareDropIsStale) {
  Serve("s", 5);
  EXPECT_THAT(results(PrepareDrop("s", 4, 6)), ElementsAre("s@4 stale", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(HandoverBookTest, PrepareDropOfWhatIsNotHeldIsDoneAndBarsItsEpoch) {
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
}

// ---- what goes wrong

// Before the requests that it holds are refused.
TEST_F(HandoverBookTest, DrainThatTakesTooLongIsCalledOff) {
  const ReplyId reply = HoldRequests();
  AdvanceBy(Milliseconds(1'499));
  EXPECT_THAT(asked(), IsEmpty());
  AdvanceBy(Milliseconds(1));
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 called off", "end"));
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
  Drain("s");  // too late
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, CalledOffHandoverMayBeAskedForAgain) {
  HoldRequests();
  AdvanceBy(Seconds(10));
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 done", "end"));
  PrepareDrop("s", 5, 8);
  PreparedToDrop("s");
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("forward s to kv-2@8"));
}

// The control plane has ended the new owner by then, or is about to.
TEST_F(HandoverBookTest, F11_WhatWasCalledOffIsNeverLetGoForThatNewOwner) {
  HoldRequests();
  AdvanceBy(Seconds(10));
  asked();
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 called off", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
  PrepareDrop("s", 5, 8);
  PreparedToDrop("s");
  asked();
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 called off", "end"));
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("forward s to kv-2@8"));
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
}

// A new life that holds nothing does not say that it serves.
TEST_F(HandoverBookTest, WhatWasCalledOffAndDroppedSinceIsDone) {
  HoldRequests();
  AdvanceBy(Seconds(10));
  Drop("s", 5);
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(results(PrepareDrop("s", 5, 6)), ElementsAre("s@5 done", "end"));
}

TEST_F(HandoverBookTest, DropMeanwhileEndsTheHolding) {
  const ReplyId prepare = HoldRequests();
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(asked(), IsEmpty());  // nothing is forwarded
  EXPECT_THAT(results(prepare), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

// The gate holds while DropShard runs, and nobody would ever let go what it holds.
TEST_F(HandoverBookTest, DropWhileDropShardRunsEndsTheHolding) {
  HoldRequests();
  Drain("s");
  Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EndDrop("s");
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, StopEndsTheHolding) {
  HoldRequests();
  Feed(Stop{});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("emptied"));
}

// Clients that lag behind are sent on as long as the process is there.
TEST_F(HandoverBookTest, StopDoesNotWaitForTheForwardingNorEndIt) {
  ForwardRequests();
  Feed(Stop{});
  EXPECT_THAT(asked(), ElementsAre("emptied"));
}

TEST_F(HandoverBookTest, NewerGrantEndsTheForwarding) {
  ForwardRequests();
  Add("s", 7);
  EXPECT_THAT(asked(), ElementsAre("close s", "loading s", "add s@7"));
}

TEST_F(HandoverBookTest, HandoverBackEndsTheForwardingAndPrepares) {
  ForwardRequests();
  PrepareAdd("s", 7);
  EXPECT_THAT(asked(), ElementsAre("close s", "prepare-add s@7"));
  Prepare("s", 7);
  EXPECT_THAT(asked(), ElementsAre("await s@7 from kv-2"));
  AdvanceBy(Seconds(60));  // nothing of the former handover is left
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, PrepareDropOfAShardThatLoadsForwardsOnceItIsDropped) {
  const ReplyId add = Add("s", 5);
  const ReplyId drop = PrepareDrop("s", 5, 6);
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 failed", "end"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("forward s to kv-2@6"));
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, NewerGrantWhileHeldServesAgainAfterTheDrop) {
  HoldRequests();
  const ReplyId add = Add("s", 7);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@7"));
  Load("s", 7);
  EXPECT_THAT(results(add), ElementsAre("s@7 loading", "s@7 done", "end"));
}

TEST_F(HandoverBookTest, F5_LostSessionWhilePreparingToDropStopsServingAtOnce) {
  Serve("s", 5);
  const ReplyId reply = PrepareDrop("s", 5, 6);
  Rejoin({});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  PreparedToDrop("s");
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, LostSessionEndsTheForwarding) {
  ForwardRequests();
  Rejoin({});
  EXPECT_THAT(asked(), ElementsAre("close s"));
}

// Otherwise the next life would forward for ever: nobody tells it when to end.
TEST_F(HandoverBookTest, LostSessionWhileHeldEndsTheHolding) {
  HoldRequests();
  Rejoin({});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, LostSessionWhileDropShardRunsEndsTheHolding) {
  HoldRequests();
  Drain("s");
  Rejoin({});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EndDrop("s");
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, F5_SlowDrainOfAFormerLifesShardDoesNotOpenItAgain) {
  const ReplyId reply = HoldRequests();
  Rejoin({});
  AdvanceBy(Seconds(10));
  EXPECT_THAT(asked(), ElementsAre("warn"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 failed", "end"));
  EXPECT_THAT(Held(), IsEmpty());
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
}

TEST_F(HandoverBookTest, F11_AnOldReadOfTheAssignmentDoesNotReviveWhatWasHandedOver) {
  PrepareAdd("s", 5);
  Prepare("s", 5);
  Serve("s", 5);
  PrepareDrop("s", 5, 6);
  PreparedToDrop("s");
  Drain("s");
  EndDrop("s");
  Feed(Assigned{{}, {GrantOf("s", 5)}});  // read while it was preparing
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
}

TEST_F(HandoverBookTest, F11_LateRepeatOfAnOlderPrepareDropDoesNotRedirect) {
  Serve("s", 7);
  PrepareDrop("s", 7, 8);
  PreparedToDrop("s");
  Drain("s");
  EndDrop("s");
  PrepareDrop("s", 5, 6);
  EXPECT_THAT(asked(), ElementsAre());
}

}  // namespace
}  // namespace shardmanager::server
