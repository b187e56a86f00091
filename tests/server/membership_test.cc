// Session, registration and lease, one answer at a time.
#include "server/membership.h"

#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"

namespace shardmanager::server {
namespace {

constexpr Duration kTimeout = Seconds(10);
constexpr Duration kTick = Milliseconds(200);
constexpr SessionTerms kTerms{.timeout = kTimeout, .tick = kTick};

class MembershipTest : public ::testing::Test {
 protected:
  void Feed(Membership::Event event) {
    const auto output = membership_.OnEvent(now_, std::move(event));
    Keep(output);
  }
  void AdvanceBy(Duration duration) {
    now_ += duration;
    Keep(membership_.OnAdvance(now_));
  }
  void Keep(const Output<Membership::Action>& output) {
    actions_ = output.actions;
    next_wake_ = output.next_wake;
  }

  // The last action of this kind that the last event asked for.
  template <typename Action>
  std::optional<Action> Asked() const {
    std::optional<Action> found;
    for (const Membership::Action& action : actions_) {
      if (const auto* a = std::get_if<Action>(&action)) found = *a;
    }
    return found;
  }

  // Up to the question which other lives stand. Returns its ticket.
  uint64_t ConnectAndLook() {
    Feed(SessionUp{kTimeout, now_});
    if (auto cell = Asked<ReadCell>()) {
      Feed(CellAnswer{cell->ticket, Answer::kOk, absl::OkStatus(), kTerms});
    }
    Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kOk, policy_});
    return Asked<ReadStanding>().value().ticket;
  }
  static StandingAnswer Registration(uint64_t ticket, int32_t version) {
    StandingAnswer answer{ticket, Answer::kOk, {}};
    answer.standing.known = true;
    answer.standing.version = version;
    return answer;
  }
  static StandingAnswer Live(uint64_t ticket, int32_t version, bool ours = false) {
    StandingAnswer answer = Registration(ticket, version);
    answer.standing.live = true;
    answer.standing.ours = ours;
    answer.standing.incarnation = Incarnation(static_cast<uint64_t>(version));
    answer.standing.who = "10.0.0.1:7 (host/42)";
    return answer;
  }
  // A member whose assignment was read; the next lease question is `lease_`.
  void Join(int32_t version) {
    Feed(Registration(ConnectAndLook(), version));
    Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kOk});
    RememberLease();
    Feed(AssignmentAnswer{Asked<ReadAssignment>().value().ticket, Answer::kOk});
    RememberLease();
    ASSERT_TRUE(lease_.has_value());
  }
  void RememberLease() {
    if (auto renew = Asked<RenewLease>()) lease_ = renew;
  }
  // The renewal that proves the one before it.
  void AnswerProof() {
    AdvanceBy(next_wake_ - now_);
    RememberLease();
    AnswerLease(Answer::kOk);
  }
  void AnswerLease(Answer answer) {
    Feed(LeaseAnswer{lease_->ticket, answer, now_, lease_->with_write});
  }

  TimePoint now_{Seconds(1'000)};
  OnPartition policy_ = OnPartition::kStopPrimaries;
  Membership membership_{"kv"};
  std::vector<Membership::Action> actions_;
  TimePoint next_wake_ = kNever;
  std::optional<RenewLease> lease_;
};

// ---- joining

TEST_F(MembershipTest, FirstRegistrationMakesTheRecordAndIsLifeOne) {
  Feed(StandingAnswer{ConnectAndLook(), Answer::kOk, {}});
  const Register action = Asked<Register>().value();
  EXPECT_FALSE(action.known);
  EXPECT_EQ(action.incarnation, Incarnation(1));
}

TEST_F(MembershipTest, LaterRegistrationChecksTheVersionThatWasRead) {
  Feed(Registration(ConnectAndLook(), 4));
  const Register action = Asked<Register>().value();
  EXPECT_TRUE(action.known);
  EXPECT_EQ(action.version, 4);
  EXPECT_EQ(action.incarnation, Incarnation(5));
}

// Its credentials do not let it: that is said, and looked at again after a while, not at once.
TEST_F(MembershipTest, ARefusedRegistrationIsSaidAndTriedAgainLater) {
  Feed(Registration(ConnectAndLook(), 4));
  Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kUnknown,
                      absl::PermissionDeniedError("not allowed to kv-1")});
  EXPECT_THAT(Asked<Waiting>().value().why, ::testing::HasSubstr("not allowed to kv-1"));
  EXPECT_FALSE(Asked<ReadStanding>().has_value());
  AdvanceBy(next_wake_ - now_);
  EXPECT_TRUE(Asked<ReadStanding>().has_value());
}

