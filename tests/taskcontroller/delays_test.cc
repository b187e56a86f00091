// What managers and operators are told of an operation that has to wait: a golden text
// (delays.txt).
#include "taskcontroller/describe/delays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/golden/golden.h"

namespace shardmanager::taskcontroller {
namespace {

FleetView TwelveServers() {
  FleetView view;
  view.complete = true;
  for (uint32_t i = 0; i < 12; ++i) {
    SeenServer& server = view.servers.emplace_back();
    server.name = absl::StrCat("kv-", 10 + i);
    server.incarnation = Incarnation(7);
    server.process = absl::StrCat("host/", 10 + i);
    view.by_name.emplace(server.name, ServerIndex(i));
  }
  view.shards = {{.name = "s-0"}, {.name = "s-1"}};
  return view;
}

Delay Of(DelayReason reason, uint32_t count, uint32_t servers) {
  Delay delay{.reason = reason, .count = count, .limit = 2, .shard = ShardIndex(1), .text = "r/1"};
  for (uint32_t i = 0; i < servers; ++i) delay.servers.push_back(ServerIndex(i));
  return delay;
}

std::string InText(const v1::OperationDelay& delay) {
  return absl::StrCat(delay.reason(), ": ", delay.message(), "\n  ends when ", delay.ends_when(),
                      "\n  ", delay.shard(), ": ", absl::StrJoin(delay.servers(), " "), "\n");
}

TEST(DelaysTest, EachReasonIsSaidWithItsFigures) {
  const FleetView view = TwelveServers();
  std::string text;
  for (int i = 0; i <= static_cast<int>(DelayReason::kMapMissing); ++i) {
    for (const uint32_t count : {1u, 2u}) {
      const Delay delay = Of(static_cast<DelayReason>(i), count, count);
      EXPECT_EQ(Describe(delay, view).reason(), NameOf(delay.reason));
      absl::StrAppend(&text, InText(Describe(delay, view)));
    }
  }
  absl::StrAppend(&text, InText(Describe(Of(DelayReason::kShardCap, 1, 0), view)));
  absl::StrAppend(&text, InText(Describe(Of(DelayReason::kServerCap, 9, 9), view)));
  absl::StrAppend(
      &text, InText(Describe(Of(DelayReason::kServerCap, 12, Delay::kMostServersNamed), view)));
  Delay kept = Of(DelayReason::kReserved, 0, 0);
  kept.shard = ShardIndex();
  absl::StrAppend(&text, InText(Describe(kept, view)));
  ExpectGolden("tests/taskcontroller/delays.txt", text);
}

TEST(DelaysTest, AnAnswerTellsTheServersLifeAndHowLongAnApprovalHolds) {
  const FleetView view = TwelveServers();
  const OperationInfo info{.server = "kv-11"};
  const auto answer = [&](v1::OperationVerdict verdict, const OperationInfo& of) {
    Outcome outcome{.verdict = verdict, .left = 3};
    if (verdict == v1::OPERATION_DELAYED) {
      outcome.delays = {Of(DelayReason::kDraining, 3, 0), Of(DelayReason::kReserved, 0, 0)};
    }
    return DescribeAnswer("r/1", of, outcome, Milliseconds(1500), view);
  };
  const v1::OperationAnswer approved = answer(v1::OPERATION_APPROVED, info);
  EXPECT_EQ(approved.id(), "r/1");
  EXPECT_EQ(approved.verdict(), v1::OPERATION_APPROVED);
  EXPECT_EQ(approved.use_within_ms(), 1500u);
  EXPECT_EQ(approved.incarnation(), 7u);
  EXPECT_EQ(approved.process(), "host/11");
  EXPECT_EQ(approved.replicas_to_drain(), 3u);
  const v1::OperationAnswer delayed = answer(v1::OPERATION_DELAYED, {.server = "kv-99"});
  EXPECT_EQ(delayed.use_within_ms(), 0u);
  EXPECT_EQ(delayed.incarnation(), 0u);
  EXPECT_EQ(delayed.process(), "");
  ASSERT_EQ(delayed.delays_size(), 2);
  EXPECT_EQ(delayed.delays(0).reason(), "Draining");
  EXPECT_EQ(delayed.delays(1).reason(), "Reserved");
}

}  // namespace
}  // namespace shardmanager::taskcontroller
