// What an operator is told of a change that the store did not make.
#include "orchestrator/shell/change_outcome.h"

#include <gtest/gtest.h>

namespace shardmanager::orchestrator {
namespace {

const absl::Status kUnknown = absl::UnavailableError("whether it happened is unknown");

absl::Status Said(const WriteResult& result) {
  return OutcomeOf(result, kUnknown, "another spec was applied meanwhile; try again");
}

TEST(ChangeOutcomeTest, AWriteThatWasMadeIsASuccess) { EXPECT_TRUE(Said({}).ok()); }

TEST(ChangeOutcomeTest, TheFirstCheckIsWhoLeads) {
  const absl::Status status =
      Said({.status = absl::FailedPreconditionError("version"), .failed_op = 0});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "another process leads now; try again");
}

TEST(ChangeOutcomeTest, AnyOtherCheckIsAConflict) {
  const absl::Status status =
      Said({.status = absl::FailedPreconditionError("version 3, not 2"), .failed_op = 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(status.message(), "another spec was applied meanwhile; try again (version 3, not 2)");
}

TEST(ChangeOutcomeTest, WhatNobodyKnowsIsSaidToBeUnknown) {
  EXPECT_EQ(Said({.status = absl::AbortedError("session expired")}), kUnknown);
}

TEST(ChangeOutcomeTest, AChangeThatIsTooLargeSaysSoItself) {
  const absl::Status large = absl::ResourceExhaustedError("2 MB; allowed: 1 MB");
  EXPECT_EQ(Said({.status = large, .failed_op = 1}), large);
}

}  // namespace
}  // namespace shardmanager::orchestrator
