// The whole core in many small worlds with faults; and that its checker sees each planted defect.
#include "tests/taskcontroller/world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/defect.h"

namespace shardmanager::taskcontroller {
namespace {

using ::testing::IsEmpty;

// SM_SEEDS=100000 in the environment: more than the default run has time for.
uint64_t Seeds() {
  const char* seeds = std::getenv("SM_SEEDS");
  return seeds == nullptr ? 400 : std::strtoull(seeds, nullptr, 10);
}

TEST(TaskWorldTest, NoShardLosesTooMuchAndEverythingIsApprovedInTheEnd) {
  uint32_t restarts = 0;
  uint32_t withdrawn = 0;
  uint32_t leaders = 0;
  for (uint64_t seed = 1; seed <= Seeds(); ++seed) {
    const WorldResult result = RunWorld({.seed = seed});
    ASSERT_THAT(result.violations, IsEmpty()) << "seed " << seed;
    restarts += result.restarts;
    withdrawn += result.withdrawn;
    leaders += result.leaders;
  }
  // Something happened.
  EXPECT_GT(restarts, 2'000U);
  EXPECT_GT(withdrawn, 100U);
  EXPECT_GT(leaders, 1'000U);
}

// SM_SEED=17: what happens in one world.
TEST(TaskWorldTest, DISABLED_Trace) {
  const char* seed = std::getenv("SM_SEED");
  ASSERT_NE(seed, nullptr) << "SM_SEED=N in the environment";
  const WorldOptions options{.seed = std::strtoull(seed, nullptr, 10), .trace = true};
  EXPECT_THAT(RunWorld(options).violations, IsEmpty());
}

TEST(TaskWorldTest, WithoutFaultsNothingIsWithdrawn) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const WorldResult result = RunWorld({.seed = seed, .faults = false});
    ASSERT_THAT(result.violations, IsEmpty()) << "seed " << seed;
  }
}

class TaskDefectsTest : public ::testing::TestWithParam<DefectName> {
 protected:
  ~TaskDefectsTest() override { planted_defect = Defect::kNone; }
};

TEST_P(TaskDefectsTest, IsCaughtWithin200Seeds) {
  planted_defect = GetParam().defect;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    if (!RunWorld({.seed = seed}).violations.empty()) return;
  }
  FAIL() << GetParam().name << " was not caught";
}

INSTANTIATE_TEST_SUITE_P(All, TaskDefectsTest, ::testing::ValuesIn(kTaskDefects),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace shardmanager::taskcontroller
