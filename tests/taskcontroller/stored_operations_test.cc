#include "taskcontroller/state/stored_operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

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

TEST(ParseReportTest, TakesEachFieldUpToItsLimitAndNotMore) {
  const auto takes = [](auto change) {
    v1::ReportRequest request = Valid();
    change(request, *request.mutable_operations(0));
    return ParseReport(request).ok();
  };
  const auto limit = [&](size_t most, auto set) {
    EXPECT_TRUE(takes([&](auto& r, auto& o) { set(r, o, std::string(most, 'x')); }));
    EXPECT_FALSE(takes([&](auto& r, auto& o) { set(r, o, std::string(most + 1, 'x')); }));
  };
  limit(63, [](auto& r, auto&, const std::string& text) { r.set_manager(text); });
  limit(127, [](auto&, auto& o, const std::string& text) { o.set_id(text); });
  limit(127, [](auto&, auto& o, const std::string& text) { o.set_server(text); });
  limit(200, [](auto&, auto& o, const std::string& text) { o.set_container(text); });
  limit(200, [](auto&, auto& o, const std::string& text) { o.set_reason(text); });
  const auto most = [&](uint64_t value, auto set) {
    EXPECT_TRUE(takes([&](auto&, auto& o) { set(o, value); }));
    EXPECT_FALSE(takes([&](auto&, auto& o) { set(o, value + 1); }));
  };
  constexpr uint64_t kDayMs = 86'400'000;
  most(kDayMs, [](auto& o, uint64_t ms) { o.set_expected_ms(static_cast<uint32_t>(ms)); });
  most(30 * kDayMs, [](auto& o, uint64_t ms) { o.set_deadline_ms(ms); });
  most(30 * kDayMs, [](auto& o, uint64_t ms) { o.set_pending_ms(ms); });
  const auto named = [&](const std::string& id) {
    return takes([&](auto&, auto& o) { o.set_id(id); });
  };
  EXPECT_TRUE(named("azAZ09._:/-"));
  for (const char* wrong : {"", "`", "{", "@", "[", " ", ";", "\x80"}) EXPECT_FALSE(named(wrong));
  EXPECT_FALSE(takes([](auto& r, auto&) { r.set_manager("a/b"); }));
  EXPECT_FALSE(takes([](auto&, auto& o) { o.set_server("a/b"); }));
  EXPECT_FALSE(takes([](auto&, auto& o) { o.set_server(""); }));
  EXPECT_FALSE(takes([](auto& r, auto&) { r.set_manager_life(0); }));
  EXPECT_FALSE(takes([](auto&, auto& o) { o.set_kind(static_cast<v1::OperationKind>(99)); }));
  EXPECT_FALSE(takes([](auto&, auto& o) { o.set_stage(static_cast<v1::OperationStage>(99)); }));
  v1::ReportRequest many = Valid();
  while (many.operations_size() < 10'000) {
    *many.add_operations() = many.operations(0);
    many.mutable_operations(many.operations_size() - 1)
        ->set_id(absl::StrCat("o-", many.operations_size()));
  }
  EXPECT_TRUE(ParseReport(many).ok());
}

TEST(ParseReportTest, KeepsEachField) {
  v1::ReportRequest request = Valid();
  v1::ContainerOperation& in = *request.mutable_operations(0);
  in.set_container("c");
  in.set_reason("version 42");
  in.set_expected_ms(5'000);
  in.set_deadline_ms(60'000);
  in.set_pending_ms(7'000);
  in.set_state_lost(true);
  in.set_stage(v1::OPERATION_BEGIN);
  const auto report = ParseReport(request);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->manager_life, 7u);
  EXPECT_EQ(report->sequence, 1u);
  const ReportedOperation& out = report->operations[0];
  EXPECT_EQ(out.id, "rollout-42/kv-3");
  EXPECT_EQ(out.info, (OperationInfo{.kind = v1::RESTART,
                                     .server = "kv-3",
                                     .life = Incarnation(5),
                                     .container = "c",
                                     .reason = "version 42",
                                     .expected = Seconds(5),
                                     .state_lost = true}));
  EXPECT_EQ(out.stage, ReportedStage::kBegin);
  EXPECT_EQ(out.deadline, Seconds(60));
  EXPECT_EQ(out.pending, Seconds(7));
  in.set_stage(v1::OPERATION_FINISHED);
  EXPECT_EQ(ParseReport(request)->operations[0].stage, ReportedStage::kFinished);
}

TEST(StoredOperationsTest, EachStageAndChoiceComesBack) {
  for (const HeldStage stage : {HeldStage::kPreparing, HeldStage::kApproved, HeldStage::kBegun}) {
    for (const bool flag : {false, true}) {
      HeldOperations held;
      HeldOperation& operation = held[{"m", "id"}];
      operation.info.kind = v1::STOP;
      operation.info.state_lost = flag;
      operation.stage = stage;
      operation.leaving = {.primaries = !flag, .secondaries = flag};
      operation.forced = flag;
      const auto back = FromProto(ToProto(held));
      ASSERT_TRUE(back.ok()) << back.status();
      EXPECT_EQ(back->begin()->first, (OperationKey{"m", "id"}));
      EXPECT_TRUE(back->begin()->second.SameRecord(operation));
    }
  }
}

TEST(StoredOperationsTest, WhateverIsStoredMakesARecordAnother) {
  const HeldOperation one{.info = {.kind = v1::STOP, .server = "kv-1"}};
  HeldOperation other = one;
  EXPECT_TRUE(one.SameRecord(other));
  other.info.reason = "another";
  EXPECT_FALSE(one.SameRecord(other));
  other = one;
  other.stage = HeldStage::kBegun;
  EXPECT_FALSE(one.SameRecord(other));
  other = one;
  other.leaving.secondaries = true;
  EXPECT_FALSE(one.SameRecord(other));
  other = one;
  other.forced = true;
  EXPECT_FALSE(one.SameRecord(other));
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
