// The task controller's core, event by event.
#include "taskcontroller/core/task_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "taskcontroller/describe/operations.h"
#include "tests/taskcontroller/task_controller_fixture.h"

namespace shardmanager::taskcontroller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST_F(TaskControllerTest, AnOperationIsApprovedThenBegunThenDone) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  EXPECT_THAT(orders(), ElementsAre(::testing::Field(&ServerOrder::closed, true)));
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  EXPECT_EQ(orders()[0].away_until, now_ + Seconds(5));
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO") << "a repeat";
  fleet_.Find("kv-0").life = 2;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kFinished)), "DONE");
  EXPECT_THAT(core_->held(), IsEmpty());
  Report1("m", {});
  EXPECT_THAT(orders(), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre(NoteKind::kOperationApproved, NoteKind::kOperationBegun,
                                  NoteKind::kOperationFinished));
}

TEST_F(TaskControllerTest, AManagerThatDecidesInOneStepGetsGoAtOnce) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
}

TEST_F(TaskControllerTest, TwoManagersInTwoRegionsNeverStopBothReplicasOfAShard) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "APPROVED");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED Conflict");
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1", ReportedStage::kBegin)), "DELAYED ShardCap");
}

TEST_F(TaskControllerTest, NothingIsToldBeforeItIsStored) {
  hold_writes_ = true;
  Send("m", {Restarts("kv-0")});
  ASSERT_TRUE(write_.has_value());
  EXPECT_THAT(write_->held, ElementsAre(Pair(OperationKey{"m", "restart-kv-0"}, ::testing::_)));
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_FALSE(orders().empty()) << "but its server is closed before";
  hold_writes_ = false;
  Advance(Seconds(0));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].response.answers(0).verdict(), v1::OPERATION_APPROVED);
}

TEST_F(TaskControllerTest, AWriteThatFailsApprovesNothingAndIsMadeAgain) {
  hold_writes_ = true;
  Send("m", {Restarts("kv-0")});
  const uint64_t write = std::exchange(write_, std::nullopt)->write;
  Handle(Written{write, false});
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(absl::IsUnavailable(answers_[0].status));
  Advance(Seconds(1));
  EXPECT_TRUE(write_.has_value());
}

TEST_F(TaskControllerTest, ASuccessorKnowsWhatWasApproved) {
  Verdict("m", Restarts("kv-0", ReportedStage::kBegin));
  Restart(core_->held());
  EXPECT_EQ(orders()[0].server, "kv-0");
  EXPECT_TRUE(orders()[0].closed) << "before anything is decided";
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED ShardCap");
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
}

TEST_F(TaskControllerTest, ALeaderThatDoesNotKnowTheFleetYetApprovesNothing) {
  complete_ = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "DELAYED NotReady");
  complete_ = true;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
}

// Of an app with an orchestrator of its own: a new leader knows no server before it is told.
TEST_F(TaskControllerTest, WithoutTheAppsMapNothingIsApprovedAndNothingIsOver) {
  const ReportedOperation begun = Restarts("kv-0", ReportedStage::kBegin);
  EXPECT_EQ(Verdict("m", begun), "GO");
  Restart(core_->held());
  map_missing_ = "the app's own orchestrator has not supplied its shard map yet";
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED MapMissing");
  EXPECT_EQ(answers_.back().response.answers(0).delays(0).message(), map_missing_);
  Advance(Seconds(600));
  ASSERT_EQ(core_->held().size(), 1U) << "that it is over is not known";
  EXPECT_EQ(Verdict("m", begun), "GO");
  map_missing_.clear();
  fleet_.Find("kv-0").live = false;
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED ShardCap");
}

