#include "transfer/receiver.h"

#include <gtest/gtest.h>

#include <optional>

namespace shardmanager::transfer {
namespace {

constexpr ShardEpoch kEpoch(5);
const ServerAt kSelf{"q", "q:1"};
const ServerAt kSource{"p", "p:1"};
const Total kTwo{2, 77};

class ReceiverTest : public ::testing::Test {
 protected:
  void Begin(ReceiverOptions options = {}, Custody custody = {}) {
    options.self = kSelf;
    receiver_.emplace(options, custody, kEpoch, kSource);
    out_ = receiver_->Start(now_);
  }
  void Send(Receiver::Event event) { out_ = receiver_->OnEvent(now_, std::move(event)); }
  void Advance(Duration by) {
    now_ += by;
    out_ = receiver_->OnAdvance(now_);
  }
  template <typename Action>
  const Action* Got() const {
    for (const auto& action : out_.actions) {
      if (const auto* found = std::get_if<Action>(&action)) return found;
    }
    return nullptr;
  }
  // The whole way to a copy that follows.
  void GetReady() {
    Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
    Send(Stored{});
    Send(RowsCame{100, "b", true});
    Send(Stored{kTwo});
    Send(ChangesCame{0, 0, 10, true, kTwo, false});
    Send(Counted{kTwo});
    Send(ChangesCame{0, 0, 10, true, kTwo, false});
  }

  TimePoint now_{Seconds(100)};
  std::optional<Receiver> receiver_;
  Output<Receiver::Action> out_;
};

TEST_F(ReceiverTest, ClearsCopiesFollowsCountsAndIsReady) {
  Begin();
  ASSERT_NE(Got<Open>(), nullptr);
  Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
  ASSERT_NE(Got<Reset>(), nullptr);
  EXPECT_EQ(Got<Reset>()->custody.state, CopyState::kReceiving);
  EXPECT_EQ(Got<Reset>()->custody.place.sequence, 10u);  // changes from here on are followed
  Send(Stored{});
  ASSERT_NE(Got<ReadRows>(), nullptr);
  EXPECT_FALSE(Got<ReadRows>()->place.started);
  Send(RowsCame{100, "a", false});
  ASSERT_NE(Got<StoreRows>(), nullptr);
  EXPECT_EQ(Got<StoreRows>()->custody.place.after, "a");
  Send(Stored{{1, 5}});
  ASSERT_NE(Got<ReadRows>(), nullptr);
  Send(RowsCame{100, "b", true});
  EXPECT_TRUE(Got<StoreRows>()->custody.place.copied);
  Send(Stored{kTwo});
  ASSERT_NE(Got<ReadChanges>(), nullptr);
  EXPECT_EQ(Got<ReadChanges>()->after, 10u);
  Send(ChangesCame{3, 30, 13, true, kTwo, false});
  ASSERT_NE(Got<StoreChanges>(), nullptr);
  Send(Stored{kTwo});
  ASSERT_NE(Got<Count>(), nullptr);
  Send(Counted{kTwo});
  Send(ChangesCame{0, 0, 13, true, kTwo, false});
  EXPECT_NE(Got<Ready>(), nullptr);
}

TEST_F(ReceiverTest, LongTailIsNotReady) {
  Begin({.short_tail = 2, .short_round = Milliseconds(10)});
  Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
  Send(Stored{});
  Send(RowsCame{100, "b", true});
  Send(Stored{kTwo});
  Send(ChangesCame{0, 0, 10, true, kTwo, false});
  Send(Counted{kTwo});
  Send(ChangesCame{3, 30, 13, true, kTwo, false});
  now_ += Milliseconds(31);  // more than the source gathers, and a short round
  Send(Stored{kTwo});
  EXPECT_EQ(Got<Ready>(), nullptr);
  Send(ChangesCame{2, 20, 15, true, kTwo, false});
  now_ += Milliseconds(31);
  Send(Stored{kTwo});
  EXPECT_NE(Got<Ready>(), nullptr);
}

TEST_F(ReceiverTest, ManyChangesThatAreStoredQuicklyAreAShortTail) {
  Begin({.short_tail = 2, .short_round = Milliseconds(10)});
  Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
  Send(Stored{});
  Send(RowsCame{100, "b", true});
  Send(Stored{kTwo});
  Send(ChangesCame{0, 0, 10, true, kTwo, false});
  Send(Counted{kTwo});
  Send(ChangesCame{3'000, 30, 3'010, true, kTwo, false});
  now_ += Milliseconds(9);
  Send(Stored{kTwo});
  EXPECT_NE(Got<Ready>(), nullptr);
}

TEST_F(ReceiverTest, ClosedSourceIsClaimedReadToTheEndOwnedAndTold) {
  Begin();
  GetReady();
  Send(ChangesCame{0, 0, 10, true, kTwo, true});
  ASSERT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kReleased, 11, kTwo, {}, {}});
  ASSERT_NE(Got<ReadChanges>(), nullptr);  // one more came before the claim
  Send(ChangesCame{1, 10, 11, true, kTwo, true});
  Send(Stored{kTwo});
  ASSERT_NE(Got<Own>(), nullptr);
  EXPECT_EQ(Got<Own>()->custody.state, CopyState::kOwned);
  EXPECT_EQ(Got<Own>()->custody.epoch, kEpoch);
  EXPECT_EQ(Got<Finished>(), nullptr);  // not before it is stored
  Send(Stored{kTwo});
  EXPECT_NE(Got<Finished>(), nullptr);
  EXPECT_NE(Got<SendConfirm>(), nullptr);
  Send(Confirmed{});
  EXPECT_EQ(receiver_->state(), Receiver::State::kEnded);
}

