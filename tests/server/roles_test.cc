// ShardBook: a shard that changes its role in place, and the members of a primary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/shard_book_fixture.h"

namespace shardmanager::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RolesTest : public ShardBookTest {
 protected:
  // Serves "s" under the epoch.
  void Serve(uint64_t epoch, Role role) {
    Send(CommandKind::kAdd, {GrantOf("s", epoch, role)});
    Load("s", epoch);
    Did();
  }
  ReplyId Turn(uint64_t epoch, Role role) {
    return Send(CommandKind::kChangeRole, {GrantOf("s", epoch, role)});
  }
  // The primary turns, and kv-2 is to be the next one.
  ReplyId Demote(uint64_t epoch) {
    return Send({CommandKind::kChangeRole,
                 0,
                 "kv",
                 "kv-1",
                 kLife,
                 kLeader,
                 {GrantOf("s", epoch, Role::kSecondary)},
                 "",
                 {{"kv-2", "host:1", ShardEpoch(epoch)}}});
  }
  void EndTurn(uint64_t epoch, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kChangeRole, "s", epoch, std::move(status));
  }
  // How the call ended.
  std::string Last(ReplyId reply) {
    const std::vector<std::string>& all = results(reply);
    if (all.size() < 2 || all.back() != "end") return "not yet";
    const std::string& last = all[all.size() - 2];
    return last.substr(last.find(' ') + 1);
  }
  ReplyId SetMembers(uint64_t epoch, uint64_t version) {
    Grant grant = GrantOf("s", epoch);
    grant.members = Members{{ServerName("kv-1"), "host:1"}};
    grant.members_version = version;
    return Send(CommandKind::kSetMembers, {grant});
  }
  void EndSetMembers(uint64_t epoch, absl::Status status = absl::OkStatus()) {
    EndCall(CommandKind::kSetMembers, "s", epoch, std::move(status));
  }
};

TEST_F(RolesTest, APromotionHoldsRequestsAndTurnsTheShardInPlace) {
  Serve(5, Role::kSecondary);
  const ReplyId reply = Turn(7, Role::kPrimary);
  EXPECT_THAT(Did(), ElementsAre("pause s"));
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("turn s@7 primary"));
  EndTurn(7);
  EXPECT_THAT(Did(), ElementsAre("open s@7"));
  EXPECT_EQ(Last(reply), "done");
}

TEST_F(RolesTest, AnAddOfAShardThatIsHeldInTheOtherRoleTurnsIt) {
  Serve(5, Role::kSecondary);
  Send(CommandKind::kAdd, {GrantOf("s", 7)});
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("pause s", "turn s@7 primary"));
}

TEST_F(RolesTest, AChangeOfRoleOfAShardThatIsNotHeldAddsIt) {
  Turn(7, Role::kPrimary);
  EXPECT_THAT(Did(), ElementsAre("loading s", "add s@7"));
}

TEST_F(RolesTest, AFormerPrimarySendsOnWhatIsMeantForThePrimary) {
  Serve(5, Role::kPrimary);
  Demote(7);
  Drain("s");
  EndTurn(7);
  EXPECT_THAT(Did(), ElementsAre("pause s", "turn s@7 secondary", "open s@7, primary at kv-2"));
}

TEST_F(RolesTest, AFormerPrimaryThatIsDroppedSendsOnForAWhile) {
  Serve(5, Role::kPrimary);
  Demote(7);
  Drain("s");
  EndTurn(7);
  Did();
  const ReplyId drop = Send(CommandKind::kDrop, {GrantOf("s", 7)});
  Drain("s");
  EndDrop("s");
  EXPECT_THAT(Did(), ElementsAre("hold s", "drop s", "forward s to kv-2@7"));
  EXPECT_EQ(Last(drop), "done");
  AdvanceBy(Seconds(11));
  EXPECT_THAT(Did(), ElementsAre("close s"));
}

// Its gate holds while DropShard runs, and nobody would ever let go what it holds.
TEST_F(RolesTest, AFormerPrimaryThatStopsWhileDropShardRunsEndsTheHolding) {
  Serve(5, Role::kPrimary);
  Demote(7);
  Drain("s");
  EndTurn(7);
  Drop("s", 7);
  Drain("s");
  Did();
  Feed(Stop{});
  EndDrop("s");
  EXPECT_THAT(Did(), ElementsAre("close s", "emptied"));
}

TEST_F(RolesTest, ARepeatOfAChangeThatHasComeChangesNothing) {
  Serve(5, Role::kSecondary);
  Turn(7, Role::kPrimary);
  Drain("s");
  Turn(7, Role::kPrimary);  // while it is under way
  EndTurn(7);
  Did();
  const ReplyId again = Turn(7, Role::kPrimary);
  EXPECT_THAT(Did(), IsEmpty());
  EXPECT_EQ(Last(again), "done");
  const ReplyId old = Turn(5, Role::kSecondary);
  EXPECT_EQ(Last(old), "stale");
}

