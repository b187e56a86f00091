// What the task controller is shown of a partition's servers.
#include "orchestrator/shell/fleet_view.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

constexpr int64_t kNowMs = 1'772'366'400'000;

class FleetViewTest : public ::testing::Test {
 protected:
  FleetViewTest() : spec_(TestSpec(6, v1::SECONDARY_ONLY, 2)), world_(spec_) {
    world_.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world_.Join(name);
    world_.Advance(Seconds(60));
  }
  std::string Trouble(const std::string& server) {
    const auto view = ViewOf(world_.partition().state());
    return view.server(view.Find(server)).trouble;
  }
  void Notify(const std::string& server, v1::MaintenanceImpact impact) {
    v1::Maintenance notice;
    notice.set_id("m-1");
    notice.mutable_scope()->set_server(server);
    notice.set_impact(impact);
    notice.set_start_ms(kNowMs);
    notice.set_end_ms(kNowMs + 3'600'000);
    world_.ordered.maintenances = {OnClock(notice, world_.now, kNowMs)};
    world_.Apply(spec_);
  }

  const v1::AppSpec spec_;
  World world_;
};

TEST_F(FleetViewTest, F17_AServerThatCommandsDoNotReachCountsAsAwayThoughItsSessionLives) {
  EXPECT_EQ(Trouble("kv-1"), "");
  world_.servers["kv-1"].answers = false;
  world_.Die("kv-0");  // so that kv-1 is asked for something
  world_.Advance(Seconds(300));
  EXPECT_EQ(Trouble("kv-1"), "commands do not get through to it");
  world_.servers["kv-1"].answers = true;
  world_.Advance(Seconds(120));
  EXPECT_EQ(Trouble("kv-1"), "");
}

TEST_F(FleetViewTest, AServerInMaintenanceCountsAsAwayAsLongAsItHoldsSomething) {
  Notify("kv-1", v1::NETWORK_LOSS);
  EXPECT_EQ(Trouble("kv-1"), "maintenance m-1");
  EXPECT_EQ(Trouble("kv-0"), "");
  Notify("kv-1", v1::MACHINE_LOSS);
  world_.Advance(Seconds(60));
  EXPECT_EQ(Trouble("kv-1"), "") << "it is empty";
}

TEST_F(FleetViewTest, APauseClosesTheAppUnlessOnlyItsBalanceIsPaused) {
  world_.ordered.pause = v1::Pause();
  world_.ordered.pause->set_only_balance(true);
  world_.Apply(spec_);
  EXPECT_EQ(ViewOf(world_.partition().state()).closed, "") << "container operations go on";
  world_.ordered.pause->set_only_balance(false);
  world_.Apply(spec_);
  EXPECT_NE(ViewOf(world_.partition().state()).closed, "");
}

}  // namespace
}  // namespace shardmanager::orchestrator