TEST_F(ReceiverTest, FollowsOnWhileTheOldOwnerServes) {
  Begin();
  GetReady();
  ASSERT_NE(Got<ReadChanges>(), nullptr);
  EXPECT_EQ(Got<SendClaim>(), nullptr);
}

TEST_F(ReceiverTest, AddShardClaimsWithoutBeingAsked) {
  Begin();
  GetReady();
  Send(Take{});
  EXPECT_TRUE(out_.actions.empty());  // one request is out
  Send(ChangesCame{0, 0, 10, true, kTwo, false});
  EXPECT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kServing, 0, {}, {}, {}});
  EXPECT_EQ(Got<Own>(), nullptr);
}

TEST_F(ReceiverTest, MismatchClearsTheCopyAndFails) {
  Begin();
  Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
  Send(Stored{});
  Send(RowsCame{100, "b", true});
  Send(Stored{kTwo});
  Send(ChangesCame{0, 0, 10, true, {2, 78}, false});
  ASSERT_NE(Got<Reset>(), nullptr);
  EXPECT_FALSE(Got<Reset>()->custody.place.copied);
  Send(Stored{});
  ASSERT_NE(Got<GiveUp>(), nullptr);
  EXPECT_TRUE(absl::IsDataLoss(Got<GiveUp>()->status));
}

// One row less, and as many rows with another value among them.
TEST_F(ReceiverTest, RowsThatReadBackOtherwiseFail) {
  for (const Total& read : {Total{1, 77}, Total{2, 78}}) {
    Begin();
    Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
    Send(Stored{});
    Send(RowsCame{100, "b", true});
    Send(Stored{kTwo});
    Send(ChangesCame{0, 0, 10, true, kTwo, false});
    Send(Counted{read});
    EXPECT_NE(Got<Reset>(), nullptr) << read.count << " rows with the sum " << read.sum;
  }
}

// The last changes are compared, too: they come after the copy was verified.
TEST_F(ReceiverTest, CopyThatDiffersAtTheCutoverIsNotOwned) {
  for (const Total& stored : {Total{1, 77}, Total{2, 78}}) {
    Begin();
    GetReady();
    Send(ChangesCame{0, 0, 10, true, kTwo, true});
    Send(Claimed{Verdict::kReleased, 11, kTwo, {}, {}});
    Send(ChangesCame{1, 10, 11, true, kTwo, true});
    Send(Stored{stored});
    EXPECT_EQ(Got<Own>(), nullptr) << stored.count << " rows with the sum " << stored.sum;
    ASSERT_NE(Got<Reset>(), nullptr);
    Send(Stored{});
    ASSERT_NE(Got<GiveUp>(), nullptr);
    EXPECT_TRUE(absl::IsDataLoss(Got<GiveUp>()->status));
  }
}

// Nothing came between the comparison and the claim, and yet the source has something else.
TEST_F(ReceiverTest, CopyThatDiffersFromTheClaimsTotalsIsNotOwned) {
  Begin();
  GetReady();
  Send(ChangesCame{0, 0, 10, true, kTwo, true});
  Send(Claimed{Verdict::kReleased, 10, {2, 78}, {}, {}});
  EXPECT_EQ(Got<Own>(), nullptr);
  EXPECT_NE(Got<Reset>(), nullptr);
}