TEST_F(MembershipTest, ASpecThatMayNotBeReadIsSaid) {
  Feed(SessionUp{kTimeout, now_});
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kOk, absl::OkStatus(), kTerms});
  Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kUnknown, OnPartition::kStopAll,
                 absl::PermissionDeniedError("not allowed to kv-1")});
  EXPECT_THAT(Asked<Waiting>().value().why, ::testing::HasSubstr("not allowed to kv-1"));
  EXPECT_FALSE(Asked<ReadStanding>().has_value());
}

// ZooKeeper with default limits and a tickTime of 200 ms, for example: the lease would have
// lapsed before it began, and every request been refused.
TEST_F(MembershipTest, GivesUpWhenTheGrantedSessionDoesNotFitTheCell) {
  Feed(SessionUp{Seconds(4), now_});
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kOk, absl::OkStatus(), kTerms});
  ASSERT_TRUE(Asked<GiveUp>().has_value());
  EXPECT_THAT(std::string(Asked<GiveUp>()->why.message()),
              ::testing::HasSubstr("10000 ms and was granted 4000 ms"));
  EXPECT_FALSE(Asked<ReadApp>().has_value());
}

TEST_F(MembershipTest, GivesUpWhenASecondSessionDoesNotFitTheCell) {
  Feed(SessionUp{kTimeout, now_});
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kOk, absl::OkStatus(), kTerms});
  Feed(SessionExpired{});
  Feed(SessionUp{Seconds(4), now_});
  EXPECT_TRUE(Asked<GiveUp>().has_value());
}

TEST_F(MembershipTest, MemberWhoseSessionDoesNotFitAnyMoreLeavesAndTriesAgainAndSaysWhy) {
  Join(4);
  AnswerLease(Answer::kOk);
  Feed(SessionUp{Seconds(4), now_});  // connected again, to a ZooKeeper with other settings
  EXPECT_EQ(Asked<SetLease>().value().until, TimePoint::min());
  EXPECT_THAT(Asked<Waiting>().value().why, ::testing::HasSubstr("was granted 4000 ms"));
  EXPECT_TRUE(Asked<NewSession>().has_value()) << "so that others get its shards";
  Feed(SessionUp{Seconds(4), now_});
  EXPECT_FALSE(Asked<NewSession>().has_value()) << "no storm of sessions";
  AdvanceBy(next_wake_ - now_);
  EXPECT_TRUE(Asked<NewSession>().has_value());
  Feed(SessionUp{kTimeout, now_});
  EXPECT_TRUE(Asked<ReadApp>().has_value()) << "the settings were mended";
}

TEST_F(MembershipTest, WaitsForTheCellAndTheAppAndSaysSoOnce) {
  Feed(SessionUp{kTimeout, now_});
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kNotYet, {}, {}});
  EXPECT_TRUE(Asked<Waiting>().has_value());
  AdvanceBy(Seconds(1));
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kNotYet, {}, {}});
  EXPECT_FALSE(Asked<Waiting>().has_value());
  AdvanceBy(Seconds(1));
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kOk, absl::OkStatus(), kTerms});
  Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kNotYet});
  EXPECT_TRUE(Asked<Waiting>().has_value());
}