TEST_F(TaskControllerTest, WhileTheMapIsMissingNoTimeRunsOutAndAnOperatorMayForce) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  fleet_ = MakeFleet(true);
  Restart();
  const std::string server = fleet_.WithAPrimary();
  EXPECT_EQ(Verdict("m", Restarts(server)), "DELAYED Draining");
  map_missing_ = "the app's own orchestrator has not supplied its shard map for 30 s or more";
  for (int i = 0; i < 60; ++i) {
    Advance(Seconds(4));
    Report1("m", {Restarts(server)});
  }
  map_missing_.clear();
  EXPECT_EQ(Verdict("m", Restarts(server)), "DELAYED Draining") << "it has not stalled";
  map_missing_ = "again";
  Verdict("m", Restarts(server));
  Handle(Forced{{"m", "restart-" + server}, "jo"});
  Advance(Seconds(1));
  EXPECT_EQ(Verdict("m", Restarts(server)), "APPROVED");
}

// F19: health lagged behind a deletion, so two replicas went down at once.
TEST_F(TaskControllerTest, F19_WhatIsDownOrLoadsCountsWhoeverStoppedIt) {
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "DELAYED ShardCap");
  fleet_.Find("kv-1").live = true;
  fleet_.Find("kv-1").replicas[0].serving = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "DELAYED ShardCap");
  EXPECT_THAT(answers_.back().response.answers(0).delays(0).servers(), ElementsAre("kv-1"));
  fleet_.Find("kv-1").replicas[0].serving = true;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
}

TEST_F(TaskControllerTest, AFailureBetweenApprovalAndBeginningWithdrawsTheApproval) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "DELAYED ShardCap");
  EXPECT_THAT(core_->held(), IsEmpty());
  EXPECT_THAT(notes_, ::testing::Contains(NoteKind::kOperationWithdrawn));
}

TEST_F(TaskControllerTest, WhatHasBegunIsNeverTakenBack) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
}

TEST_F(TaskControllerTest, AnApprovalThatIsNotUsedLapsesAndOthersGetTheirTurn) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "APPROVED");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED Conflict");
  for (int i = 0; i < 14; ++i) {  // both go on reporting, and the first one does not begin
    Advance(Seconds(4));
    Verdict("m-1", Restarts("kv-0"));
    Verdict("m-2", Restarts("kv-1"));
  }
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "APPROVED");
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "DELAYED Conflict");
}

TEST_F(TaskControllerTest, AnOperationOnAFormerLifeIsRefused) {
  fleet_.Find("kv-0").life = 2;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "REFUSED FormerLife");
  EXPECT_EQ(answers_.back().response.answers(0).incarnation(), 2U);
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kWaiting, 3)), "DELAYED LifeNotSeen");
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kWaiting, 0)), "DELAYED LifeUnknown");
  EXPECT_EQ(Verdict("m", Restarts("kv-9")), "DELAYED UnknownServer");
}

TEST_F(TaskControllerTest, AnApprovalIsVoidWhenTheServerBeginsAnew) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  fleet_.Find("kv-0").life = 2;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "REFUSED FormerLife");
}

TEST_F(TaskControllerTest, TheSecondOperationOfAServerWaits) {
  ReportedOperation second = Restarts("kv-0");
  second.id = "another";
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "APPROVED");
  EXPECT_EQ(Verdict("m-2", second), "DELAYED OtherOperation");
}

TEST_F(TaskControllerTest, AStartTakesNothingAway) {
  ReportedOperation start = Restarts("kv-9");
  start.info.kind = v1::START;
  EXPECT_EQ(Verdict("m", start), "GO");
}

TEST_F(TaskControllerTest, AManagersOlderReportIsRefused) {
  Send("m", {Restarts("kv-0")});
  Handle(Reported{Report{.ticket = 99, .manager = "m", .manager_life = 1, .sequence = 1}});
  EXPECT_EQ(answers_.back().ticket, 99U);
  EXPECT_TRUE(absl::IsAborted(answers_.back().status));
  EXPECT_EQ(core_->reports().Find("m")->operations.size(), 1U);
}

TEST_F(TaskControllerTest, WhatAVanishedManagerHasBegunCountsUntilItIsKnownOtherwise) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  Advance(Seconds(3'000));
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED ShardCap");
  fleet_.Find("kv-0").life = 2;
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "APPROVED");
}

