// `shardctl maintenance add`, `list` and `cancel`.
#include "gmock/gmock.h"
#include "runtime/clock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class MaintenanceCommandTest : public ShardctlTest {
 protected:
  MaintenanceCommandTest() {
    v1::DrainedApp& app = *admin_.drained.add_apps();
    app.set_app("kv");
    app.set_servers(2);
    app.set_replicas(12);
  }
  v1::MaintenanceStatus& AddStatus() {
    v1::MaintenanceStatus& status = *admin_.maintenances.add_maintenances();
    status.set_app("kv");
    v1::Maintenance& notice = *status.mutable_maintenance();
    notice.set_id("change-4711");
    notice.mutable_scope()->mutable_domain()->set_region("eu-west");
    notice.mutable_scope()->mutable_domain()->set_datacenter("dub1");
    notice.set_impact(v1::NETWORK_LOSS);
    notice.set_start_ms(1'772'366'400'000);
    notice.set_end_ms(1'772'370'000'000);
    notice.set_since_ms(1'772'366'000'000);
    notice.set_who("jo");
    notice.set_reason("new switches");
    status.set_state("preparing");
    status.set_left_ms(95'000);
    status.set_primaries_leave(true);
    status.set_servers(2);
    status.set_servers_live(2);
    status.set_replicas_left(3);
    return status;
  }
  // What was asked last.
  std::string Request() { return admin_.requests().empty() ? "" : admin_.requests().back(); }
};

TEST_F(MaintenanceCommandTest, GivesNoticeOfOneThatHasMoments) {
  EXPECT_EQ(Run({"maintenance", "add", "change-4711", "datacenter", "eu-west/dub1", "--impact",
                 "network-loss", "--start", "2026-03-01T12:00Z", "--end", "2026-03-01T14:00+01:00",
                 "--reason", "new switches"}),
            kOk);
  EXPECT_THAT(Request(), StartsWith("AddMaintenance{maintenance { id: \"change-4711\" scope { "
                                    "domain { region: \"eu-west\" datacenter: \"dub1\" } } "
                                    "impact: NETWORK_LOSS start_ms: 1772366400000 "
                                    "end_ms: 1772370000000 reason: \"new switches\""));
  EXPECT_EQ(out_,
            "kv: notice of maintenance change-4711 of datacenter eu-west/dub1: 12 replicas on 2 "
            "servers now\n");
}

TEST_F(MaintenanceCommandTest, CountsFromNow) {
  const int64_t before = WallMilliseconds();
  EXPECT_EQ(Run({"maintenance", "add", "m", "server", "kv-3", "--impact", "runtime-state-loss",
                 "--in", "10m", "--for", "2h"}),
            kOk);
  const auto start = std::stoll(Request().substr(Request().find("start_ms: ") + 10));
  const auto end = std::stoll(Request().substr(Request().find("end_ms: ") + 8));
  EXPECT_GE(start, before + 600'000);
  EXPECT_LE(start, WallMilliseconds() + 600'000);
  EXPECT_EQ(end - start, 7'200'000);
}

TEST_F(MaintenanceCommandTest, RefusesWhatItCannotMean) {
  EXPECT_EQ(Run({"maintenance", "add", "m", "server", "kv-3", "--for", "1h"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("--impact is required"));
  EXPECT_EQ(Run({"maintenance", "add", "m", "server", "kv-3", "--impact", "fire", "--for", "1h"}),
            kUsage);
  EXPECT_THAT(err_, HasSubstr("allowed: full-state-loss, machine-loss, network-loss, "
                              "runtime-state-loss"));
  EXPECT_EQ(Run({"maintenance", "add", "m", "server", "kv-3", "--impact", "machine-loss", "--start",
                 "noon"}),
            kUsage);
  EXPECT_THAT(err_, HasSubstr("found \"noon\"; allowed: a moment such as 2026-03-01T12:00Z"));
  EXPECT_EQ(Run({"maintenance", "add", "m", "rack", "kv-3", "--impact", "machine-loss"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("REGION/DATACENTER/RACK"));
  EXPECT_EQ(Run({"maintenance", "add", "m", "server", "kv-3", "--impact", "network-loss"}), kUsage);
  EXPECT_THAT(err_, HasSubstr("--for, --end: found neither; allowed: how long it lasts"));
  EXPECT_EQ(Run({"maintenance"}), kUsage);
  EXPECT_THAT(admin_.requests(), IsEmpty());
}

TEST_F(MaintenanceCommandTest, ListsHowFarTheyAreAndWhatTheyHit) {
  AddStatus().set_shards_hit(2);
  EXPECT_EQ(Run({"maintenance", "list"}), kOk);
  EXPECT_EQ(out_,
            "ID            WHERE                     IMPACT         STATE       LEFT              "
            "TO-LEAVE   HITS       REASON\n"
            "change-4711   datacenter eu-west/dub1   network-loss   preparing   begins in 1m35s   "
            "3          2 shards   new switches\n");
  EXPECT_THAT(admin_.requests(), ElementsAre("GetMaintenances{}"));
}

TEST_F(MaintenanceCommandTest, ShowsAllAboutOne) {
  v1::MaintenanceStatus& status = AddStatus();
  status.set_shards_hit(2);
  v1::MaintenanceHit& hit = *status.add_hits();
  hit.set_shard("users-1");
  hit.set_server("kv-3");
  hit.set_why("its primary is still on kv-3: no secondary is in step");
  EXPECT_EQ(Run({"maintenance", "list", "change-4711"}), kOk);
  EXPECT_THAT(out_, AllOf(HasSubstr("preparing, begins in 1m35s"), HasSubstr("primaries; 3 left"),
                          HasSubstr("2026-03-01T12:00:00.000Z to 2026-03-01T13:00:00.000Z"),
                          HasSubstr("2 servers, 2 live"), HasSubstr(", by jo"),
                          HasSubstr("Hits 2 shards:\n  users-1: its primary is still on kv-3: no "
                                    "secondary is in step\n  and 1 more\n")));
}

TEST_F(MaintenanceCommandTest, SaysThatNoneIsAhead) {
  EXPECT_EQ(Run({"maintenance", "list"}), kOk);
  EXPECT_EQ(err_, "no maintenance is ahead\n");
}

TEST_F(MaintenanceCommandTest, Cancels) {
  EXPECT_EQ(Run({"maintenance", "cancel", "change-4711"}), kOk);
  EXPECT_THAT(Request(), StartsWith("CancelMaintenance{id: \"change-4711\""));
  EXPECT_EQ(out_, "kv: maintenance change-4711 is cancelled: 2 servers may be used again\n");
}

}  // namespace
}  // namespace shardmanager::cli
