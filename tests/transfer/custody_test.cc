#include "transfer/custody.h"

#include <gtest/gtest.h>

namespace shardmanager::transfer {
namespace {

const ServerAt kQ{"q", "q:1"};
const ServerAt kR{"r", "r:1"};

Custody Owned(uint64_t epoch) {
  return DecideAdd({}, ShardEpoch(epoch), /*make_new=*/true, 0)->next;
}
Custody ReleasedToQ(uint64_t epoch, uint64_t next) {
  return *AnswerClaim(Owned(epoch), false, 9, {kQ, ShardEpoch(next), {}}, 1'000).next;
}

TEST(CustodyTest, RecordSurvivesAndIsCheckedWhenItIsRead) {
  Custody custody = ReleasedToQ(3, 4);
  custody.place.after = "key";
  custody.confirmed = true;
  EXPECT_EQ(*Unseal(Seal(custody)), custody);
  EXPECT_EQ(*Unseal(""), Custody{});
  std::string damaged = Seal(custody);
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  EXPECT_TRUE(absl::IsDataLoss(Unseal(damaged).status()));
  EXPECT_TRUE(absl::IsDataLoss(Unseal(std::string(200'000, 'x')).status()));
}

TEST(CustodyTest, RecordIsReadUpTo128KiB) {
  constexpr size_t kMost = 128 << 10;
  Custody custody = ReleasedToQ(3, 4);
  custody.place.after = std::string(100'000, 'k');
  custody.place.after += std::string(kMost - Seal(custody).size(), 'k');
  ASSERT_EQ(Seal(custody).size(), kMost);
  EXPECT_EQ(*Unseal(Seal(custody)), custody);
  custody.place.after += 'k';
  EXPECT_TRUE(absl::IsDataLoss(Unseal(Seal(custody)).status()));
}

TEST(CustodyTest, DiskWithoutATraceIsNewOnlyIfSomebodySaysSo) {
  EXPECT_TRUE(absl::IsFailedPrecondition(DecideAdd({}, ShardEpoch(1), false, 0).status()));
  const auto made = DecideAdd({}, ShardEpoch(7), true, 0);
  EXPECT_EQ(made->next.state, CopyState::kOwned);
  EXPECT_EQ(made->next.lineage, 7u);
}

TEST(CustodyTest, OwnedCopyIsServedUnderNewerEpochsOnly) {
  EXPECT_EQ(DecideAdd(Owned(3), ShardEpoch(5), false, 0)->next.epoch, ShardEpoch(5));
  EXPECT_TRUE(absl::IsAborted(DecideAdd(Owned(3), ShardEpoch(2), false, 0).status()));
}

TEST(CustodyTest, ReleasedCopyIsNotServedButAsksWhoHasIt) {
  const auto decision = DecideAdd(ReleasedToQ(3, 4), ShardEpoch(5), true, 0);
  EXPECT_EQ(decision->step, AddStep::kReceive);
  EXPECT_EQ(decision->from, kQ);
}

TEST(CustodyTest, NobodyOverwritesACopyThatWasNeverGivenAway) {
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPrepare(Owned(3), ShardEpoch(5))));
  EXPECT_TRUE(CheckPrepare(ReleasedToQ(3, 4), ShardEpoch(5)).ok());
}

TEST(CustodyTest, ClaimIsAnsweredOnlyWhenTheShardIsServedNoMore) {
  EXPECT_EQ(AnswerClaim(Owned(3), true, 9, {kQ, ShardEpoch(4), {}}, 0).verdict, Verdict::kServing);
  const ClaimAnswer answer = AnswerClaim(Owned(3), false, 9, {kQ, ShardEpoch(4), {}}, 0);
  EXPECT_EQ(answer.verdict, Verdict::kReleased);
  EXPECT_EQ(answer.next->other, kQ);
  EXPECT_EQ(answer.next->place.sequence, 9u);
}

TEST(CustodyTest, LateClaimOfAnEarlierGrantChangesNothing) {
  const ClaimAnswer answer = AnswerClaim(Owned(6), false, 9, {kQ, ShardEpoch(4), {}}, 0);
  EXPECT_EQ(answer.verdict, Verdict::kStale);
  EXPECT_FALSE(answer.next.has_value());
}

TEST(CustodyTest, RepeatedClaimIsAnsweredAsBefore) {
  const ClaimAnswer again = AnswerClaim(ReleasedToQ(3, 4), false, 9, {kQ, ShardEpoch(4), {}}, 0);
  EXPECT_EQ(again.verdict, Verdict::kReleased);
  EXPECT_FALSE(again.next.has_value());
}

TEST(CustodyTest, ThirdServerIsSentToTheSecond) {
  const Custody released = ReleasedToQ(3, 4);
  const ClaimAnswer sent = AnswerClaim(released, false, 9, {kR, ShardEpoch(5), {}}, 0);
  EXPECT_EQ(sent.verdict, Verdict::kElsewhere);
  EXPECT_EQ(sent.other, kQ);
  // Once that one has given up, it is the third's.
  const ClaimAnswer given = AnswerClaim(released, false, 9, {kR, ShardEpoch(5), ShardEpoch(4)}, 0);
  EXPECT_EQ(given.verdict, Verdict::kReleased);
}

// Its taker may have served it: what is here is the past, and must not be served again.
TEST(CustodyTest, CopyThatWasConfirmedIsNotGivenAwayASecondTime) {
  const Custody confirmed = *Confirm(ReleasedToQ(3, 4), "q", ShardEpoch(4));
  for (const Claim& claim : {Claim{kQ, ShardEpoch(5), {}}, Claim{kR, ShardEpoch(5), ShardEpoch(4)},
                             Claim{kQ, ShardEpoch(5), ShardEpoch(4)}}) {
    const ClaimAnswer answer = AnswerClaim(confirmed, false, 9, claim, 0);
    EXPECT_EQ(answer.verdict, Verdict::kElsewhere) << "to " << claim.taker.server;
    EXPECT_EQ(answer.other, kQ);
    EXPECT_FALSE(answer.next.has_value());
  }
}

TEST(CustodyTest, TakerThatNeverOwnedTheCopyGetsItUnderANewerGrant) {
  const ClaimAnswer answer = AnswerClaim(ReleasedToQ(3, 4), false, 9, {kQ, ShardEpoch(5), {}}, 0);
  EXPECT_EQ(answer.verdict, Verdict::kReleased);
  EXPECT_EQ(answer.next->other_epoch, ShardEpoch(5));
}

TEST(CustodyTest, GivingUpIsAPromise) {
  const Custody receiving{
      .state = CopyState::kReceiving, .epoch = ShardEpoch(4), .floor = ShardEpoch(4), .other = kR};
  const ClaimAnswer answer = AnswerClaim(receiving, false, 0, {kR, ShardEpoch(5), {}}, 0);
  ASSERT_EQ(answer.verdict, Verdict::kGaveUp);
  EXPECT_TRUE(absl::IsAborted(CheckStore(*answer.next, ShardEpoch(4))));
  EXPECT_TRUE(absl::IsAborted(DecideAdd(*answer.next, ShardEpoch(4), false, 0).status()));
  EXPECT_TRUE(CheckStore(*answer.next, ShardEpoch(6)).ok());
}

TEST(CustodyTest, ArrivedIsWhatTheTakerOwnsOrOwned) {
  const Custody released = ReleasedToQ(3, 4);
  const uint64_t lineage = released.lineage;
  EXPECT_TRUE(HasArrived(released, {CopyState::kOwned, lineage, 9}));
  EXPECT_TRUE(HasArrived(released, {CopyState::kReleased, lineage, 12}));
  EXPECT_FALSE(HasArrived(released, {CopyState::kReceiving, lineage, 9}));
  EXPECT_FALSE(HasArrived(released, {CopyState::kAbsent, 0, 0}));
  EXPECT_FALSE(HasArrived(released, {CopyState::kOwned, lineage + 1, 9})) << "another shard's life";
}

// The taker claimed, and died before it stored anything: it still has what it gave away before.
TEST(CustodyTest, WhatTheTakerReleasedBeforeIsNotTakenForTheCopyThatItClaimed) {
  EXPECT_FALSE(HasArrived(ReleasedToQ(3, 4), {CopyState::kReleased, ReleasedToQ(3, 4).lineage, 8}));
}

TEST(CustodyTest, PrunesOnlyWhatIsConfirmedAndAfterTheGracePeriod) {
  EXPECT_EQ(PruneAt(Owned(3), 500), std::nullopt);
  const Custody released = ReleasedToQ(3, 4);
  EXPECT_EQ(PruneAt(released, 500), std::nullopt);
  EXPECT_EQ(Confirm(released, "q", ShardEpoch(9)), std::nullopt);
  const Custody confirmed = *Confirm(released, "q", ShardEpoch(4));
  EXPECT_EQ(PruneAt(confirmed, 500), 1'500);
  EXPECT_EQ(PruneAt(Pruned(confirmed), 500), std::nullopt);
}

}  // namespace
}  // namespace shardmanager::transfer
