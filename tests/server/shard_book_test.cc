// Every rule about shards and commands, one event at a time.
#include "server/shard_book.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Incarnation kLife{3};
constexpr LeaderEpoch kLeader{7};

Grant GrantOf(const std::string& shard, uint64_t epoch, Role role = Role::kPrimary) {
  return {ShardId(shard), role, ShardEpoch(epoch)};
}

class ShardBookTest : public ::testing::Test {
 protected:
  ShardBookTest() { Feed(Registered{kLife}); }

  void Feed(ShardBook::Event event) { Keep(book_.OnEvent(now_, std::move(event))); }
  void AdvanceBy(Duration duration) {
    now_ += duration;
    Keep(book_.OnAdvance(now_));
  }

  ReplyId Send(Command command) {
    command.reply = ++last_reply_;
    Feed(std::move(command));
    return last_reply_;
  }
  ReplyId Send(CommandKind kind, std::vector<Grant> grants) {
    return Send({kind, 0, "kv", "kv-1", kLife, kLeader, std::move(grants)});
  }
  ReplyId Add(const std::string& shard, uint64_t epoch) {
    return Send(CommandKind::kAdd, {GrantOf(shard, epoch)});
  }
  ReplyId Drop(const std::string& shard, uint64_t epoch) {
    return Send(CommandKind::kDrop, {GrantOf(shard, epoch)});
  }
  void Load(const std::string& shard, uint64_t epoch, absl::Status status = absl::OkStatus()) {
    Feed(Loaded{ShardId(shard), ShardEpoch(epoch), std::move(status)});
  }
  // Added, loaded, admitting.
  void Serve(const std::string& shard, uint64_t epoch) {
    Add(shard, epoch);
    Load(shard, epoch);
  }

  // What the last event asked for, as words; replies aside.
  const std::vector<std::string>& asked() const { return asked_; }
  // Results of one reply since it was sent, as words; "end" closes it.
  const std::vector<std::string>& results(ReplyId reply) { return results_[reply]; }
  std::string refusal(ReplyId reply) { return refusals_[reply]; }

  std::vector<std::string> Held() const {
    std::vector<std::string> held;
    for (const ShardBook::Held& h : book_.held()) {
      held.push_back(h.grant.shard.value() + "@" + std::to_string(h.grant.epoch.value()) +
                     (h.serving ? " serving" : " loading"));
    }
    return held;
  }

  ShardBook book_{ShardBookOptions{"kv", "kv-1", Seconds(10)}};

 private:
  static std::string Word(const char* what, const Grant& grant) {
    return std::string(what) + " " + grant.shard.value() + "@" +
           std::to_string(grant.epoch.value());
  }
  static std::string Word(const char* what, const ShardId& shard) {
    return std::string(what) + " " + shard.value();
  }

  void Keep(Output<ShardBook::Action> output) {
    asked_.clear();
    for (const ShardBook::Action& action : output.actions) {
      std::visit([this](const auto& a) { Note(a); }, action);
    }
  }
  void Note(const RunAdd& a) { asked_.push_back(Word("add", a.grant)); }
  void Note(const RunDrop& a) { asked_.push_back(Word("drop", a.shard)); }
  void Note(const OpenShard& a) { asked_.push_back(Word("open", a.grant)); }
  void Note(const ShowLoading& a) { asked_.push_back(Word("loading", a.shard)); }
  void Note(const CloseShard& a) { asked_.push_back(Word("close", a.shard)); }
  void Note(const RunPrepareAdd& a) { asked_.push_back(Word("prepare-add", a.grant)); }
  void Note(const RunPrepareDrop& a) { asked_.push_back(Word("prepare-drop", a.shard)); }
  void Note(const HoldShard& a) { asked_.push_back(Word("hold", a.shard)); }
  void Note(const AwaitForwarded& a) {
    asked_.push_back(Word("await", a.grant) + " from " + a.old_owner);
  }
  void Note(const OpenForwarded& a) {
    asked_.push_back(Word("open", a.grant) + " to " + a.old_owner);
  }
  void Note(const ForwardShard& a) {
    asked_.push_back(Word("forward", a.shard) + " to " + a.to.server + "@" +
                     std::to_string(a.to.epoch.value()));
  }
  void Note(const Warn&) { asked_.push_back("warn"); }
  void Note(const Emptied&) { asked_.push_back("emptied"); }
  void Note(const Refuse& a) { refusals_[a.reply] = a.status.ToString(); }
  void Note(const Reply& a) {
    for (const ShardResult& r : a.results) results_[a.reply].push_back(Text(r));
    if (a.last) results_[a.reply].push_back("end");
  }
  static std::string Text(const ShardResult& r) {
    constexpr const char* kStates[] = {"loading", "done", "failed", "stale"};
    return r.shard.value() + "@" + std::to_string(r.epoch.value()) + " " +
           kStates[static_cast<size_t>(r.state)];
  }

