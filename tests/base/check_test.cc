#include "base/check.h"

#include <gtest/gtest.h>

namespace {

TEST(CheckTest, PassesOverWhatHolds) { SM_CHECK(1 + 1 == 2, "arithmetic"); }

TEST(CheckDeathTest, EndsTheProcessAndSaysWhereAndWhy) {
  EXPECT_DEATH(SM_CHECK(1 + 1 == 3, "arithmetic"),
               "check_test.cc:[0-9]+: broken invariant: arithmetic \\(1 \\+ 1 == 3\\)");
}

}  // namespace
