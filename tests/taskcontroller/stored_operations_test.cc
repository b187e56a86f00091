#include "taskcontroller/state/stored_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardmanager::taskcontroller {
namespace {

using ::testing::HasSubstr;

v1::ReportRequest Valid() {
  v1::ReportRequest request;
  request.set_app("kv");
  request.set_manager("kube-eu");
  request.set_manager_life(7);
  request.set_sequence(1);
  v1::ContainerOperation& operation = *request.add_operations();
  operation.set_id("rollout-42/kv-3");
  operation.set_kind(v1::RESTART);
  operation.set_server("kv-3");
  operation.set_incarnation(5);
  return request;
}

TEST(ParseReportTest, TakesAValidReportAndFillsDefaultsIn) {
  const auto report = ParseReport(Valid());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->manager, "kube-eu");
  EXPECT_EQ(report->operations[0].info.expected, Seconds(60));
  EXPECT_EQ(report->operations[0].stage, ReportedStage::kWaiting);
  EXPECT_FALSE(report->operations[0].deadline.has_value());
}

TEST(ParseReportTest, NamesEachWrongField) {
  const auto error = [](auto change) {
    v1::ReportRequest request = Valid();
    change(request);
    return std::string(ParseReport(request).status().message());
  };
  EXPECT_EQ(error([](auto& r) { r.set_manager(""); }),
            "manager: found nothing; allowed: 1 to 63 characters of [A-Za-z0-9._-]");
  EXPECT_EQ(error([](auto& r) { r.set_sequence(0); }),
            "sequence: found 0; allowed: a number above 0");
  EXPECT_THAT(error([](auto& r) { r.mutable_operations(0)->set_id("a b"); }),
              HasSubstr("operations[0].id: found \"a b\""));
  EXPECT_THAT(
      error([](auto& r) { *r.add_operations() = r.operations(0); }),
      HasSubstr("operations[1].id: found \"rollout-42/kv-3\" (a second time); allowed: each "
                "id once"));
  EXPECT_EQ(error([](auto& r) { r.mutable_operations(0)->clear_kind(); }),
            "operations[0].kind: found operation-kind-unspecified; allowed: start, stop, restart, "
            "move");
  EXPECT_EQ(error([](auto& r) { r.mutable_operations(0)->set_expected_ms(86'400'001); }),
            "operations[0].expected_ms: found 86400001; allowed: 0 to 86400000");
  EXPECT_THAT(error([](auto& r) { r.mutable_operations(0)->set_reason(std::string(201, 'x')); }),
              HasSubstr("operations[0].reason: found 201 bytes"));
  EXPECT_THAT(error([](auto& r) {
                for (int i = 0; i < 10'000; ++i) r.add_operations();
              }),
              HasSubstr("operations: found 10001 operations; allowed: at most 10000"));
}

TEST(StoredOperationsTest, ComeBackAsTheyWereStored) {
  HeldOperations held;
  HeldOperation& operation = held[{"m", "id"}];
  operation.info = {.kind = v1::MOVE,
                    .server = "kv-1",
                    .life = Incarnation(3),
                    .container = "c",
                    .reason = "r",
                    .expected = Seconds(7),
                    .state_lost = true};
  operation.stage = HeldStage::kBegun;
  operation.leaving = {.primaries = true, .secondaries = false};
  operation.forced = true;
  const auto back = FromProto(ToProto(held));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 1U);
  EXPECT_TRUE(back->begin()->second.SameRecord(operation));
}

TEST(StoredOperationsTest, AreNotHalfReadIfANewerVersionWroteThem) {
  v1::StoredOperations stored;
  v1::StoredOperation& operation = *stored.add_operations();
  operation.set_kind(v1::RESTART);
  EXPECT_TRUE(absl::IsDataLoss(FromProto(stored).status()));
  operation.set_stage(static_cast<v1::HeldStage>(99));
  EXPECT_TRUE(absl::IsUnimplemented(FromProto(stored).status()));
  operation.set_stage(v1::HELD_BEGUN);
  operation.set_kind(static_cast<v1::OperationKind>(99));
  EXPECT_TRUE(absl::IsUnimplemented(FromProto(stored).status()));
}

}  // namespace
}  // namespace shardmanager::taskcontroller