TEST_F(RolesTest, AfterAnErrorItGoesOnInItsOldRole) {
  Serve(5, Role::kPrimary);
  const ReplyId reply = Demote(7);
  Drain("s");
  Did();
  EndTurn(7, absl::InternalError("no"));
  EXPECT_THAT(Did(), ElementsAre("open s@5"));
  EXPECT_EQ(Last(reply), "failed");
  Demote(7);  // tried again
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("pause s", "turn s@7 secondary"));
}

TEST_F(RolesTest, RequestsThatDoNotEndCallTheChangeOff) {
  Serve(5, Role::kPrimary);
  const ReplyId reply = Demote(7);
  Did();
  AdvanceBy(Milliseconds(1'499));
  EXPECT_THAT(Did(), IsEmpty());
  AdvanceBy(Milliseconds(1));  // before the requests that it holds are refused
  EXPECT_THAT(Did(), ElementsAre("open s@5"));
  EXPECT_EQ(Last(reply), "called off");
}

// Nobody else could serve what it holds.
TEST_F(RolesTest, APromotionWaitsForRequestsAsLongAsADrop) {
  Serve(5, Role::kSecondary);
  const ReplyId reply = Turn(7, Role::kPrimary);
  Did();
  AdvanceBy(Milliseconds(9'999));
  EXPECT_THAT(Did(), IsEmpty());
  AdvanceBy(Milliseconds(1));
  EXPECT_THAT(Did(), ElementsAre("open s@5"));
  EXPECT_EQ(Last(reply), "called off");
  Turn(7, Role::kPrimary);
  EXPECT_THAT(Did(), ElementsAre("pause s"));
}

// The control plane may have asked twice, or a deposed leader: the primary is not closed for it.
TEST_F(RolesTest, AfterADemotionIsCalledOffTheGrantBeforeHoldsOn) {
  Serve(5, Role::kPrimary);
  Demote(7);
  AdvanceBy(Seconds(2));
  Did();
  EXPECT_EQ(Last(Demote(7)), "called off");
  EXPECT_EQ(Last(Turn(5, Role::kPrimary)), "done");
  SetMembers(5, 1);
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  EndSetMembers(5);
  Did();
  Demote(8);
  EXPECT_THAT(Did(), ElementsAre("pause s"));
  EXPECT_EQ(Last(Demote(7)), "stale");
}

TEST_F(RolesTest, ADemotionThatWasCalledOffDoesNotBringADroppedShardBack) {
  Serve(5, Role::kPrimary);
  Demote(7);
  AdvanceBy(Seconds(2));
  Drop("s", 5);
  Drain("s");
  EndDrop("s");
  Did();
  EXPECT_EQ(Last(Demote(7)), "stale");
  EXPECT_THAT(Did(), IsEmpty());
}

// The record says what holds: a leader may not have heard that it was called off.
TEST_F(RolesTest, ANewLifeObeysARecordOfADemotionThatWasCalledOff) {
  Serve(5, Role::kPrimary);
  Demote(7);
  AdvanceBy(Seconds(2));
  Did();
  Rejoin({{GrantOf("s", 7, Role::kSecondary)}});
  EXPECT_THAT(Did(), ElementsAre("pause s"));
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("turn s@7 secondary"));
}

TEST_F(RolesTest, ARightOfAFormerLifeIsNotOpenedAgain) {
  Serve(5, Role::kPrimary);
  Rejoin({{GrantOf("s", 7, Role::kSecondary)}});
  EXPECT_THAT(Did(), ElementsAre("pause s"));
  AdvanceBy(Seconds(11));
  for (const std::string& what : Did()) EXPECT_THAT(what, testing::Not(HasSubstr("open")));
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("turn s@7 secondary"));
  EndTurn(7, absl::InternalError("no"));
  EXPECT_THAT(Did(), ElementsAre("close s", "drop s"));
}

// The promotion was asked for in the former life, and ends before this life has read its record.
TEST_F(RolesTest, APromotionOfAFormerLifeThatEndsInThisOneIsNotOpenedAgainAfterAnError) {
  Serve(5, Role::kSecondary);
  Turn(6, Role::kPrimary);
  Drain("s");
  Did();
  Feed(Registered{Incarnation(kLife.value() + 1)});
  EndTurn(6);
  Did();
  Feed(Assigned{{GrantOf("s", 7, Role::kSecondary)}});
  Drain("s");
  Did();
  EndTurn(7, absl::InternalError("disk full"));
  EXPECT_THAT(Did(), ElementsAre("close s", "drop s"));
}

// Seed 17148 of the simulation: it was counted as in step in its new life, dropped its data after
// an error in that same life, and was elected.
TEST_F(RolesTest, WhatAFormerLifeWasGrantedDoesNotServeBeforeThisLifeIsGrantedIt) {
  Serve(5, Role::kPrimary);
  const Incarnation next(kLife.value() + 1);
  Feed(Registered{next});
  const auto send = [&](CommandKind kind, Grant grant) {
    return Send({kind, 0, "kv", "kv-1", next, kLeader, {std::move(grant)}});
  };
  EXPECT_THAT(Held(), ElementsAre("s@5 loading"));
  Grant with_members = GrantOf("s", 5);
  with_members.members = Members{{ServerName("kv-1"), "host:1"}};
  with_members.members_version = 1;
  EXPECT_EQ(Last(send(CommandKind::kSetMembers, with_members)), "stale");
  EXPECT_EQ(Last(send(CommandKind::kAdd, GrantOf("s", 5))), "done");
  EXPECT_THAT(Held(), ElementsAre("s@5 serving"));
  send(CommandKind::kSetMembers, with_members);
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  EndSetMembers(5);
  send(CommandKind::kChangeRole, GrantOf("s", 7, Role::kSecondary));
  Drain("s");
  EndTurn(7, absl::InternalError("disk full"));
  EXPECT_THAT(Did(), ElementsAre("pause s", "turn s@7 secondary", "open s@5"))
      << "what it has in this life it keeps";
}

// The first delay before a grant is tried again is 1 s; DropShard takes longer.
TEST_F(RolesTest, AGrantIsTriedAgainHoweverLongTheDropAfterAFailedChangeOfRoleTakes) {
  Serve(5, Role::kPrimary);
  Rejoin({{GrantOf("s", 7, Role::kSecondary)}});
  Drain("s");
  EndTurn(7, absl::InternalError("no"));
  Did();
  AdvanceBy(Seconds(5));
  EXPECT_THAT(Did(), IsEmpty());
  EndDrop("s");
  AdvanceBy(Milliseconds(999));
  EXPECT_THAT(Did(), IsEmpty());
  AdvanceBy(Milliseconds(1));
  EXPECT_THAT(Did(), ElementsAre("loading s", "add s@7"));
}

// The application's data are what makes it a member in this life: they must not be dropped.
TEST_F(RolesTest, WhatANewLifeIsGrantedAgainGoesOnInItsOldRoleAfterAnError) {
  Serve(5, Role::kPrimary);
  Rejoin(Assigned{{GrantOf("s", 5)}});
  Did();
  const ReplyId reply = Turn(7, Role::kSecondary);
  Drain("s");
  Did();
  EndTurn(7, absl::InternalError("disk full"));
  EXPECT_THAT(Did(), ElementsAre("open s@5"));
  EXPECT_EQ(Last(reply), "failed");
}

TEST_F(RolesTest, ADropThatComesMeanwhileWins) {
  Serve(5, Role::kSecondary);
  Turn(7, Role::kPrimary);
  Drain("s");
  Did();
  const ReplyId drop = Send(CommandKind::kDrop, {GrantOf("s", 7)});
  EndTurn(7);
  EXPECT_THAT(Did(), ElementsAre("close s", "drop s"));
  EndDrop("s");
  EXPECT_EQ(Last(drop), "done");
}

TEST_F(RolesTest, ADropWhileItIsPausedRefusesWhatIsHeld) {
  Serve(5, Role::kSecondary);
  Turn(7, Role::kPrimary);
  Did();
  Send(CommandKind::kDrop, {GrantOf("s", 7)});
  EXPECT_THAT(Did(), ElementsAre("close s"));
  Drain("s");
  EXPECT_THAT(Did(), ElementsAre("drop s"));
}

TEST_F(RolesTest, MembersAreSetWhileItServes) {
  Serve(5, Role::kPrimary);
  const ReplyId reply = SetMembers(5, 1);
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  EndSetMembers(5);
  EXPECT_EQ(Last(reply), "done");
}

// The application has not failed: it was not asked.
TEST_F(RolesTest, AChangeOfMembersIsStaleUnlessItIsThePrimaryUnderThatGrant) {
  Serve(5, Role::kSecondary);
  EXPECT_EQ(Last(SetMembers(5, 1)), "stale");
  EXPECT_EQ(Last(SetMembers(4, 1)), "stale");
  EXPECT_THAT(Did(), IsEmpty());
}

TEST_F(RolesTest, ChangesOfMembersDoNotOverlap) {
  Serve(5, Role::kPrimary);
  SetMembers(5, 1);
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
  SetMembers(5, 2);
  EXPECT_THAT(Did(), IsEmpty());
  EndSetMembers(5);
  EXPECT_THAT(Did(), ElementsAre("set-members s@5"));
}

TEST_F(RolesTest, AnOlderListOfMembersIsStale) {
  Serve(5, Role::kPrimary);
  SetMembers(5, 8);
  EndSetMembers(5);
  Did();
  EXPECT_EQ(Last(SetMembers(5, 7)), "stale");
  EXPECT_THAT(Did(), IsEmpty());
}

TEST_F(RolesTest, AChangeOfMembersThatFailsIsReported) {
  Serve(5, Role::kPrimary);
  const ReplyId reply = SetMembers(5, 1);
  EndSetMembers(5, absl::UnavailableError("kv-3 does not answer"));
  EXPECT_EQ(Last(reply), "failed");
}

}  // namespace
}  // namespace shardmanager::server
