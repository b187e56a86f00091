// One partition of the orchestrator and its world: see tests/orchestrator/history.h.
#include <gtest/gtest.h>

#include "tests/fuzz/fuzz_target.h"
#include "tests/orchestrator/history.h"

namespace shardmanager::orchestrator {
namespace {

// The world looks at its invariants by EXPECT; here, each failure ends the process.
class EndAtOnce : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    SM_CHECK(!result.failed(), result.message());
  }
};
void PrepareOnce() {
  static const bool prepared = [] {
    if (testing::UnitTest::GetInstance()->current_test_info() != nullptr) return true;
    testing::UnitTest::GetInstance()->listeners().Append(new EndAtOnce);
    return true;
  }();
  (void)prepared;
}

}  // namespace

SM_FUZZ_TARGET(partition) {
  PrepareOnce();
  History history(input);
  while (!input.empty()) history.Step();
  history.Settle();
}

}  // namespace shardmanager::orchestrator
