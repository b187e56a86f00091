#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <string>

#include "absl/strings/str_format.h"
#include "tests/golden/golden.h"

namespace shardmanager::simulation {
namespace {

class SimulationTest : public testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};

// And each run goes as recorded: recordings/seeds.txt has a digest of the moments at which anything
// happened in it, and of the grants that were served. A change of the code that is to change no
// behaviour changes none of them.
TEST_F(SimulationTest, NoInvariantIsViolatedUnderFaults) {
  std::string recording;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    const SimulationResult result = Simulate({.seed = seed});
    ASSERT_EQ(result.violation, "") << "again, in detail: scripts/simulate --replay " << seed;
    ASSERT_GT(result.answered, 0U) << "seed " << seed << " simulated nothing of use";
    absl::StrAppendFormat(&recording, "%016x seed %d\n", result.digest, seed);
  }
  ExpectGolden("tests/simulation/recordings/seeds.txt", recording);
}

TEST_F(SimulationTest, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed : {3, 14, 159}) {
    const SimulationResult once = Simulate({.seed = seed});
    const SimulationResult again = Simulate({.seed = seed});
    EXPECT_EQ(once.digest, again.digest);
    EXPECT_EQ(once.events, again.events);
    EXPECT_NE(once.digest, Simulate({.seed = seed + 1}).digest);
  }
}

TEST_F(SimulationTest, WithoutFaultsNoCallFails) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const SimulationResult result = Simulate({.seed = seed, .chaos = Seconds(20), .faults = false});
    EXPECT_EQ(result.violation, "");
    // Only those that were made before there was a map.
    EXPECT_LT(result.calls - result.answered, 200U);
    EXPECT_GT(result.answered, 1'000U);
  }
}

}  // namespace
}  // namespace shardmanager::simulation