TEST_F(MembershipTest, ASpecThatCannotBeReadMayAskForTheStricterPolicyAndIsTold) {
  Feed(SessionUp{kTimeout, now_});
  Feed(CellAnswer{Asked<ReadCell>().value().ticket, Answer::kOk, absl::OkStatus(), kTerms});
  Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kOk, OnPartition::kStopAll,
                 absl::DataLossError("record checksum differs")});
  EXPECT_EQ(Asked<SetPolicy>().value().on_partition, OnPartition::kStopAll);
  EXPECT_THAT(Asked<Waiting>().value().why, testing::HasSubstr("record checksum differs"));
  EXPECT_TRUE(Asked<ReadStanding>()) << "it goes on all the same";
}

TEST_F(MembershipTest, AServerThatKeepsServingSaysSoWhenItsLeaseLapses) {
  policy_ = OnPartition::kKeepServing;
  Join(4);
  AnswerLease(Answer::kOk);
  AdvanceBy(kTimeout);
  EXPECT_THAT(Asked<Waiting>().value().why, testing::HasSubstr("served on (keep-serving)"));
}

// It is in reach of the store again, and may not serve for ever what nobody can grant any more.
TEST_F(MembershipTest, AServerThatKeepsServingStopsWhenItLearnsThatItsAppIsGone) {
  policy_ = OnPartition::kKeepServing;
  Join(4);
  Feed(SessionExpired{});
  EXPECT_FALSE(Asked<SetPolicy>());
  Feed(SessionUp{kTimeout, now_});
  Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kUnknown});
  EXPECT_FALSE(Asked<SetPolicy>());
  AdvanceBy(Seconds(1));
  Feed(AppAnswer{Asked<ReadApp>().value().ticket, Answer::kNotYet});
  EXPECT_EQ(Asked<SetPolicy>().value().on_partition, OnPartition::kStopAll);
}

TEST_F(MembershipTest, ARegistrationOfANewerVersionIsNotWrittenOver) {
  StandingAnswer answer = Registration(ConnectAndLook(), 4);
  answer.answer = Answer::kUnknown;
  answer.why = absl::UnimplementedError("record has format version 9");
  Feed(answer);
  EXPECT_FALSE(Asked<Register>());
  EXPECT_THAT(Asked<Waiting>().value().why, testing::HasSubstr("format version 9"));
  AdvanceBy(next_wake_ - now_);
  EXPECT_TRUE(Asked<ReadStanding>()) << "it looks again: somebody may mend it";
}

TEST_F(MembershipTest, F7_WaitsForTheFormerLifeInsteadOfTakingItsNode) {
  Feed(Live(ConnectAndLook(), 4));
  EXPECT_FALSE(Asked<Register>().has_value());
  AdvanceBy(Seconds(1));
  Feed(Registration(Asked<ReadStanding>().value().ticket, 4));
  EXPECT_EQ(Asked<Register>().value().incarnation, Incarnation(5));
}

TEST_F(MembershipTest, GivesUpNamingTheProcessThatKeepsTheName) {
  Feed(Live(ConnectAndLook(), 4));
  std::optional<GiveUp> given_up;
  for (int second = 0; second < 30 && !given_up; ++second) {
    AdvanceBy(Seconds(1));
    Feed(Live(Asked<ReadStanding>().value().ticket, 4));
    given_up = Asked<GiveUp>();
    EXPECT_FALSE(given_up && second < 19) << "within twice the session time-out";
  }
  ASSERT_TRUE(given_up.has_value());
  EXPECT_TRUE(absl::IsAlreadyExists(given_up->why));
  EXPECT_THAT(std::string(given_up->why.message()), ::testing::HasSubstr("10.0.0.1:7 (host/42)"));
}