TEST_F(TaskControllerTest, WhatAVanishedManagerWasApprovedIsFreeWhenTheApprovalHasLapsed) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "APPROVED");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED Conflict");
  Advance(Seconds(61));
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "APPROVED");
}

// A process that was killed is live until its session ends.
TEST_F(TaskControllerTest, AManagersWordThatItIsFinishedIsNotEnough) {
  Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin));
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kFinished)), "DONE");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED ShardCap");
  fleet_.Find("kv-0").life = 2;
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "APPROVED");
}

// Its manager has not reported to this leader yet.
TEST_F(TaskControllerTest, WhatIsHeldAndNotReportedIsShown) {
  HeldOperations held;
  held[{"m", "restart-kv-0"}] = {.info = Restarts("kv-0").info, .stage = HeldStage::kBegun};
  Restart(std::move(held));
  const auto all = DescribeOperations(core_->held(), core_->reports(), core_->answers(), "", now_);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].server(), "kv-0");
  EXPECT_EQ(all[0].state(), "begun");
  EXPECT_EQ(all[0].silent_ms(), -1);
}

TEST_F(TaskControllerTest, PrimariesLeaveBeforeTheServerMayStop) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  fleet_ = MakeFleet(true);
  Restart();
  const std::string server = fleet_.WithAPrimary();
  EXPECT_EQ(Verdict("m", Restarts(server)), "DELAYED Draining");
  EXPECT_TRUE(orders()[0].leaving.primaries);
  while (fleet_.MoveOnePrimary(orders())) {
  }
  EXPECT_EQ(Verdict("m", Restarts(server)), "APPROVED");
  EXPECT_TRUE(orders()[0].leaving.primaries) << "they do not come back before it is over";
}

TEST_F(TaskControllerTest, WhatAPinnedShardCannotLeaveWaitsAndTakesNobodysPlace) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  fleet_ = MakeFleet(true);
  Restart();
  const std::string with_primary = fleet_.WithAPrimary();
  const std::string without = fleet_.WithoutPrimaries();
  fleet_.Pin({0, 1});
  EXPECT_EQ(Verdict("m", Restarts(with_primary)), "DELAYED Pinned");
  EXPECT_THAT(answers_.back().response.answers(0).delays(0).ends_when(), HasSubstr("unpin shard"));
  EXPECT_TRUE(core_->held().empty()) << "nothing is prepared";
  const v1::ReportResponse both = Report1("m", {Restarts(with_primary), Restarts(without)});
  int approved = 0;
  for (const v1::OperationAnswer& answer : both.answers()) {
    approved += answer.verdict() == v1::OPERATION_APPROVED;
  }
  EXPECT_EQ(approved, 1) << "the one that moves nothing";
  Report1("m", {});
  fleet_.Pin({});
  EXPECT_EQ(Verdict("m", Restarts(with_primary)), "DELAYED Draining");
}

// It stalls, and is not prepared again before the shard is unpinned.
TEST_F(TaskControllerTest, WhatIsPinnedWhileItIsToLeaveIsSaid) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  fleet_ = MakeFleet(true);
  Restart();
  const std::string server = fleet_.WithAPrimary();
  ASSERT_EQ(Verdict("m", Restarts(server)), "DELAYED Draining");
  fleet_.Pin({0, 1});
  EXPECT_EQ(Verdict("m", Restarts(server)), "DELAYED Pinned");
  for (int i = 0; i < 150; ++i) Verdict("m", Restarts(server));
  EXPECT_EQ(Verdict("m", Restarts(server)), "DELAYED Pinned");
  EXPECT_TRUE(core_->held().empty());
}

// So it begins together with the end of operations before it, whose servers can take what leaves.
TEST_F(TaskControllerTest, AServerIsClosedAtOnceAndDrainedWhenTheOperationIsStored) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  fleet_ = MakeFleet(true);
  Restart();
  hold_writes_ = true;
  Report1("m", {Restarts("kv-0")});
  ASSERT_EQ(orders().size(), 1u);
  EXPECT_TRUE(orders()[0].closed);
  EXPECT_FALSE(orders()[0].leaving.primaries);
  hold_writes_ = false;
  Advance(Seconds(1));
  EXPECT_TRUE(orders()[0].leaving.primaries);
}