// It has changes that the source never made, or made and lost.
TEST_F(ReceiverTest, CopyThatIsAheadOfTheSourceIsNotOwned) {
  Begin();
  GetReady();
  Send(ChangesCame{0, 0, 10, true, kTwo, true});
  Send(Claimed{Verdict::kReleased, 9, kTwo, {}, {}});
  EXPECT_EQ(Got<Own>(), nullptr);
  EXPECT_NE(Got<Reset>(), nullptr);
}

// The copy was equal to another server's: what the new source has is still to be compared.
TEST_F(ReceiverTest, CopyIsNotOwnedBeforeItWasComparedWithTheServerThatGivesTheCustody) {
  Begin();
  GetReady();
  Send(Take{});
  Send(ChangesCame{0, 0, 10, true, kTwo, false});
  ASSERT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kElsewhere, 0, {}, {"r", "r:1"}, {}});
  ASSERT_NE(Got<Open>(), nullptr);
  Send(Opened{CopyState::kReceiving, 1, 1, 10, {}});
  ASSERT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kReleased, 10, kTwo, {}, {}});
  EXPECT_EQ(Got<Own>(), nullptr);
  ASSERT_NE(Got<Open>(), nullptr);
  EXPECT_EQ(Got<Open>()->source.server, "r");
}

TEST_F(ReceiverTest, LostConfirmationIsSentAgain) {
  Begin();
  GetReady();
  Send(ChangesCame{0, 0, 10, true, kTwo, true});
  Send(Claimed{Verdict::kReleased, 10, kTwo, {}, {}});
  Send(Stored{kTwo});
  ASSERT_NE(Got<SendConfirm>(), nullptr);
  Send(Failed{absl::UnavailableError("gone")});
  ASSERT_NE(out_.next_wake, kNever);
  Advance(out_.next_wake - now_);
  EXPECT_NE(Got<SendConfirm>(), nullptr);
  EXPECT_EQ(Got<GiveUp>(), nullptr) << "it serves";
}

TEST_F(ReceiverTest, GoesOnWhereItEndedIfTheSourceStillKnows) {
  const Custody partial{.state = CopyState::kReceiving,
                        .epoch = ShardEpoch(3),
                        .lineage = 1,
                        .place = {.started = true, .after = "m", .sequence = 7},
                        .other = kSource};
  Begin({}, partial);
  Send(Opened{CopyState::kOwned, 1, 5, 10, {}});
  ASSERT_NE(Got<ReadRows>(), nullptr);
  EXPECT_EQ(Got<ReadRows>()->place.after, "m");

  Begin({}, partial);
  Send(Opened{CopyState::kOwned, 1, 9, 10, {}});  // its feed is too short
  EXPECT_NE(Got<Reset>(), nullptr);
  Begin({}, partial);
  Send(Opened{CopyState::kOwned, 2, 5, 10, {}});  // another copy altogether
  EXPECT_NE(Got<Reset>(), nullptr);
}

// How many rows are here, and their sum, is only known once something was stored.
TEST_F(ReceiverTest, WholeCopyOfAnEarlierLifeIsComparedThoughNothingChanged) {
  Begin({}, {.state = CopyState::kReceiving,
             .epoch = ShardEpoch(3),
             .lineage = 1,
             .place = {.started = true, .copied = true, .sequence = 10},
             .other = kSource});
  Send(Opened{CopyState::kOwned, 1, 5, 10, {}});
  ASSERT_NE(Got<ReadChanges>(), nullptr);
  Send(ChangesCame{0, 0, 10, true, kTwo, false});
  ASSERT_NE(Got<StoreChanges>(), nullptr);
  Send(Stored{{1, 5}});
  EXPECT_NE(Got<Reset>(), nullptr) << "the source has two rows";
}