TEST_F(MembershipTest, LostAnswerOfARegistrationIsFoundOutByReading) {
  Feed(Registration(ConnectAndLook(), 4));
  Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kUnknown});
  EXPECT_FALSE(Asked<Register>().has_value());  // never blindly again
  Feed(Live(Asked<ReadStanding>().value().ticket, 5, /*ours=*/true));
  EXPECT_EQ(Asked<BecameMember>().value().incarnation, Incarnation(5));
}

TEST_F(MembershipTest, OutageOfTheStoreDoesNotCountAgainstAFormerLife) {
  Feed(Live(ConnectAndLook(), 4));
  AdvanceBy(3 * kTimeout);
  const uint64_t ticket = Asked<ReadStanding>().value().ticket;
  Feed(SessionUp{kTimeout, now_});  // sessions have their full time again
  Feed(Live(ticket, 4));
  EXPECT_FALSE(Asked<GiveUp>().has_value());
}

TEST_F(MembershipTest, SaysWhyTheStoredAssignmentCannotBeRead) {
  Feed(Registration(ConnectAndLook(), 4));
  Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kOk});
  Feed(AssignmentAnswer{Asked<ReadAssignment>().value().ticket, Answer::kUnknown,
                        absl::DataLossError("checksum differs")});
  EXPECT_THAT(Asked<Waiting>().value().why, ::testing::HasSubstr("checksum differs"));
}

TEST_F(MembershipTest, AnswersToFormerQuestionsAreIgnored) {
  const uint64_t ticket = ConnectAndLook();
  Feed(Registration(ticket, 4));
  Feed(Registration(ticket, 9));
  EXPECT_TRUE(actions_.empty());
}

// ---- the lease

// The renewal is quicker than the read: a server that expired would serve what others
// hold by now.
TEST_F(MembershipTest, F5_AsksForNoLeaseBeforeTheAssignmentWasRead) {
  Feed(Registration(ConnectAndLook(), 4));
  Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kOk});
  const ReadAssignment read = Asked<ReadAssignment>().value();
  EXPECT_FALSE(Asked<RenewLease>().has_value());
  AdvanceBy(Seconds(5));
  EXPECT_FALSE(Asked<RenewLease>().has_value());
  Feed(AssignmentAnswer{read.ticket, Answer::kOk, {}});
  EXPECT_TRUE(Asked<RenewLease>().has_value());
}

// Seed 8716 of the simulation: it was given a shard, and its old owner sent requests on, before it
// had read its assignment.
TEST_F(MembershipTest, RequestsWaitForTheFirstLeaseFromTheRegistrationOn) {
  const auto registration = Registration(ConnectAndLook(), 4);
  EXPECT_FALSE(Asked<AwaitLease>().has_value());
  Feed(registration);
  Feed(RegisterAnswer{Asked<Register>().value().ticket, Answer::kOk});
  EXPECT_TRUE(Asked<AwaitLease>().has_value());
}

TEST_F(MembershipTest, RenewsAtOnceWhenItIsConnectedAgain) {
  Join(4);
  AnswerLease(Answer::kUnknown);
  Feed(SessionUp{kTimeout, now_});
  EXPECT_TRUE(Asked<RenewLease>().has_value());
}

TEST_F(MembershipTest, SaysOnceThatTheLeaseHasLapsedAndThatItIsBack) {
  Join(4);
  AnswerLease(Answer::kOk);
  AdvanceBy(kTimeout);
  RememberLease();
  EXPECT_THAT(Asked<Waiting>().value().why, ::testing::HasSubstr("lapsed"));
  AdvanceBy(kTimeout);
  EXPECT_FALSE(Asked<Waiting>().has_value());
  AnswerLease(Answer::kOk);
  EXPECT_FALSE(Asked<Waiting>().has_value());  // it is not proven yet that the store knows
  AnswerProof();
  EXPECT_EQ(Asked<Waiting>().value().why, "");
}