TEST_F(TaskControllerTest, APolicyMayTolerateShortOperations) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  v1::DrainRule& rule = *spec_.mutable_drain()->add_rules();
  rule.add_kinds(v1::RESTART);
  rule.set_up_to_ms(5'000);
  rule.set_primaries(false);
  fleet_ = MakeFleet(true);
  Restart();
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  Report1("m", {});
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) {
    ReportedOperation longer = Restarts(name);
    longer.info.expected = Seconds(6);
    const std::string verdict = Verdict("m", longer);
    if (verdict == "DELAYED Draining") return;
    Report1("m", {});
  }
  FAIL() << "a longer one drains the server that has a primary";
}

TEST_F(TaskControllerTest, ServersThatAreAwayCountForTheLimitOfAll) {
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  spec_.mutable_availability()->set_max_unavailable_replicas(3);
  Restart();
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0")), "APPROVED");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "DELAYED ServerCap");
  EXPECT_THAT(answers_.back().response.answers(0).delays(0).servers(), ElementsAre("kv-0"));
}

TEST_F(TaskControllerTest, AnOperationThatWaitedTooLongGoesBeforeALargerSet) {
  spec_.mutable_availability()->set_max_unavailable_replicas(3);
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  spec_.mutable_availability()->set_most_wait_ms(60'000);
  Restart();
  ReportedOperation old = Restarts("kv-2");
  old.pending = Seconds(120);
  Report1("m", {Restarts("kv-0"), Restarts("kv-1"), old});
  EXPECT_THAT(core_->held(), ElementsAre(Pair(OperationKey{"m", "restart-kv-2"}, ::testing::_)));
}

TEST_F(TaskControllerTest, AnOperationNearItsDeadlineGoesFirst) {
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  Restart();
  ReportedOperation urgent = Restarts("kv-2");
  urgent.deadline = Seconds(30);
  Report1("m", {Restarts("kv-0"), Restarts("kv-1"), urgent});
  EXPECT_THAT(core_->held(), ElementsAre(Pair(OperationKey{"m", "restart-kv-2"}, ::testing::_)));
}

// Shard 0 is on kv-0, kv-1 and kv-2; shard 1 on kv-2, kv-3 and kv-4. Of each, one replica may go.
class ReservationTest : public TaskControllerTest {
 protected:
  ReservationTest() {
    Random random(1);
    fleet_ = Fleet({.regions = 1, .servers = 5, .shards = 2, .replicas = 3}, random);
    for (TrueServer& server : fleet_.servers()) server.replicas.clear();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) fleet_.Find(name).replicas.push_back({0});
    for (const char* name : {"kv-2", "kv-3", "kv-4"}) fleet_.Find(name).replicas.push_back({1});
    Restart();
    EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin)), "GO");
    urgent_ = Restarts("kv-2");
    urgent_.deadline = Seconds(30);
  }

  ReportedOperation urgent_;  // of the server that both shards are on
};

TEST_F(ReservationTest, WhatAnUrgentOperationWaitsToHaveIsNotGivenToOthers) {
  EXPECT_EQ(Verdict("m-2", urgent_), "DELAYED ShardCap");
  EXPECT_EQ(Verdict("m-3", Restarts("kv-3")), "DELAYED Reserved");
  EXPECT_EQ(answers_.back().response.answers(0).delays(0).shard(), "s-1");
  fleet_.Find("kv-0").life = 2;
  Verdict("m-1", Restarts("kv-0", ReportedStage::kFinished));
  EXPECT_EQ(Verdict("m-2", urgent_), "APPROVED");
}

TEST_F(ReservationTest, OneThatAlsoWaitsForALostServerKeepsNobodyWaiting) {
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m-2", urgent_), "DELAYED ShardCap");
  EXPECT_EQ(Verdict("m-3", Restarts("kv-3")), "APPROVED");
}

