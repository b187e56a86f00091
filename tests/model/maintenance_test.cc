#include "model/maintenance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNowMs = 1'772'366'400'000;  // 2026-03-01T12:00:00Z
constexpr int64_t kHourMs = 3'600'000;

v1::Maintenance Notice(v1::MaintenanceImpact impact = v1::NETWORK_LOSS) {
  v1::Maintenance notice;
  notice.set_id("change-4711");
  notice.mutable_scope()->set_server("kv-1");
  notice.set_impact(impact);
  notice.set_start_ms(kNowMs + kHourMs);
  notice.set_end_ms(kNowMs + 2 * kHourMs);
  return notice;
}

std::string Problem(const v1::Maintenance& notice) {
  return std::string(ValidateMaintenance(WithDefaults(notice, kNowMs), kNowMs).message());
}

LeavingRules RulesWith(const std::string& text) {
  return LeavingRules(WithDefaults(SpecWith(text)));
}

// Both roles, three replicas.
constexpr char kThree[] = "replication { strategy: PRIMARY_SECONDARY replicas: 3 } ";

TEST(MaintenanceTest, ANoticeIsCheckedFieldByField) {
  EXPECT_EQ(Problem(Notice()), "");
  v1::Maintenance notice = Notice();
  notice.set_id("change 4711");
  notice.set_impact(v1::MAINTENANCE_IMPACT_UNSPECIFIED);
  notice.mutable_scope()->clear_server();
  notice.set_reason(std::string(201, 'x'));
  EXPECT_EQ(Problem(notice),
            "id: found \"change 4711\"; allowed: 1 to 63 characters of [A-Za-z0-9._-]\n"
            "scope: found nothing; allowed: one of server and domain\n"
            "impact: found maintenance-impact-unspecified; allowed: network-loss, "
            "runtime-state-loss, full-state-loss, machine-loss\n"
            "reason: found 201 bytes; allowed: at most 200");
}

TEST(MaintenanceTest, ItEndsAfterItBeginsAndInTheFuture) {
  v1::Maintenance notice = Notice();
  notice.set_end_ms(notice.start_ms());
  EXPECT_THAT(Problem(notice), HasSubstr("end_ms: found 2026-03-01T13:00:00.000Z; allowed: a time "
                                         "after 2026-03-01T13:00:00.000Z, until 2026-03-31T13"));
  notice.set_start_ms(kNowMs - 2 * kHourMs);
  notice.set_end_ms(kNowMs);
  EXPECT_THAT(Problem(notice), HasSubstr("after 2026-03-01T12:00:00.000Z")) << "it is over";
  notice.set_end_ms(kNowMs + 1);
  EXPECT_EQ(Problem(notice), "") << "a late notice";
  notice.clear_end_ms();
  EXPECT_THAT(Problem(notice), HasSubstr("end_ms: found nothing"));
  notice.set_impact(v1::MACHINE_LOSS);
  EXPECT_EQ(Problem(notice), "") << "nothing comes back";
  notice = Notice();
  notice.set_end_ms(notice.start_ms() + 30 * 24 * kHourMs + 1);
  EXPECT_THAT(Problem(notice), HasSubstr("end_ms:"));
  notice.set_start_ms(kNowMs + 366 * 24 * kHourMs);
  EXPECT_THAT(Problem(notice), HasSubstr("start_ms:"));
}

TEST(MaintenanceTest, WithoutATimeItBeginsNow) {
  v1::Maintenance notice = Notice(v1::MACHINE_LOSS);
  notice.clear_start_ms();
  notice.clear_end_ms();
  notice = WithDefaults(notice, kNowMs);
  EXPECT_EQ(notice.start_ms(), kNowMs);
  EXPECT_EQ(notice.end_ms(), kNowMs + 24 * kHourMs);
}

// A leader whose clock says 100 s, at noon.
class PlannedMaintenanceTest : public ::testing::Test {
 protected:
  PlannedMaintenance Planned(v1::MaintenanceImpact impact = v1::NETWORK_LOSS) const {
    return OnClock(Notice(impact), now_, kNowMs);
  }
  ServerOrder At(Duration since_start, const PlannedMaintenance& maintenance) const {
    return OrderAt(maintenance, rules_, maintenance.start + since_start);
  }
  const TimePoint now_ = TimePoint() + Seconds(100);
  LeavingRules rules_ = RulesWith(kThree);
};

