// Every rule about shards and commands, one event at a time.
#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- add

TEST_F(ShardBookTest, AdmitsOnlyAfterTheApplicationHasLoaded) {
  const ReplyId reply = Add("s", 5);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@5"));
  EXPECT_THAT(Held(), ElementsAre("s@5 loading"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("open s@5"));
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, ReportsProgressToWhomeverWaits) {
  const ReplyId reply = Add("s", 5);
  Feed(Progress{ShardId("s"), ShardEpoch(5), 0.5});
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 loading"));
}

TEST_F(ShardBookTest, BatchEndsWithTheLastOfItsShards) {
  const ReplyId reply = Send(CommandKind::kAdd, {GrantOf("a", 5), GrantOf("b", 6)});
  Load("b", 6);
  EXPECT_THAT(results(reply), ElementsAre("a@5 loading", "b@6 loading", "b@6 done"));
  Load("a", 5);
  EXPECT_THAT(results(reply),
              ElementsAre("a@5 loading", "b@6 loading", "b@6 done", "a@5 done", "end"));
}

TEST_F(ShardBookTest, F9_RepeatedAddOfAServingShardIsDoneAndChangesNothing) {
  Serve("s", 5);
  const ReplyId repeat = Add("s", 5);
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(results(repeat), ElementsAre("s@5 done", "end"));
}

TEST_F(ShardBookTest, F9_RepeatedAddJoinsTheLoadThatRuns) {
  const ReplyId first = Add("s", 5);
  const ReplyId repeat = Add("s", 5);
  EXPECT_THAT(asked(), IsEmpty());
  Load("s", 5);
  EXPECT_THAT(results(first), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(results(repeat), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, LoadThatIsAbortedSaysThatTheGrantIsOver) {
  const ReplyId reply = Add("s", 5);
  Load("s", 5, absl::AbortedError("fenced: 9 has been seen"));
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_THAT(results(reply), Contains(HasSubstr("s@5 stale")));
}

TEST_F(ShardBookTest, FailedLoadIsNotHeldAndTheSameEpochMayTryAgain) {
  const ReplyId first = Add("s", 5);
  Load("s", 5, absl::InternalError("disk full"));
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(results(first), ElementsAre("s@5 loading", "s@5 failed", "end"));
  EXPECT_THAT(Held(), IsEmpty());
  Add("s", 5);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@5"));
}

TEST_F(ShardBookTest, NewerGrantOfAServingShardDrainsThenLoadsAgainWithoutADrop) {
  Serve("s", 5);
  Add("s", 6);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
  Load("s", 6);
  EXPECT_THAT(asked(), ElementsAre("open s@6"));
}

TEST_F(ShardBookTest, NewerGrantWhileLoadingOvertakesTheOlder) {
  const ReplyId older = Add("s", 5);
  const ReplyId newer = Add("s", 6);
  EXPECT_THAT(asked(), IsEmpty());  // one call into the application at a time
  EXPECT_THAT(results(older), ElementsAre("s@5 loading", "s@5 stale", "end"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));  // never opened with 5
  Load("s", 6);
  EXPECT_THAT(results(newer), ElementsAre("s@6 loading", "s@6 done", "end"));
}

// ---- drop

TEST_F(ShardBookTest, DropWaitsForRequestsInFlightThenForTheApplication) {
  Serve("s", 5);
  const ReplyId reply = Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading"));
  EndDrop("s");
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(ShardBookTest, DropOfAnUnknownShardIsDoneAndBarsItsEpoch) {
  EXPECT_THAT(results(Drop("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
}

TEST_F(ShardBookTest, F9_RepeatedDropIsDone) {
  Serve("s", 5);
  Drop("s", 5);
  Feed(Drained{ShardId("s")});
  EndDrop("s");
  EXPECT_THAT(results(Drop("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ShardBookTest, DropWhileLoadingNeverAdmitsAndDropsAfterTheLoad) {
  const ReplyId add = Add("s", 5);
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 failed", "end"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, AddWaitsForTheDropThatRuns) {
  Serve("s", 5);
  Drop("s", 5);
  Feed(Drained{ShardId("s")});
  const ReplyId add = Add("s", 6);
  EXPECT_THAT(asked(), IsEmpty());
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
  Load("s", 6);
  EXPECT_THAT(results(add), ElementsAre("s@6 loading", "s@6 done", "end"));
}

TEST_F(ShardBookTest, FailingDropShardCountsAsDroppedAndIsLogged) {
  Serve("s", 5);
  const ReplyId reply = Drop("s", 5);
  Feed(Drained{ShardId("s")});
  EndDrop("s", absl::InternalError("cannot close"));
  EXPECT_THAT(asked(), ElementsAre("warn"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, DropThatWaitsTooLongIsCalledOffAndDoesNotCallTheApplication) {
  Serve("s", 5);
  const ReplyId reply = Drop("s", 5);
  AdvanceBy(Seconds(9));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading"));
  AdvanceBy(Seconds(1));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 called off", "end"));
  EXPECT_THAT(asked(), ::testing::Not(::testing::Contains("drop s")));
}

TEST_F(ShardBookTest, DropOvertakenByANewerGrantIsCarriedOutAndAnswered) {
  Serve("s", 5);
  const ReplyId drop = Drop("s", 5);
  const ReplyId add = Add("s", 6);
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
  Load("s", 6);
  EXPECT_THAT(results(add), ElementsAre("s@6 loading", "s@6 done", "end"));
}

TEST_F(ShardBookTest, DropOfALoadOvertakenByANewerGrantIsAnswered) {
  Add("s", 5);
  const ReplyId drop = Drop("s", 5);
  Add("s", 6);
  Load("s", 5, absl::InternalError("no"));
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
  EXPECT_THAT(asked(), ElementsAre("close s", "loading s", "add s@6"));
}

TEST_F(ShardBookTest, NewerGrantThatWaitsTooLongNeverServesUnderTheOldOne) {
  Serve("s", 5);
  const ReplyId first = Add("s", 6);
  AdvanceBy(Seconds(10));
  EXPECT_THAT(results(first), ElementsAre("s@6 loading", "s@6 failed", "end"));
  EXPECT_THAT(asked(), ElementsAre("warn"));
  const ReplyId repeat = Add("s", 6);
  AdvanceBy(Seconds(10));
  EXPECT_THAT(results(repeat), ElementsAre("s@6 loading", "s@6 failed", "end"));
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
}

// ---- what is old is not obeyed

TEST_F(ShardBookTest, OlderEpochsAreStale) {
  Serve("s", 5);
  EXPECT_THAT(results(Add("s", 4)), ElementsAre("s@4 stale", "end"));
  EXPECT_THAT(results(Drop("s", 4)), ElementsAre("s@4 stale", "end"));
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(ShardBookTest, DroppedEpochIsRememberedForEver) {
  Serve("s", 5);
  Drop("s", 5);
  Feed(Drained{ShardId("s")});
  EndDrop("s");
  EXPECT_THAT(results(Add("s", 5)), ElementsAre("s@5 stale", "end"));
  EXPECT_THAT(results(Add("s", 4)), ElementsAre("s@4 stale", "end"));
  Add("s", 6);
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
}

TEST_F(ShardBookTest, F1_CommandsOfADeposedLeaderAreRefused) {
  Serve("s", 5);
  const LeaderEpoch deposed{kLeader.value() - 1};
  const ReplyId reply =
      Send({CommandKind::kDrop, 0, "kv", "kv-1", kLife, deposed, {GrantOf("s", 9)}});
  EXPECT_THAT(refusal(reply), HasSubstr("ABORTED"));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(ShardBookTest, F7_CommandsForAnotherLifeAreRefused) {
  for (const uint64_t life : {kLife.value() - 1, kLife.value() + 1}) {
    const ReplyId reply =
        Send({CommandKind::kAdd, 0, "kv", "kv-1", Incarnation(life), kLeader, {GrantOf("s", 5)}});
    EXPECT_THAT(refusal(reply), HasSubstr("FAILED_PRECONDITION"));
  }
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(ShardBookTest, NothingIsObeyedBeforeRegistration) {
  ShardBook fresh({"kv", "kv-1", Seconds(10)});
  const auto output = fresh.OnEvent(
      TimePoint(),
      Command{CommandKind::kAdd, 1, "kv", "kv-1", Incarnation(0), kLeader, {GrantOf("s", 5)}});
  ASSERT_EQ(output.actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Refuse>(output.actions[0]));
}

TEST_F(ShardBookTest, CommandsForAnotherServerOrAppAreRefused) {
  for (const auto& [app, server] : {std::pair{"kv", "kv-2"}, std::pair{"other", "kv-1"}}) {
    const ReplyId reply =
        Send({CommandKind::kAdd, 0, app, server, kLife, kLeader, {GrantOf("s", 5)}});
    EXPECT_THAT(refusal(reply), HasSubstr("FAILED_PRECONDITION"));
  }
  EXPECT_THAT(Held(), IsEmpty());
}

// ---- the stored assignment

TEST_F(ShardBookTest, LoadsWhatTheStoredAssignmentGrants) {
  Feed(Assigned{{GrantOf("a", 5), GrantOf("b", 6, Role::kSecondary)}});
  EXPECT_THAT(asked(), ElementsAre("loading a", "add a@5", "loading b", "add b@6"));
}

TEST_F(ShardBookTest, NewLifeKeepsWhatIsStillGrantedAndDropsTheRest) {
  Serve("kept", 5);
  Serve("lost", 6);
  Feed(Registered{Incarnation(4)});
  Feed(Assigned{{GrantOf("kept", 5)}});
  EXPECT_THAT(asked(), ElementsAre("close lost"));
  EXPECT_THAT(Held(), ElementsAre("kept@5 serving"));
}

TEST_F(ShardBookTest, NewLifeLoadsAgainWhatWasGrantedAnew) {
  Serve("s", 5);
  Feed(Registered{Incarnation(4)});
  Feed(Assigned{{GrantOf("s", 9)}});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@9"));
}

TEST_F(ShardBookTest, F11_AnOldReadOfTheAssignmentDoesNotUndoNewerCommands) {
  Serve("added", 9);
  Drop("dropped", 8);
  Feed(Assigned{{GrantOf("dropped", 8)}});
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("added@9 serving"));
}

TEST_F(ShardBookTest, FailedLoadThatNobodyWaitsForIsTriedAgain) {
  Feed(Assigned{{GrantOf("s", 5)}});
  for (const int seconds : {1, 2, 4}) {
    Load("s", 5, absl::InternalError("not yet"));
    AdvanceBy(Seconds(seconds) - Milliseconds(1));
    EXPECT_THAT(asked(), IsEmpty());
    AdvanceBy(Milliseconds(1));
    EXPECT_THAT(asked(), ElementsAre("loading s", "add s@5"));
  }
  Load("s", 5);
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

TEST_F(ShardBookTest, WhoeverAsksForALoadThatFailedBeforeDecidesWhetherItIsTriedAgain) {
  Feed(Assigned{{GrantOf("s", 5)}});
  Load("s", 5, absl::InternalError("not yet"));
  Add("s", 5);
  Load("s", 5, absl::InternalError("not yet"));
  AdvanceBy(Seconds(60));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ShardBookTest, FailedLoadIsNotTriedAgainOnceItIsAssignedNoMore) {
  Feed(Assigned{{GrantOf("s", 5)}});
  Load("s", 5, absl::InternalError("not yet"));
  Feed(Registered{Incarnation(4)});
  Feed(Assigned{});
  AdvanceBy(Seconds(60));
  EXPECT_THAT(asked(), IsEmpty());
}

// ---- the end

TEST_F(ShardBookTest, F16_StopNeverTakesAShardInUseForDropped) {
  Serve("s", 5);
  Feed(Stop{});
  AdvanceBy(Seconds(10));
  EXPECT_THAT(asked(), ElementsAre("warn"));
  EXPECT_TRUE(book_.in_use());
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("emptied"));
  EXPECT_FALSE(book_.in_use());
}

TEST_F(ShardBookTest, ShardThatLoadsIsNotInUse) {
  Add("s", 5);
  EXPECT_FALSE(book_.in_use());
}

TEST_F(ShardBookTest, StopDropsEveryShardAndThenSaysSo) {
  Serve("a", 5);
  Add("b", 6);
  Feed(Stop{});
  EXPECT_THAT(asked(), ElementsAre("close a"));
  Feed(Drained{ShardId("a")});
  EXPECT_THAT(asked(), ElementsAre("drop a"));
  EndDrop("a");
  EXPECT_THAT(asked(), IsEmpty());
  Load("b", 6);
  EXPECT_THAT(asked(), ElementsAre("close b", "drop b"));
  EndDrop("b");
  EXPECT_THAT(asked(), ElementsAre("emptied"));
}

TEST_F(ShardBookTest, AServerThatServesOnWhileItIsCutOffChangesNothing) {
  Serve("s", 5);
  for (const CommandKind kind :
       {CommandKind::kAdd, CommandKind::kDrop, CommandKind::kPrepareDrop}) {
    Command command{kind, 0, "kv", "kv-1", kLife, kLeader, {GrantOf("s", 6)}};
    command.cut_off = true;
    EXPECT_THAT(refusal(Send(std::move(command))), HasSubstr("cut off"));
    EXPECT_THAT(asked(), IsEmpty());
  }
  Drop("s", 5);
  EXPECT_THAT(asked(), ElementsAre("close s")) << "it is in reach again";
}

TEST_F(ShardBookTest, NothingIsTakenOnWhileStopping) {
  Feed(Stop{});
  EXPECT_THAT(asked(), ElementsAre("emptied"));
  EXPECT_THAT(refusal(Add("s", 5)), HasSubstr("shutting down"));
  Feed(Assigned{{GrantOf("s", 5)}});
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ShardBookTest, SpuriousWakeChangesNothing) {
  Serve("s", 5);
  AdvanceBy(Duration(0));
  EXPECT_THAT(asked(), IsEmpty());
  AdvanceBy(Seconds(3'600));
  EXPECT_THAT(asked(), IsEmpty());
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
}

}  // namespace
}  // namespace shardmanager::server
