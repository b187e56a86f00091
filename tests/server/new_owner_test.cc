// What the new owner of a handover promises, one event at a time.
#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// ---- its steps

TEST_F(HandoverBookTest, NewOwnerPreparesThenAwaitsWhatIsForwarded) {
  const ReplyId reply = PrepareAdd("s", 5);
  EXPECT_THAT(asked(), ElementsAre("prepare-add s@5"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading"));
  Prepare("s", 5);
  EXPECT_THAT(asked(), ElementsAre("await s@5 from kv-2"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_FALSE(book_.in_use());
}

TEST_F(HandoverBookTest, FirstForwardedRequestMakesItLoadAndServeWhatIsForwarded) {
  AwaitForwardedRequests();
  Feed(Forwarded{kShard});
  EXPECT_THAT(asked(), ElementsAre("add s@5"));  // still held: nothing to show
  Feed(Forwarded{kShard});
  EXPECT_THAT(asked(), IsEmpty());
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5 to kv-2"));
  EXPECT_THAT(Held(), ElementsAre("s@5 loading"));  // it is not for everybody yet
  EXPECT_TRUE(book_.in_use());
}

TEST_F(HandoverBookTest, ForwardedRequestOfAShardThatIsNotPreparedChangesNothing) {
  Feed(Forwarded{kShard});
  EXPECT_THAT(asked(), IsEmpty());
  PrepareAdd("s", 5);
  Feed(Forwarded{kShard});
  EXPECT_THAT(asked(), IsEmpty());
  Serve("other", 6);
  Feed(Forwarded{ShardId("other")});
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, PrepareAddAwaitsTheOwnerThatItNames) {
  PrepareAdd("s", 5, "kv-7");
  Prepare("s", 5);
  EXPECT_THAT(asked(), ElementsAre("await s@5 from kv-7"));
}

// Requests wait for that load, so it has threads of its own (lanes.h).
TEST_F(HandoverBookTest, OnlyTheLoadOfAPreparedShardIsATakeOver) {
  Add("fresh", 3);
  EXPECT_FALSE(prepared());
  AwaitForwardedRequests();
  Feed(Forwarded{kShard});
  EXPECT_TRUE(prepared());
  Add("other", 4);
  EXPECT_FALSE(prepared());
  PrepareAdd("asked", 7);
  Add("asked", 7);
  Prepare("asked", 7);
  EXPECT_TRUE(prepared());
}

// ---- the add lets in everybody, whenever it comes

TEST_F(HandoverBookTest, AddWhilePreparingLoadsForEverybodyOncePrepared) {
  const ReplyId prepare = PrepareAdd("s", 5);
  const ReplyId add = Add("s", 5);
  EXPECT_THAT(asked(), IsEmpty());
  Prepare("s", 5);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@5"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(prepare), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, AddOfAPreparedShardLoadsForEverybody) {
  AwaitForwardedRequests();
  const ReplyId add = Add("s", 5);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@5"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, AddWhileLoadingForForwardedRequestsOpensToEverybody) {
  AwaitForwardedRequests();
  Feed(Forwarded{kShard});
  const ReplyId add = Add("s", 5);
  EXPECT_THAT(asked(), IsEmpty());  // one load is enough
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, AddWhileServingForwardedRequestsOpensToEverybodyAtOnce) {
  ServeForwardedRequests();
  const ReplyId add = Add("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(add), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(HandoverBookTest, StoredAssignmentOpensToEverybodyLikeAnAdd) {
  ServeForwardedRequests();
  Feed(Assigned{{GrantOf("s", 5)}});
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
}

// ---- repeats

TEST_F(HandoverBookTest, F9_RepeatedPrepareAddJoinsThePreparation) {
  const ReplyId first = PrepareAdd("s", 5);
  const ReplyId repeat = PrepareAdd("s", 5);
  EXPECT_THAT(asked(), IsEmpty());
  Prepare("s", 5);
  EXPECT_THAT(results(first), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(results(repeat), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, F9_RepeatedPrepareAddIsDoneAndChangesNothing) {
  AwaitForwardedRequests();
  EXPECT_THAT(results(PrepareAdd("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  Feed(Forwarded{kShard});
  EXPECT_THAT(results(PrepareAdd("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  Load("s", 5);
  EXPECT_THAT(results(PrepareAdd("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, F9_LateRepeatOfPrepareAddDoesNotShutOutAnybody) {
  AwaitForwardedRequests();
  Add("s", 5);
  PrepareAdd("s", 5);
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(results(PrepareAdd("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(HandoverBookTest, OlderPrepareAddIsStale) {
  AwaitForwardedRequests();
  EXPECT_THAT(results(PrepareAdd("s", 4)), ElementsAre("s@4 stale", "end"));
  EXPECT_THAT(asked(), IsEmpty());
}

// ---- what goes wrong

TEST_F(HandoverBookTest, FailedPrepareAddLeavesNothingAndMayBeRepeated) {
  const ReplyId reply = PrepareAdd("s", 5);
  Prepare("s", 5, absl::InternalError("disk full"));
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 failed", "end"));
  Feed(Forwarded{kShard});
  EXPECT_THAT(asked(), IsEmpty());
  AdvanceBy(Seconds(60));  // whether to try again is the control plane's to say
  EXPECT_THAT(asked(), IsEmpty());
  PrepareAdd("s", 5);
  EXPECT_THAT(asked(), ElementsAre("prepare-add s@5"));
}

// "After an error neither does": the shard was to be tried again under an older grant.
TEST_F(HandoverBookTest, AFailedPrepareIsNotFollowedByTheRetryOfAnEarlierGrant) {
  Feed(Assigned{{GrantOf("s", 4)}});
  Load("s", 4, absl::InternalError("not yet"));
  Drop("s", 4);
  PrepareAdd("s", 5);
  EXPECT_THAT(asked(), ElementsAre("prepare-add s@5"));
  Prepare("s", 5, absl::InternalError("no"));
  AdvanceBy(Seconds(60));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(HandoverBookTest, FailedLoadForForwardedRequestsServesNobodyAndIsTriedAgain) {
  AwaitForwardedRequests();
  Feed(Forwarded{kShard});
  Load("s", 5, absl::InternalError("not yet"));
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(Held(), IsEmpty());
  AdvanceBy(Seconds(1));
  EXPECT_THAT(asked(), ElementsAre("add s@5"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5 to kv-2"));
}

// At once, as nothing is in flight: a drain that was called off would open what never loaded.
TEST_F(HandoverBookTest, DropOfWhatIsOnlyPreparedRunsDropShardAtOnce) {
  AwaitForwardedRequests();
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  AdvanceBy(Seconds(60));
  EXPECT_THAT(asked(), IsEmpty());
  EndDrop("s");
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
}

TEST_F(HandoverBookTest, DrainOfForwardedRequestsThatTakesTooLongIsCalledOff) {
  ServeForwardedRequests();
  const ReplyId drop = Drop("s", 5);
  AdvanceBy(Seconds(10));
  EXPECT_THAT(asked(), ElementsAre("open s@5 to kv-2"));  // and to nobody else
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 called off", "end"));
}

// PrepareAddShard is followed by AddShard with the same grant, or by DropShard.
TEST_F(HandoverBookTest, NewerAddOfAPreparedShardDropsItFirst) {
  AwaitForwardedRequests();
  const ReplyId add = Add("s", 7);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@7"));
  Load("s", 7);
  EXPECT_THAT(results(add), ElementsAre("s@7 loading", "s@7 done", "end"));
}

TEST_F(HandoverBookTest, DropWhileLoadingForForwardedRequestsLetsThemGo) {
  AwaitForwardedRequests();
  Feed(Forwarded{kShard});
  Drop("s", 5);
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
}

// The gate goes on holding what is forwarded while a prepared shard loads for everybody.
TEST_F(HandoverBookTest, DropWhileThePreparedShardLoadsForEverybodyLetsGoWhatIsHeld) {
  AwaitForwardedRequests();
  Add("s", 5);
  Drop("s", 5);
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
}

TEST_F(HandoverBookTest, DropWhilePreparingDropsOncePrepared) {
  const ReplyId prepare = PrepareAdd("s", 5);
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(results(prepare), ElementsAre("s@5 loading", "s@5 failed", "end"));
  EXPECT_THAT(asked(), IsEmpty());  // one call into the application at a time
  Prepare("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, DropWhilePreparingThatFailsIsDoneWithoutDropShard) {
  PrepareAdd("s", 5);
  const ReplyId drop = Drop("s", 5);
  Prepare("s", 5, absl::InternalError("no"));
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, DropWhileServingForwardedRequestsDrainsThem) {
  ServeForwardedRequests();
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, NewerHandoverToTheSameServerBeginsAnew) {
  AwaitForwardedRequests();
  const ReplyId newer = PrepareAdd("s", 7, "kv-3");
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("prepare-add s@7"));
  Prepare("s", 7);
  EXPECT_THAT(asked(), ElementsAre("await s@7 from kv-3"));
  EXPECT_THAT(results(newer), ElementsAre("s@7 loading", "s@7 done", "end"));
}

TEST_F(HandoverBookTest, PreparedShardMayBeAskedForAgainInTheNextLife) {
  AwaitForwardedRequests();
  Rejoin({{}, {GrantOf("s", 5)}});
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  const ReplyId repeat = PrepareAdd("s", 5);
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("prepare-add s@5"));
  Prepare("s", 5);
  EXPECT_THAT(asked(), ElementsAre("await s@5 from kv-2"));
  EXPECT_THAT(results(repeat), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(HandoverBookTest, PreparedShardOfAFormerLifeThatIsNotAssignedIsDroppedForGood) {
  AwaitForwardedRequests();
  Rejoin({});
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(results(PrepareAdd("s", 5)), ElementsAre("s@5 stale", "end"));
}

TEST_F(HandoverBookTest, StopDropsWhatIsPrepared) {
  AwaitForwardedRequests();
  Feed(Stop{});
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("emptied"));
}

}  // namespace
}  // namespace shardmanager::server