TEST_F(MembershipTest, LeaseRunsFromTheSendTimeLessTwoTicksAndDrift) {
  Join(4);
  const TimePoint sent_at = now_;
  now_ += Seconds(1);
  Feed(LeaseAnswer{lease_->ticket, Answer::kOk, sent_at, /*written=*/true});
  EXPECT_EQ(Asked<SetLease>().value().until, sent_at + kTimeout - 2 * kTick - kTimeout / 100);
}

TEST_F(MembershipTest, RenewsEveryTickAndSixTimesInEverySessionTimeout) {
  Join(4);
  AnswerLease(Answer::kOk);
  const Duration interval = std::min(kTimeout / 6, kTick);
  EXPECT_EQ(next_wake_, now_ + interval);
  AdvanceBy(interval);
  EXPECT_TRUE(Asked<RenewLease>().has_value());
}

// Its sync goes through the store's leader but touches nothing there: if the follower
// is cut off now, the session may end a time-out after what the leader heard before.
TEST_F(MembershipTest, F5_TheFirstRenewalAfterAPauseCountsOnlyOnceTheNextOneHasProvedIt) {
  Join(4);
  AnswerLease(Answer::kOk);
  const TimePoint proven = now_;
  AdvanceBy(3 * kTick);  // paused
  RememberLease();
  const TimePoint first = now_;
  AnswerLease(Answer::kOk);
  EXPECT_EQ(Asked<SetLease>().value().until, LeaseUntil(proven + kTick, kTimeout, kTick));
  AnswerProof();
  EXPECT_GT(now_, first + kTick / 2);
  EXPECT_EQ(Asked<SetLease>().value().until, LeaseUntil(now_, kTimeout, kTick));
}

TEST_F(MembershipTest, RenewalsThatComeEveryTickLoseNothing) {
  Join(4);
  AnswerLease(Answer::kOk);
  for (int i = 0; i < 20; ++i) {
    AnswerProof();
    EXPECT_EQ(Asked<SetLease>().value().until, LeaseUntil(now_, kTimeout, kTick));
  }
}

// Reads and syncs are answered by a leader of the store, too, that was deposed and does not know;
// the new one has given the session its time-out when it was elected, not before the write.
TEST_F(MembershipTest, F5_LeaseEndsATimeoutAfterTheNewestWriteThatWasAnswered) {
  Join(4);
  AnswerLease(Answer::kOk);
  const TimePoint written = now_;  // the session was made
  TimePoint until{};
  for (int i = 0; i < 20; ++i) {
    AdvanceBy(kTick);
    RememberLease();
    Feed(LeaseAnswer{lease_->ticket, Answer::kOk, now_, /*written=*/false});
    until = Asked<SetLease>().value().until;
  }
  EXPECT_TRUE(lease_->with_write);
  EXPECT_EQ(until, written + kTimeout - kTimeout / 100);
  AnswerProof();
  EXPECT_EQ(Asked<SetLease>().value().until, LeaseUntil(now_, kTimeout, kTick));
}

TEST_F(MembershipTest, WritesOnlyWhenTheLastWriteWouldShortenTheLease) {
  Join(4);
  AnswerLease(Answer::kOk);
  int writes = 0;
  for (int i = 0; i < 30; ++i) {
    AdvanceBy(kTick);
    RememberLease();
    AnswerLease(Answer::kOk);
    EXPECT_EQ(Asked<SetLease>().value().until, LeaseUntil(now_, kTimeout, kTick));
    if (lease_->with_write) ++writes;
  }
  EXPECT_EQ(writes, 10) << "each third renewal";
}

TEST_F(MembershipTest, OneRenewalIsOutAtATime) {
  Join(4);
  AdvanceBy(kTimeout / 6);
  EXPECT_FALSE(Asked<RenewLease>().has_value());
}

TEST_F(MembershipTest, F5_UnansweredRenewalDoesNotLengthenTheLease) {
  Join(4);
  AnswerLease(Answer::kUnknown);
  EXPECT_FALSE(Asked<SetLease>().has_value());
}