TEST_F(PlannedMaintenanceTest, ItsMomentsAreOnTheClockOfTheLeader) {
  EXPECT_EQ(Planned().start, now_ + Seconds(3'600));
  EXPECT_EQ(Planned().end, now_ + Seconds(7'200));
}

TEST_F(PlannedMaintenanceTest, ServersAreAvoidedThenClosedThenAwayAsPlanned) {
  const PlannedMaintenance maintenance = Planned();
  EXPECT_EQ(At(-Seconds(7'200), maintenance), ServerOrder());
  EXPECT_TRUE(At(-Seconds(4'000), maintenance).avoid);
  EXPECT_FALSE(At(-Seconds(601), maintenance).closed);
  const ServerOrder prepared = At(-Seconds(600), maintenance);
  EXPECT_TRUE(prepared.closed);
  EXPECT_TRUE(prepared.leaving.primaries);
  EXPECT_FALSE(prepared.leaving.secondaries);
  EXPECT_EQ(prepared.away_until, TimePoint::min()) << "who goes before that has failed";
  EXPECT_EQ(At(Seconds(0), maintenance).away_until, maintenance.end);
  const ServerOrder after = At(Seconds(3'600), maintenance);
  EXPECT_FALSE(after.closed || after.avoid || after.leaving.primaries);
  EXPECT_EQ(after.away_until, maintenance.end) << "it may come back within failover.delay_ms";
}

TEST_F(PlannedMaintenanceTest, TheImpactDecidesWhatLeaves) {
  for (const auto impact : {v1::NETWORK_LOSS, v1::RUNTIME_STATE_LOSS}) {
    EXPECT_FALSE(At(Seconds(0), Planned(impact)).leaving.secondaries);
  }
  for (const auto impact : {v1::FULL_STATE_LOSS, v1::MACHINE_LOSS}) {
    const ServerOrder order = At(Seconds(0), Planned(impact));
    EXPECT_TRUE(order.leaving.primaries && order.leaving.secondaries);
    EXPECT_EQ(order.away_until, TimePoint::min()) << "nothing waits for the server";
  }
}

TEST_F(PlannedMaintenanceTest, WhereAShardHasOneReplicaItLeaves) {
  rules_ = RulesWith("replication { strategy: PRIMARY_ONLY }");
  EXPECT_TRUE(rules_.Empties(At(Seconds(0), Planned()).leaving));
}

TEST_F(PlannedMaintenanceTest, ARuleOfTheSpecComesBeforeTheImpact) {
  rules_ = RulesWith(absl::StrCat(
      kThree, "drain { rules { impacts: NETWORK_LOSS up_to_ms: 3600000 primaries: false } ",
      "rules { kinds: STOP secondaries: false } }"));
  EXPECT_FALSE(At(Seconds(0), Planned()).leaving.primaries) << "an hour is accepted";
  PlannedMaintenance longer = Planned();
  longer.end += Seconds(1);
  EXPECT_TRUE(At(Seconds(0), longer).leaving.primaries);
  EXPECT_TRUE(At(Seconds(0), Planned(v1::MACHINE_LOSS)).leaving.secondaries)
      << "the second rule is for operations";
  EXPECT_FALSE(rules_.Before(v1::STOP, Seconds(1)).secondaries);
}

TEST_F(PlannedMaintenanceTest, WithLateNoticeTheWarningComesLater) {
  v1::Maintenance notice = Notice();
  notice.set_since_ms(notice.start_ms() - 40'000);
  const PlannedMaintenance maintenance = OnClock(notice, now_, kNowMs);
  EXPECT_EQ(WarnAt(maintenance, rules_), maintenance.start - Seconds(10));
  notice.set_since_ms(notice.start_ms() + 5'000);
  EXPECT_EQ(WarnAt(OnClock(notice, now_, kNowMs), rules_), maintenance.start) << "it has begun";
}

TEST_F(PlannedMaintenanceTest, EachChangeHasItsMoment) {
  const PlannedMaintenance maintenance = Planned();
  TimePoint now = maintenance.start - Seconds(100'000);
  std::vector<int64_t> seconds;
  for (;;) {
    now = NextChange(maintenance, rules_, now);
    if (now == kNever) break;
    seconds.push_back((now - maintenance.start) / Seconds(1));
  }
  EXPECT_THAT(seconds, ::testing::ElementsAre(-4'200, -600, -150, 0, 3'600));
}

}  // namespace
}  // namespace shardmanager