// F13: one impossible drain starved every other operation.
TEST_F(TaskControllerTest, F13_ADrainThatDoesNotGetOnGivesOthersTheirTurn) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  fleet_ = MakeFleet(true);
  Restart();
  const std::string with = fleet_.WithAPrimary();
  const std::string without = fleet_.WithoutPrimaries();
  ReportedOperation first = Restarts(with);
  first.pending = Seconds(10);
  Report1("m", {first, Restarts(without)});
  EXPECT_EQ(core_->held().begin()->second.info.server, with);
  for (int i = 0; i < 40; ++i) {
    Advance(Seconds(4));
    Report1("m", {first, Restarts(without)});
  }
  EXPECT_THAT(notes_, ::testing::Contains(NoteKind::kOperationStalled));
  EXPECT_THAT(notes_, ::testing::Contains(NoteKind::kOperationApproved)) << "the other one";
}

// Each of two servers may be the only place for what has to leave the other one.
TEST_F(TaskControllerTest, ServersThatCannotBeEmptiedTogetherAreEmptiedOneAfterTheOther) {
  spec_.mutable_replication()->set_strategy(v1::PRIMARY_SECONDARY);
  spec_.mutable_availability()->set_max_unavailable_replicas(2);
  fleet_ = MakeFleet(true);
  const auto set_primaries = [this](const std::vector<std::string>& of_shard) {
    for (TrueServer& server : fleet_.servers()) {
      for (TrueReplica& replica : server.replicas) {
        const bool primary = of_shard[replica.shard] == server.name;
        replica.role = primary ? Role::kPrimary : Role::kSecondary;
      }
    }
  };
  set_primaries({"kv-0", "kv-1"});
  Restart();
  const Operations both = {Restarts("kv-0"), Restarts("kv-1")};
  Report1("m", both);
  EXPECT_THAT(core_->held(), ::testing::SizeIs(2)) << "at first both are tried";
  v1::ReportResponse response;
  for (int i = 0; i < 32; ++i) {
    Advance(Seconds(4));
    response = Report1("m", both);
  }
  ASSERT_THAT(core_->held(), ElementsAre(Pair(OperationKey{"m", "restart-kv-0"}, ::testing::_)));
  EXPECT_EQ(response.answers(1).delays(0).reason(), "PreparedAlone");
  EXPECT_THAT(response.answers(1).delays(0).servers(), ElementsAre("kv-0"));
  set_primaries({"kv-1", "kv-1"});
  response = Report1("m", both);
  EXPECT_EQ(response.answers(0).verdict(), v1::OPERATION_APPROVED);
  Report1("m", both);
  EXPECT_THAT(core_->held(), ::testing::SizeIs(2)) << "its turn has come";
}

TEST_F(TaskControllerTest, AnOperatorApprovesAgainstTheLimits) {
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "DELAYED ShardCap");
  Handle(Forced{{"m", "restart-kv-0"}, "jo"});
  Advance(Seconds(1));
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  EXPECT_THAT(notes_, ::testing::Contains(NoteKind::kOperationForced));
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  EXPECT_EQ(Verdict("m-2", Restarts("kv-2")), "DELAYED ShardCap") << "it counts as any other";
}

TEST_F(TaskControllerTest, AnOperatorEndsWhatAVanishedManagerHasBegun) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  Restart(core_->held());
  Advance(Seconds(1000));
  EXPECT_THAT(core_->held(), ::testing::SizeIs(1)) << "it may still be in the middle of it";
  Handle(Ended{{"m-1", "restart-kv-0"}, "jo"});
  Advance(Seconds(10));
  EXPECT_THAT(core_->held(), IsEmpty());
  EXPECT_THAT(notes_, ::testing::Contains(NoteKind::kOperationEnded));
  EXPECT_EQ(Verdict("m-2", Restarts("kv-1")), "APPROVED");
}

TEST_F(TaskControllerTest, TheEndOfWhatHasNotBegunChangesNothing) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  Handle(Ended{{"m", "restart-kv-0"}, "jo"});
  Advance(Seconds(1));
  EXPECT_THAT(core_->held(), ::testing::SizeIs(1));
  EXPECT_THAT(notes_, ::testing::Not(::testing::Contains(NoteKind::kOperationEnded)));
}