TEST_F(ReceiverTest, BrokenLinkIsAskedAgainUntilPatienceIsOver) {
  Begin({.patience = Seconds(1)});
  GetReady();
  const absl::Status broken = absl::UnavailableError("gone");
  Send(Failed{broken});
  EXPECT_TRUE(out_.actions.empty());
  ASSERT_NE(out_.next_wake, kNever);
  Advance(out_.next_wake - now_);
  ASSERT_NE(Got<ReadChanges>(), nullptr);
  Send(ChangesCame{0, 0, 10, true, kTwo, false});  // it answers: patience is whole again
  now_ += Milliseconds(999);
  Send(Failed{broken});
  EXPECT_EQ(Got<GiveUp>(), nullptr);
  Advance(Seconds(1));
  Send(Failed{broken});
  ASSERT_NE(Got<GiveUp>(), nullptr);
  EXPECT_TRUE(absl::IsUnavailable(Got<GiveUp>()->status));
}

TEST_F(ReceiverTest, FeedThatWasCutMeansFromTheBeginning) {
  Begin();
  GetReady();
  Send(Failed{absl::OutOfRangeError("cut")});
  ASSERT_NE(Got<Open>(), nullptr);
  Send(Opened{CopyState::kOwned, 1, 50, 60, {}});
  ASSERT_NE(Got<Reset>(), nullptr);
  EXPECT_EQ(Got<Reset>()->custody.place.sequence, 60u);
}

TEST_F(ReceiverTest, RateLimitSpacesTheReads) {
  Begin({.bytes_per_second = 1'000});
  Send(Opened{CopyState::kOwned, 1, 1, 10, {}});
  Send(Stored{});
  Send(RowsCame{500, "a", false});
  ASSERT_NE(Got<StoreRows>(), nullptr);  // what came is stored at once
  Send(Stored{{1, 5}});
  EXPECT_TRUE(out_.actions.empty());
  EXPECT_EQ(out_.next_wake, now_ + Milliseconds(500));
  Advance(Milliseconds(499));
  EXPECT_TRUE(out_.actions.empty());
  Advance(Milliseconds(1));
  EXPECT_NE(Got<ReadRows>(), nullptr);
}

TEST_F(ReceiverTest, ReleasedCopyIsOwnedAgainOnlyIfItsTakerGaveUp) {
  const Custody released{.state = CopyState::kReleased,
                         .epoch = ShardEpoch(3),
                         .lineage = 1,
                         .place = {.started = true, .copied = true, .sequence = 7},
                         .other = kSource,
                         .other_epoch = ShardEpoch(4)};
  Begin({}, released);
  Send(Take{});
  Send(Opened{CopyState::kReceiving, 1, 1, 5, {}});
  ASSERT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kGaveUp, 0, {}, kSelf, ShardEpoch(4)});
  EXPECT_NE(Got<Own>(), nullptr);

  Begin({}, released);
  Send(Take{});
  Send(Opened{CopyState::kAbsent, 0, 1, 0, {}});  // it lost its disk: who knows what it served
  ASSERT_NE(Got<GiveUp>(), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(Got<GiveUp>()->status));
}

// Whoever was confirmed to have everything may have served it, and changed it since.
TEST_F(ReceiverTest, CopyThatWasConfirmedIsNotOwnedAgainThoughItsTakerGaveUp) {
  Begin({}, {.state = CopyState::kReleased,
             .epoch = ShardEpoch(3),
             .lineage = 1,
             .place = {.started = true, .copied = true, .sequence = 7},
             .other = kSource,
             .other_epoch = ShardEpoch(4),
             .confirmed = true});
  Send(Take{});
  Send(Opened{CopyState::kReceiving, 1, 1, 5, {}});
  ASSERT_NE(Got<SendClaim>(), nullptr);
  Send(Claimed{Verdict::kGaveUp, 0, {}, kSelf, ShardEpoch(5)});
  EXPECT_EQ(Got<Own>(), nullptr);
  ASSERT_NE(Got<GiveUp>(), nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(Got<GiveUp>()->status));
}

TEST_F(ReceiverTest, OnlyWholeCopyOfItsKindIsNotOverwritten) {
  Begin({}, {.state = CopyState::kReleased, .epoch = ShardEpoch(3), .lineage = 1});
  Send(Opened{CopyState::kOwned, 2, 1, 5, {}});
  ASSERT_NE(Got<GiveUp>(), nullptr);
  EXPECT_EQ(Got<Reset>(), nullptr);
}

TEST_F(ReceiverTest, SpuriousWakeChangesNothing) {
  Begin();
  Advance(Seconds(1));
  EXPECT_TRUE(out_.actions.empty());
}

}  // namespace
}  // namespace shardmanager::transfer
