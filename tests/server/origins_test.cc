// A shard that was made of others, by a split or a merge, comes after them.
#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class OriginsTest : public ShardBookTest {
 protected:
  static Grant Made(const std::string& shard, uint64_t epoch,
                    const std::vector<std::string>& made_of) {
    Grant grant = GrantOf(shard, epoch);
    grant.origin.emplace();
    for (const std::string& from : made_of) grant.origin->made_of.emplace_back(from);
    return grant;
  }
  // Parts "a" and "b" of "s", in one command.
  ReplyId Split(uint64_t epoch = 6) {
    return Send(CommandKind::kAdd, {Made("a", epoch, {"s"}), Made("b", epoch + 1, {"s"})});
  }
};

TEST_F(OriginsTest, PartsBeginWhenTheShardHasLetGo) {
  Serve("s", 5);
  const ReplyId reply = Split();
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(results(reply), ElementsAre("a@6 loading", "b@7 loading"));
  Drain("s");
  EXPECT_THAT(asked(), ElementsAre("drop s"));
  EndDrop("s");
  EXPECT_THAT(asked(), ElementsAre("loading a", "add a@6", "loading b", "add b@7"));
  Load("a", 6);
  Load("b", 7);
  EXPECT_THAT(Held(), ElementsAre("a@6 serving", "b@7 serving"));
  EXPECT_THAT(results(reply), Contains("end"));
}

TEST_F(OriginsTest, PartsBeginAtOnceWhereTheShardIsNotHeld) {
  Split();
  EXPECT_THAT(asked(), ElementsAre("loading a", "add a@6", "loading b", "add b@7"));
}

TEST_F(OriginsTest, AMergeWaitsForAllThatItWasMadeOf) {
  Serve("a", 5);
  Serve("b", 6);
  Send(CommandKind::kAdd, {Made("m", 7, {"a", "b"})});
  EXPECT_THAT(asked(), ElementsAre("close a", "close b"));
  Drain("a");
  EndDrop("a");
  EXPECT_THAT(asked(), IsEmpty());
  Drain("b");
  EndDrop("b");
  EXPECT_THAT(asked(), ElementsAre("loading m", "add m@7"));
}

TEST_F(OriginsTest, RepeatsChangeNothing) {
  Serve("s", 5);
  Split();
  Did();
  Split();
  EXPECT_THAT(Did(), IsEmpty());
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(Did(), ElementsAre("drop s", "loading a", "add a@6", "loading b", "add b@7"));
  Split();
  EXPECT_THAT(Did(), IsEmpty());
}

TEST_F(OriginsTest, TheShardIsNeverOpenedAgainHoweverLongItsRequestsTake) {
  Serve("s", 5);
  Split();
  Did();
  AdvanceBy(Seconds(60));
  EXPECT_THAT(Did(), testing::Not(Contains("open s@5")));
  EXPECT_THAT(Held(), IsEmpty());
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(Did(), Contains("add a@6"));
}

TEST_F(OriginsTest, ALateGrantOfTheShardIsStale) {
  Serve("s", 5);
  Split();
  Drain("s");
  EndDrop("s");
  const ReplyId late = Add("s", 5);
  EXPECT_THAT(results(late), Contains(testing::HasSubstr("s@5 stale")));
}

TEST_F(OriginsTest, APartThatIsDroppedWhileItWaitsDoesNotBegin) {
  Serve("s", 5);
  Split();
  Drop("a", 6);
  Did();
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(Did(), ElementsAre("drop s", "loading b", "add b@7"));
}

// Who lets a part go serves none of its keys, under whatever name.
TEST_F(OriginsTest, APartIsLetGoOnlyWhenTheShardIsGone) {
  Serve("s", 5);
  const ReplyId early = Send(CommandKind::kDrop, {Made("a", 6, {"s"})});
  EXPECT_THAT(asked(), ElementsAre("close s"));
  EXPECT_THAT(results(early), Contains(testing::HasSubstr("a@6 failed")));
  Drain("s");
  EndDrop("s");
  const ReplyId again = Send(CommandKind::kDrop, {Made("a", 6, {"s"})});
  EXPECT_THAT(results(again), ElementsAre("a@6 done", "end"));
}

TEST_F(OriginsTest, TheRecordOfANewLifeDoesTheSameWithoutSayingWhatWasMadeOfWhat) {
  Serve("s", 5);
  Serve("other", 3);
  Rejoin(Assigned{{GrantOf("a", 6), GrantOf("other", 3)}});
  EXPECT_THAT(Did(), testing::Not(Contains("add a@6")));
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(Did(), Contains("add a@6"));
}

TEST_F(OriginsTest, ACommandTellsThatAnotherShardNeedNotBeWaitedFor) {
  Serve("other", 3);
  Rejoin(Assigned{{GrantOf("a", 6)}});  // other is let go, and may hang
  Did();
  Send(CommandKind::kAdd, {Made("a", 6, {"s"})});
  EXPECT_THAT(Did(), Contains("add a@6"));
}

}  // namespace
}  // namespace shardmanager::server