TEST_F(TaskControllerTest, DescribesWhatIsReportedAndHeld) {
  Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin));
  Verdict("m-2", Restarts("kv-1"));
  const auto all = DescribeOperations(core_->held(), core_->reports(), core_->answers(), "", now_);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].state(), "begun");
  EXPECT_EQ(all[1].state(), "waiting");
  EXPECT_THAT(all[1].delays(0).message(), HasSubstr("kv-0"));
  EXPECT_THAT(
      DescribeOperations(core_->held(), core_->reports(), core_->answers(), "nothing", now_),
      IsEmpty());
}

TEST_F(TaskControllerTest, WhatIsPendingIsToldToTheFleet) {
  spec_.mutable_availability()->set_max_unavailable_servers("1");
  Restart();
  Report1("m", {Restarts("kv-0"), Restarts("kv-1")});
  std::vector<std::string> avoided;
  for (const ServerOrder& order : orders()) {
    if (order.avoid) avoided.push_back(order.server);
  }
  EXPECT_THAT(avoided, UnorderedElementsAre("kv-0", "kv-1"));
}

// A quarantined server keeps what it serves: it may be all that is left.
TEST_F(TaskControllerTest, AServerInTroubleIsNotStoppedWhereTheOthersDoNotSuffice) {
  fleet_.Find("kv-0").trouble = "quarantined";
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED") << "the two others suffice";
  Report1("m", {});
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "DELAYED ShardCap");
}

// A new leader knows no life of a server that is down.
TEST_F(TaskControllerTest, AServerThatIsDownMayBeRestartedAfterATakeover) {
  fleet_.Find("kv-0").live = false;
  fleet_.Find("kv-0").life = 0;
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin, 7)), "GO");
}

TEST_F(TaskControllerTest, AnIdThatIsUsedForAnotherOperationGetsNoGo) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  ReportedOperation other = Restarts("kv-1", ReportedStage::kBegin);
  other.id = "restart-kv-0";
  EXPECT_EQ(Verdict("m", other), "DELAYED OtherOperation");
  fleet_.Find("kv-0").life = 2;
  ReportedOperation next = Restarts("kv-0", ReportedStage::kBegin, 2);
  EXPECT_EQ(Verdict("m", next), "GO") << "the first one is over, and this one is decided by itself";
  EXPECT_EQ(core_->held().begin()->second.info.life, Incarnation(2));
}

TEST_F(TaskControllerTest, AnOperatorsApprovalOutlivesAWriteThatFails) {
  fleet_.Find("kv-1").live = false;
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "DELAYED ShardCap");
  hold_writes_ = true;
  Handle(Forced{{"m", "restart-kv-0"}, "jo"});
  Advance(Seconds(1));
  const uint64_t write = std::exchange(write_, std::nullopt)->write;
  Handle(Written{write, false});
  hold_writes_ = false;
  Advance(Seconds(1));
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
}

TEST_F(TaskControllerTest, WhatAVanishedManagerHasBegunEndsWhenTheServerHasNothingAnyMore) {
  EXPECT_EQ(Verdict("m-1", Restarts("kv-0", ReportedStage::kBegin)), "GO");
  fleet_.Find("kv-0").live = false;
  fleet_.Find("kv-0").replicas.clear();
  Restart(core_->held());
  Advance(Seconds(100));
  Report1("m-2", {});
  EXPECT_THAT(core_->held(), IsEmpty());
}

TEST_F(TaskControllerTest, ASilentManagerBeginsNothing) {
  EXPECT_EQ(Verdict("m", Restarts("kv-0")), "APPROVED");
  complete_ = false;  // nothing is decided while it says that it would begin
  Report1("m", {Restarts("kv-0", ReportedStage::kBegin)});
  Advance(Seconds(31));
  complete_ = true;
  Report1("m-2", {});
  for (const auto& [key, operation] : core_->held()) {
    EXPECT_NE(operation.stage, HeldStage::kBegun);
  }
}

}  // namespace
}  // namespace shardmanager::taskcontroller
