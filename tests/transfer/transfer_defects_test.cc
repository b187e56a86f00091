// The check is checked: each planted defect leads to a lost or phantom row.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/defect.h"
#include "tests/transfer/transfer_world.h"

namespace shardmanager::transfer {
namespace {

class TransferDefectsTest : public testing::TestWithParam<DefectName> {
 protected:
  void SetUp() override { planted_defect = GetParam().defect; }
  void TearDown() override { planted_defect = Defect::kNone; }
};

TEST_P(TransferDefectsTest, IsCaught) {
  for (uint64_t seed = 1; seed <= 1'000; ++seed) {
    const std::string violation = TransferWorld(seed).Run(5'000);
    const bool rows = violation.find("acknowledged") != std::string::npos;
    if (!rows) continue;
    RecordProperty("caught", violation);
    std::printf("%s: seed %d: %s\n", std::string(GetParam().name).c_str(), static_cast<int>(seed),
                violation.c_str());
    return;
  }
  FAIL() << "not caught within 1,000 seeds";
}

std::string TestName(const testing::TestParamInfo<DefectName>& info) {
  std::string name(info.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Planted, TransferDefectsTest, testing::ValuesIn(kTransferDefects),
                         TestName);

}  // namespace
}  // namespace shardmanager::transfer
