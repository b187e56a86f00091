// What a cluster manager reports, and what it makes of the answers.
#include "examples/localcluster/operation_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace shardmanager::local {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kId[] = "rollout-1/kv-1";

class OperationLedgerTest : public ::testing::Test {
 protected:
  OperationLedgerTest() { ledger_.Want(Restart(kId)); }

  static v1::ContainerOperation Restart(const std::string& id) {
    v1::ContainerOperation operation;
    operation.set_id(id);
    operation.set_kind(v1::RESTART);
    operation.set_server("kv-1");
    return operation;
  }
  static v1::ReportResponse Say(v1::OperationVerdict verdict, const std::string& id = kId) {
    v1::ReportResponse response;
    response.add_answers()->set_id(id);
    response.mutable_answers(0)->set_verdict(verdict);
    return response;
  }
  // Reports, and hears that.
  OperationLedger::Heard Hear(v1::OperationVerdict verdict, bool uses = true) {
    const v1::ReportRequest report = ledger_.NextReport();
    return ledger_.Hear(report.sequence(), Say(verdict), [uses](const auto&) { return uses; });
  }
  v1::OperationStage Stage() { return ledger_.NextReport().operations(0).stage(); }

  OperationLedger ledger_{"kv", "manager", 7};
};

TEST_F(OperationLedgerTest, EveryReportListsAllAndIsNewer) {
  ledger_.Want(Restart("rollout-1/kv-2"));
  const v1::ReportRequest first = ledger_.NextReport();
  const v1::ReportRequest second = ledger_.NextReport();
  EXPECT_EQ(first.app(), "kv");
  EXPECT_EQ(first.manager(), "manager");
  EXPECT_EQ(first.manager_life(), 7u);
  EXPECT_THAT(first.operations(), SizeIs(2));
  EXPECT_GT(second.sequence(), first.sequence());
}

TEST_F(OperationLedgerTest, ActsOnGoAndOnlyOnce) {
  EXPECT_TRUE(Hear(v1::OPERATION_APPROVED).report_again) << "it is claimed at once";
  EXPECT_EQ(Stage(), v1::OPERATION_BEGIN);
  EXPECT_TRUE(ledger_.MayStillAct(kId));
  EXPECT_THAT(Hear(v1::OPERATION_GO).act, SizeIs(1));
  EXPECT_THAT(Hear(v1::OPERATION_GO).act, IsEmpty()) << "the answer was repeated";
}

TEST_F(OperationLedgerTest, AnApprovalThatIsNotUsedIsNotClaimed) {
  EXPECT_FALSE(Hear(v1::OPERATION_APPROVED, /*uses=*/false).report_again);
  EXPECT_EQ(Stage(), v1::OPERATION_WAITING);
}

TEST_F(OperationLedgerTest, AnApprovalThatIsWithdrawnIsWaitedForAgain) {
  Hear(v1::OPERATION_APPROVED);
  Hear(v1::OPERATION_DELAYED);
  EXPECT_EQ(Stage(), v1::OPERATION_WAITING);
}

// GO is never taken back.
TEST_F(OperationLedgerTest, WhatWasBegunStaysBegunWhateverIsHeard) {
  Hear(v1::OPERATION_GO);
  EXPECT_EQ(Stage(), v1::OPERATION_BEGIN);
  Hear(v1::OPERATION_DELAYED);
  EXPECT_EQ(Stage(), v1::OPERATION_BEGIN);
}

TEST_F(OperationLedgerTest, TheAnswerToAnOlderReportDoesNotCount) {
  const v1::ReportRequest old = ledger_.NextReport();
  ledger_.NextReport();
  const auto heard =
      ledger_.Hear(old.sequence(), Say(v1::OPERATION_GO), [](const auto&) { return true; });
  EXPECT_THAT(heard.act, IsEmpty());
  EXPECT_EQ(Stage(), v1::OPERATION_WAITING);
}

TEST_F(OperationLedgerTest, IsReportedAsFinishedUntilThatIsKnown) {
  Hear(v1::OPERATION_GO);
  ledger_.Finish(kId);
  EXPECT_FALSE(ledger_.MayStillAct(kId));
  EXPECT_THAT(Hear(v1::OPERATION_GO).act, IsEmpty()) << "it is over";
  EXPECT_EQ(Stage(), v1::OPERATION_FINISHED);
  const auto heard = Hear(v1::OPERATION_DONE);
  ASSERT_THAT(heard.ended, SizeIs(1));
  EXPECT_EQ(heard.ended[0].stage(), v1::OPERATION_FINISHED);
  EXPECT_THAT(ledger_.entries(), IsEmpty());
}

TEST_F(OperationLedgerTest, WhatIsRefusedIsForgotten) {
  const auto heard = Hear(v1::OPERATION_REFUSED);
  ASSERT_THAT(heard.ended, SizeIs(1));
  EXPECT_EQ(heard.ended[0].stage(), v1::OPERATION_WAITING);
  EXPECT_FALSE(ledger_.HasOneOf("kv-1"));
}

TEST_F(OperationLedgerTest, GivesUpWhatIsNotGoingOn) {
  ledger_.Want(Restart("rollout-1/kv-2"));
  Hear(v1::OPERATION_GO);
  ledger_.GiveUp();
  EXPECT_THAT(ledger_.entries(), SizeIs(1));
  EXPECT_TRUE(ledger_.MayStillAct(kId));
}

TEST_F(OperationLedgerTest, TellsTheLifeOnceItIsKnown) {
  EXPECT_EQ(ledger_.NextReport().operations(0).incarnation(), 0u);
  ledger_.SetLife(kId, 3);
  EXPECT_EQ(ledger_.NextReport().operations(0).incarnation(), 3u);
}

TEST_F(OperationLedgerTest, AnswersToUnknownOperationsAreIgnored) {
  const v1::ReportRequest report = ledger_.NextReport();
  const auto heard = ledger_.Hear(report.sequence(), Say(v1::OPERATION_GO, "other"),
                                  [](const auto&) { return true; });
  EXPECT_THAT(heard.act, IsEmpty());
  EXPECT_EQ(Stage(), v1::OPERATION_WAITING);
}

}  // namespace
}  // namespace shardmanager::local