TEST_F(MembershipTest, F5_ExpiredSessionEndsTheLeaseAtOnce) {
  Join(4);
  AnswerLease(Answer::kOk);
  Feed(SessionExpired{});
  EXPECT_EQ(Asked<SetLease>().value().until, TimePoint::min());
  EXPECT_TRUE(Asked<NewSession>().has_value());
}

TEST_F(MembershipTest, F11_LeaseAnswerOfAFormerLifeIsIgnored) {
  Join(4);
  const RenewLease former = *lease_;
  Feed(SessionExpired{});
  Feed(LeaseAnswer{former.ticket, Answer::kOk, now_});
  EXPECT_TRUE(actions_.empty());
  lease_.reset();
  Join(5);
  Feed(LeaseAnswer{former.ticket, Answer::kOk, now_});
  EXPECT_FALSE(Asked<SetLease>().has_value());
}

TEST_F(MembershipTest, EvictedServerStopsAndRegistersAsANewLife) {
  Join(4);
  AnswerLease(Answer::kOk);
  AdvanceBy(kTimeout / 6);
  RememberLease();
  AnswerLease(Answer::kNotYet);
  EXPECT_EQ(Asked<SetLease>().value().until, TimePoint::min());
  Feed(Registration(Asked<ReadStanding>().value().ticket, 5));
  EXPECT_EQ(Asked<Register>().value().incarnation, Incarnation(6));
}

TEST_F(MembershipTest, ExpiredServerRegistersAsANewLife) {
  Join(4);
  Feed(SessionExpired{});
  Feed(Registration(ConnectAndLook(), 5));
  EXPECT_EQ(Asked<Register>().value().incarnation, Incarnation(6));
}

// ---- leaving

TEST_F(MembershipTest, MemberSaysGoodByeAndIsGoneWhenItIsHeard) {
  Join(4);
  Feed(Leave{});
  const SayGoodBye good_bye = Asked<SayGoodBye>().value();
  EXPECT_EQ(good_bye.incarnation, Incarnation(5));
  EXPECT_FALSE(Asked<Gone>().has_value());
  Feed(LeaveAnswer{good_bye.ticket});
  EXPECT_TRUE(Asked<Gone>().has_value());
}

TEST_F(MembershipTest, GoodByeThatNobodyHearsIsNotWaitedForLong) {
  Join(4);
  Feed(Leave{});
  AdvanceBy(next_wake_ - now_);
  EXPECT_TRUE(Asked<Gone>().has_value());
}

TEST_F(MembershipTest, F16_WithoutGoodByeItIsGoneOnlyWhenTheLeaseHasLapsed) {
  Join(4);
  AnswerLease(Answer::kOk);
  const TimePoint lapse = Asked<SetLease>().value().until;
  Feed(Leave{/*good_bye=*/false});
  EXPECT_FALSE(Asked<SayGoodBye>().has_value());
  EXPECT_EQ(next_wake_, lapse);
  AdvanceBy(lapse - now_ - Milliseconds(1));
  EXPECT_TRUE(actions_.empty());
  AdvanceBy(Milliseconds(1));
  EXPECT_TRUE(Asked<Gone>().has_value());
}

TEST_F(MembershipTest, StrangerLeavesWithoutGoodBye) {
  ConnectAndLook();
  Feed(Leave{});
  EXPECT_FALSE(Asked<SayGoodBye>().has_value());
  AdvanceBy(Duration(0));
  EXPECT_TRUE(Asked<Gone>().has_value());
}

TEST_F(MembershipTest, SpuriousWakeChangesNothing) {
  Join(4);
  AnswerLease(Answer::kOk);
  const TimePoint wake = next_wake_;
  AdvanceBy(Duration(0));
  EXPECT_TRUE(actions_.empty());
  EXPECT_EQ(next_wake_, wake);
}

}  // namespace
}  // namespace shardmanager::server
