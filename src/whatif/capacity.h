// How many servers each region needs, so that the loss of any one of them breaks no limit: found by
// trying, with Simulate().
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::whatif {

// `tried` is called after each loss that was played. Errors: INVALID_ARGUMENT, as of Simulate(), or
// a field of the question that is wrong; FAILED_PRECONDITION: the app has live servers in fewer
// than two regions, or no number of servers up to question.most_added helps.
absl::StatusOr<v1::CapacityReport> PlanCapacity(
    const v1::AppSnapshot& snapshot, const v1::CapacityQuestion& question,
    const std::function<void()>& tried = [] {});

}  // namespace shardmanager::whatif
