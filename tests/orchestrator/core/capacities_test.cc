// Capacities that change while servers run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "orchestrator/decide/load/loads.h"
#include "orchestrator/describe/status.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::HasSubstr;

// 40 shards of 10 GB each, on servers that may hold 200 GB and registered so.
class CapacitiesTest : public ::testing::Test {
 protected:
  static v1::AppSpec Spec() {
    v1::AppSpec spec = TestSpec(40);
    v1::Metric* disk = spec.add_metrics();
    disk->set_name("disk");
    disk->set_threshold(1);
    disk->set_tolerance(0.2);
    return spec;
  }

  CapacitiesTest() : world_(Spec()) {
    world_.load = [](const std::string&, const std::string&) {
      return std::vector<MetricAmount>{{"disk", 10}};
    };
    world_.says.capacity = [this](const std::string& server) {
      const auto said = says_.find(server);
      if (said == says_.end()) return std::vector<MetricAmount>{};
      return std::vector<MetricAmount>{{"disk", said->second}};
    };
    world_.Start();
    for (int i = 0; i < 4; ++i) {
      const std::string name = absl::StrCat("kv-", i);
      world_.servers[name].metric_capacity = {{"disk", 200}};
      world_.Join(name);
    }
    world_.Advance(Seconds(600));
  }

  double Counts(const std::string& server) {
    const PartitionState& state = world_.partition().state();
    return MetricCapacity(state, state.loads.capacity_now,
                          world_.partition().tables().FindServer(server), 0);
  }
  size_t Moves() { return world_.NoteCount(NoteKind::kMoveStarted); }
  v1::MetricUse Shown(const std::string& server) {
    return DescribeServers(world_.partition().state(), world_.now, server).at(0).loads(0);
  }

  World world_;
  std::map<std::string, double> says_;
};

TEST_F(CapacitiesTest, WhatServersRegisteredCountsUntilTheySayOtherwise) {
  EXPECT_EQ(Counts("kv-0"), 200);
  EXPECT_FALSE(Shown("kv-0").has_registered());
  says_["kv-0"] = 150;
  world_.Advance(Seconds(35));
  EXPECT_EQ(Counts("kv-0"), 150);
  EXPECT_EQ(Shown("kv-0").capacity(), 150);
  EXPECT_EQ(Shown("kv-0").registered(), 200);
  says_.clear();  // the metric is not named any more
  world_.Advance(Seconds(35));
  EXPECT_EQ(Counts("kv-0"), 200);
}

TEST_F(CapacitiesTest, AServerThatCarriesMoreThanItCanIsRelieved) {
  says_["kv-0"] = 45;
  world_.Advance(Seconds(300));
  EXPECT_LE(world_.Counts().at("kv-0"), 4u);
  EXPECT_EQ(world_.Served(), 40u);
}

TEST_F(CapacitiesTest, AServerThatCanCarryNothingIsEmptied) {
  says_["kv-0"] = 0;
  world_.Advance(Seconds(300));
  EXPECT_EQ(world_.Counts().at("kv-0"), 0u);
  EXPECT_GT(Shown("kv-0").capacity(), 0) << "0 would mean: no limit";
}

TEST_F(CapacitiesTest, AFallThatOneReportAloneHasDoesNotCount) {
  says_["kv-0"] = 200;
  world_.Advance(Seconds(60));
  const size_t moves = Moves();
  says_["kv-0"] = 0;
  world_.Advance(Seconds(30));  // one look
  says_["kv-0"] = 200;
  world_.Advance(Seconds(300));
  EXPECT_EQ(Counts("kv-0"), 200);
  EXPECT_EQ(Moves(), moves);
}

TEST_F(CapacitiesTest, ARiseCountsWhenItHasLasted) {
  says_["kv-0"] = 45;
  world_.Advance(Seconds(300));
  says_["kv-0"] = 48;
  world_.Advance(Seconds(1'300));
  EXPECT_EQ(Counts("kv-0"), 45) << "less than a tenth is nothing";
  says_["kv-0"] = 400;
  world_.Advance(Seconds(300));
  EXPECT_EQ(Counts("kv-0"), 45);
  world_.Advance(Seconds(1'000));
  EXPECT_EQ(Counts("kv-0"), 400);
  world_.Advance(Seconds(1'200));
  EXPECT_GE(world_.Counts().at("kv-0"), 12u) << "its share, but for the tolerance";
}

// F20: as of loads.
TEST_F(CapacitiesTest, F20_CapacitiesThatFlickerComeToRest) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    world_.check_every_step = false;
    world_.says.capacity = [&](const std::string&) {
      const double noise = 0.9 + 0.2 * static_cast<double>(random.Below(1'000)) / 1'000;
      return std::vector<MetricAmount>{{"disk", 110 * noise}};
    };
    world_.Advance(Seconds(1'800));
    const size_t settled = Moves();
    world_.Advance(Seconds(4 * 3'600));
    EXPECT_LE(Moves() - settled, 2u) << "seed " << seed;
  }
}

// Back and forth between much and little, more quickly than a rise counts.
TEST_F(CapacitiesTest, F20_ACapacityThatSwingsMovesNothingForEver) {
  for (int swing = 0; swing < 40; ++swing) {
    says_["kv-0"] = swing % 2 == 0 ? 50 : 200;
    world_.Advance(Seconds(240));
    if (swing == 1) world_.notes.clear();
  }
  EXPECT_EQ(Moves(), 0u);
}

TEST_F(CapacitiesTest, ValuesOutOfRangeAreToldAndTheLastGoodOneHolds) {
  says_["kv-0"] = 150;
  world_.Advance(Seconds(35));
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), -1.0, 2e12}) {
    world_.notes.clear();
    says_["kv-0"] = bad;
    world_.Advance(Seconds(90));
    EXPECT_EQ(Counts("kv-0"), 150);
    ASSERT_EQ(world_.NoteCount(NoteKind::kLoadRefused), 1u);  // said once
    for (const Note& note : world_.notes) {
      if (note.kind != NoteKind::kLoadRefused) continue;
      EXPECT_THAT(note.detail, HasSubstr("capacity for disk: found "));
      EXPECT_THAT(note.detail, HasSubstr("allowed: 0 to 1e12. The last good values hold"));
    }
    says_["kv-0"] = 150;
    world_.Advance(Seconds(35));
  }
}

TEST_F(CapacitiesTest, MetricsThatTheSpecDoesNotNameAreIgnored) {
  world_.says.capacity = [](const std::string&) {
    return std::vector<MetricAmount>{{"other", -7}};
  };
  world_.Advance(Seconds(90));
  EXPECT_EQ(world_.partition().state().loads.refused, 0u);
  EXPECT_EQ(Counts("kv-0"), 200);
}

TEST_F(CapacitiesTest, ANewLeaderLearnsThemWithItsFirstLook) {
  says_["kv-0"] = 150;
  world_.Advance(Seconds(35));
  world_.Restart();
  world_.Advance(Seconds(1));
  EXPECT_EQ(Counts("kv-0"), 150);
}

// A process that is started anew may stand elsewhere; it is asked at once.
TEST_F(CapacitiesTest, ANewLifeBeginsWithWhatItRegistered) {
  says_["kv-0"] = 20;
  world_.Advance(Seconds(300));
  says_.clear();
  world_.Die("kv-0");
  world_.Join("kv-0");
  EXPECT_EQ(Counts("kv-0"), 200);
}

}  // namespace
}  // namespace shardmanager::orchestrator
