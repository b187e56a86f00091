// The checkers are checked: each defect of base/defect.h is caught.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/defect.h"
#include "tests/simulation/simulation.h"

namespace shardmanager::simulation {
namespace {

// Most need a dozen; that a failover meets its server coming back is rare.
constexpr uint64_t kMostSeeds = 1'000;

class DefectsTest : public testing::TestWithParam<DefectName> {
 protected:
  void SetUp() override {
    spdlog::set_level(spdlog::level::off);
    planted_defect = GetParam().defect;
  }
  void TearDown() override { planted_defect = Defect::kNone; }
};

TEST_P(DefectsTest, IsCaught) {
  for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
    const std::string violation = Simulate({.seed = seed}).violation;
    if (violation.empty()) continue;
    RecordProperty("caught", violation);
    std::printf("%s: seed %d: %s\n", std::string(GetParam().name).c_str(), static_cast<int>(seed),
                violation.c_str());
    return;
  }
  FAIL() << "not caught within " << kMostSeeds << " seeds";
}

std::string TestName(const testing::TestParamInfo<DefectName>& info) {
  std::string name(info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Planted, DefectsTest, testing::ValuesIn(kDefects), TestName);

TEST(DefectsBuildTest, HasNoViolationWithoutADefect) {
  spdlog::set_level(spdlog::level::off);
  planted_defect = Defect::kNone;
  for (uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(Simulate({.seed = seed}).violation, "");
}

}  // namespace
}  // namespace shardmanager::simulation