  TimePoint now_{Seconds(1'000)};
  ReplyId last_reply_ = 0;
  std::vector<std::string> asked_;
  std::map<ReplyId, std::vector<std::string>> results_;
  std::map<ReplyId, std::string> refusals_;
};

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
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
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
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
  EXPECT_THAT(results(Drop("s", 5)), ElementsAre("s@5 done", "end"));
  EXPECT_THAT(asked(), IsEmpty());
}

TEST_F(ShardBookTest, DropWhileLoadingNeverAdmitsAndDropsAfterTheLoad) {
  const ReplyId add = Add("s", 5);
  const ReplyId drop = Drop("s", 5);
  EXPECT_THAT(results(add), ElementsAre("s@5 loading", "s@5 failed", "end"));
  Load("s", 5);
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
  EXPECT_THAT(results(drop), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, AddWaitsForTheDropThatRuns) {
  Serve("s", 5);
  Drop("s", 5);
  Feed(Drained{ShardId("s")});
  const ReplyId add = Add("s", 6);
  EXPECT_THAT(asked(), IsEmpty());
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
  EXPECT_THAT(asked(), ElementsAre("loading s", "add s@6"));
  Load("s", 6);
  EXPECT_THAT(results(add), ElementsAre("s@6 loading", "s@6 done", "end"));
}

TEST_F(ShardBookTest, FailingDropShardCountsAsDroppedAndIsLogged) {
  Serve("s", 5);
  const ReplyId reply = Drop("s", 5);
  Feed(Drained{ShardId("s")});
  Feed(Dropped{ShardId("s"), absl::InternalError("cannot close")});
  EXPECT_THAT(asked(), ElementsAre("warn"));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 done", "end"));
}

TEST_F(ShardBookTest, DropThatWaitsTooLongFailsAndDoesNotCallTheApplication) {
  Serve("s", 5);
  const ReplyId reply = Drop("s", 5);
  AdvanceBy(Seconds(9));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading"));
  AdvanceBy(Seconds(1));
  EXPECT_THAT(results(reply), ElementsAre("s@5 loading", "s@5 failed", "end"));
  EXPECT_THAT(asked(), ::testing::Not(::testing::Contains("drop s")));
}

TEST_F(ShardBookTest, DropOvertakenByANewerGrantIsCarriedOutAndAnswered) {
  Serve("s", 5);
  const ReplyId drop = Drop("s", 5);
  const ReplyId add = Add("s", 6);
  Feed(Drained{ShardId("s")});
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
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
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
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
  EXPECT_THAT(refusal(reply), HasSubstr("FAILED_PRECONDITION"));
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
  Feed(Dropped{ShardId("s"), absl::OkStatus()});
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
  Feed(Dropped{ShardId("a"), absl::OkStatus()});
  EXPECT_THAT(asked(), IsEmpty());
  Load("b", 6);
  EXPECT_THAT(asked(), ElementsAre("drop b"));
  Feed(Dropped{ShardId("b"), absl::OkStatus()});
  EXPECT_THAT(asked(), ElementsAre("emptied"));
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
